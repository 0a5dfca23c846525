"""Three corpora of texts that are on every machine, and request bodies made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks import claude
from benchmarks.client import NUMBER, Template

Body = dict[str, Any]
MARK = NUMBER.decode()


@cache
def corpora() -> dict[str, str]:
    """English prose, Python code and Korean, up to a megabyte each (benchmarks.claude)."""
    return {"English": claude.english(), "Python code": claude.code(), "Korean": claude.korean()}


@cache
def prose(characters: int, start: int = 0) -> str:
    """English text of a length. It is repeated when the corpus is shorter."""
    text = corpora()["English"]
    return (text * (1 + (start + characters) // len(text)))[start : start + characters]


def sentences(characters: int, start: int) -> str:
    """English text up to a length that ends with a sentence."""
    text = prose(characters, start)
    return text[: text.rfind(". ") + 1] or text.rstrip()


# ---------------------------------------------------------------- a conversation with tools, in each format

TOOLS = (
    ("search_documents", "Search the knowledge base", {"query": "What to look for", "folder": "Where to look"}),
    ("read_file", "Read one file of the project", {"path": "Path of the file", "encoding": "Its encoding"}),
    ("run_command", "Run a command in the sandbox", {"command": "The command line", "folder": "Where to run it"}),
    ("create_ticket", "Open a ticket for the team", {"title": "One line", "body": "What happened, and what to do"}),
    ("send_message", "Send a message to a colleague", {"to": "An address", "text": "What to say"}),
)


def _schema(fields: dict[str, str]) -> Body:
    properties = {name: {"type": "string", "description": f"{text}, as precisely as you can."} for name, text in
                  fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields)}


@dataclass(frozen=True, slots=True)
class Turn:
    """`kind` is user, assistant, call or result."""

    kind: str
    text: str


def conversation(characters: int) -> Iterator[Turn]:
    """Turns of about 600 characters each, up to a length. Every third round has a call and its result. The last turn
    has the number of the request."""
    written, at = 0, 0
    while written < characters - 700:
        rounds = at % 3
        kinds = ("user", "call", "result", "assistant") if rounds == 2 else ("user", "assistant")
        for place, kind in enumerate(kinds):
            text = sentences(80 if kind == "call" else 700, 1_000 + 7_001 * at + 977 * place)
            yield Turn(kind, text)
            written += len(text) + (100 if kind == "call" else 50)
        at += 1
    yield Turn("user", f"Request {MARK}: and what follows from that?")


def _system(characters: int) -> str:
    return prose(min(3_000, characters // 8), 400_000)


def anthropic(characters: int, model: str) -> Body:
    turns: list[Body] = []
    for number, turn in enumerate(conversation(characters - 5_700)):
        role = "assistant" if turn.kind in ("assistant", "call") else "user"
        content: Any = turn.text
        if turn.kind == "call":
            call = {"type": "tool_use", "id": f"toolu_{number:04}", "name": "read_file", "input": {"path": turn.text}}
            content = [{"type": "text", "text": "I will look."}, call]
        elif turn.kind == "result":
            content = [{"type": "tool_result", "tool_use_id": f"toolu_{number - 1:04}", "content": turn.text}]
        turns.append({"role": role, "content": content})
    tools = [{"name": name, "description": text, "input_schema": _schema(fields)} for name, text, fields in TOOLS]
    return {"model": model, "system": _system(characters), "tools": tools, "messages": turns}


def openai_responses(characters: int, model: str) -> Body:
    items: list[Body] = []
    for number, turn in enumerate(conversation(characters - 5_700)):
        if turn.kind == "call":
            items.append({"type": "function_call", "call_id": f"call_{number:04}", "name": "read_file",
                          "arguments": json.dumps({"path": turn.text})})
        elif turn.kind == "result":
            items.append({"type": "function_call_output", "call_id": f"call_{number - 1:04}", "output": turn.text})
        else:
            items.append({"role": turn.kind, "content": turn.text})
    tools = [{"type": "function", "name": name, "description": text, "parameters": _schema(fields)}
             for name, text, fields in TOOLS]
    return {"model": model, "instructions": _system(characters), "tools": tools, "input": items}


def google(characters: int, _: str) -> Body:
    contents: list[Body] = []
    for turn in conversation(characters - 5_700):
        role = "model" if turn.kind in ("assistant", "call") else "user"
        part: Body = {"text": turn.text}
        if turn.kind == "call":
            part = {"functionCall": {"name": "read_file", "args": {"path": turn.text}}}
        elif turn.kind == "result":
            part = {"functionResponse": {"name": "read_file", "response": {"content": turn.text}}}
        contents.append({"role": role, "parts": [part]})
    tools = [{"name": name, "description": text, "parameters": _schema(fields)} for name, text, fields in TOOLS]
    system = {"parts": [{"text": _system(characters)}]}
    return {"systemInstruction": system, "tools": [{"functionDeclarations": tools}], "contents": contents}


def openai_chat(characters: int, model: str) -> Body:
    """The same as `anthropic`, in the format of Chat Completions."""
    turns: list[Body] = [{"role": "system", "content": _system(characters)}]
    for number, turn in enumerate(conversation(characters - 5_700)):
        if turn.kind == "call":
            function = {"name": "read_file", "arguments": json.dumps({"path": turn.text})}
            call = {"id": f"call_{number:04}", "type": "function", "function": function}
            turns.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif turn.kind == "result":
            turns.append({"role": "tool", "tool_call_id": f"call_{number - 1:04}", "content": turn.text})
        else:
            turns.append({"role": turn.kind, "content": turn.text})
    tools = [{"type": "function", "function": {"name": name, "description": text, "parameters": _schema(fields)}}
             for name, text, fields in TOOLS]
    return {"model": model, "tools": tools, "messages": turns}


# ---------------------------------------------------------------- one text


def native_text(size: int) -> Body:
    """A request body of `size` bytes, as it is sent."""
    body = {"model": "gpt-4o", "text": f"Request {MARK}: "}
    return {**body, "text": body["text"] + _fill(size - len(encode(body)))}


def _fill(size: int) -> str:
    """English text that takes `size` bytes in a JSON string."""
    text = prose(size)
    while (over := len(encode(text)) - 2 - size) > 0:
        text = text[: -max(1, over // 2)]
    return text + "." * -over


def encode(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def post(path: str, body: Body, key: str) -> Template:
    return Template.post(path, encode(body), {"Authorization": f"Bearer {key}"})
