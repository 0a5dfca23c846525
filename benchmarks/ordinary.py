"""The service that most people would write: FastAPI, a pydantic model, and tiktoken on the event loop.

It counts the text or, of a chat, the content of every turn, the system prompt and the tools, with four tokens more for
each turn. What is not text is counted as JSON.
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from service.tokenizers.registry import get_tokenizer

encode = get_tokenizer("o200k_base", "reference")._encoding.encode_ordinary  # type: ignore[attr-defined]


class Request(BaseModel):
    system: Any = None
    instructions: Any = None
    systemInstruction: Any = None  # noqa: N815 - Google's name
    messages: list[dict[str, Any]] = []
    input: list[dict[str, Any]] | str = []
    contents: list[dict[str, Any]] = []
    tools: list[dict[str, Any]] = []


class Body(Request):
    model: str | None = None
    text: str | None = None
    request: Request | None = None


class Answer(BaseModel):
    input_tokens: int


app = FastAPI()


@app.post("/v1/countTokens")
@app.post("/v1/messages/count_tokens")
@app.post("/v1/responses/input_tokens")
@app.post("/v1beta/models/{name}")
async def count(body: Body) -> Answer:
    return Answer(input_tokens=count_request(body.request or body))


def count_request(body: Request) -> int:
    turns = body.messages or body.input or body.contents
    parts = [turns] if isinstance(turns, str) else [turn.get("content", turn) for turn in turns]
    parts += [body.system, body.instructions, body.systemInstruction, body.tools, getattr(body, "text", None)]
    return 4 * len(turns) + sum(tokens(part) for part in parts if part)


def tokens(value: Any) -> int:
    return len(encode(value if isinstance(value, str) else json.dumps(value)))
