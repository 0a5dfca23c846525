from __future__ import annotations

from typing import Any

import pytest

from tests.support.web import client_of, make_app

HI = [{"role": "user", "content": "Hi"}]


async def post(body: Any) -> tuple[int, Any]:
    async with client_of(make_app()) as client:
        answer = await client.post("/utils/token_counter", json=body)
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    ("body", "tokens", "used", "tokenizer"),
    [
        ({"model": "openai/gpt-4o", "prompt": "Hi there"}, 2, "gpt-4o", "o200k_base"),
        ({"model": "gpt-4o", "messages": HI, "prompt": None}, 8, "gpt-4o", "o200k_base"),
        ({"model": "gpt-5", "messages": HI}, 7, "gpt-5", "o200k_base"),
        ({"model": "gemini-2.0-flash", "contents": [{"parts": [{"text": "Hi"}]}]}, 1, "gemini-2.0-flash", "gemma3"),
    ],
)
async def test_a_prompt_messages_or_contents(body: Any, tokens: int, used: str, tokenizer: str) -> None:
    assert await post(body) == (200, {
        "total_tokens": tokens, "request_model": body["model"], "model_used": used, "tokenizer_type": tokenizer,
    })


async def test_tools_beside_messages_count() -> None:
    tools = [{"type": "function", "function": {"name": "f", "description": "A tool."}}]
    _, answer = await post({"model": "gpt-4o", "messages": HI, "tools": tools})
    assert answer["total_tokens"] > 20


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"prompt": "Hi"}, 400, "model"), ({"model": "gpt-4o"}, 400, "prompt"), ({"model": 5}, 400, "model"),
        ({"model": "no-such-model", "prompt": "Hi"}, 404, "model"),
        ({"model": "gpt-4o", "messages": [{"role": "user", "content": 5}]}, 400, "messages[0].content"),
    ],
)
async def test_refusals_wear_the_proxys_envelope(body: Any, status: int, field: str) -> None:
    code, answer = await post(body)
    assert (code, answer["error"]["code"], answer["error"]["param"]) == (status, str(status), field)
