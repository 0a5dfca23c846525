from __future__ import annotations

from typing import Any

import pytest

from service.dialects.vllm import WIRE
from service.errors import NotFound
from tests.support.web import client_of, make_app


async def post(path: str, body: Any) -> tuple[int, Any]:
    async with client_of(make_app()) as client:
        answer = await client.post(path, json=body)
    return answer.status_code, answer.json()


async def test_ids_of_a_prompt_and_back() -> None:
    text = "héllo 🌞 <|endoftext|>"
    status, answer = await post("/tokenize", {"model": "gpt-4o", "prompt": text, "return_token_strs": True})
    assert status == 200
    assert answer["count"] == len(answer["tokens"]) == len(answer["token_strs"])
    assert answer["max_model_len"] == 128_000
    assert await post("/detokenize", {"model": "gpt-4o", "tokens": answer["tokens"]}) == (200, {"prompt": text})


async def test_the_tokenizers_own_bos_is_added_unless_it_is_refused() -> None:
    _, with_bos = await post("/tokenize", {"model": "gemma-3-4b-it", "prompt": "Hi"})
    _, without = await post("/tokenize", {"model": "gemma-3-4b-it", "prompt": "Hi", "add_special_tokens": False})
    assert with_bos["tokens"] == [2, *without["tokens"]]
    assert with_bos["count"] == without["count"] + 1 == 2
    assert with_bos["token_strs"] is None


async def test_messages_are_counted_as_billed_and_have_no_ids() -> None:
    status, answer = await post("/tokenize", {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]})
    assert (status, answer["count"], answer["tokens"]) == (200, 8, None)


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("/tokenize", {"prompt": "Hi"}, 400, "model"),
        ("/tokenize", {"model": "gpt-4o"}, 400, "prompt"),
        ("/tokenize", {"model": "gpt-4o", "prompt": ["Hi"]}, 400, "prompt"),
        ("/tokenize", {"model": "gpt-4o", "prompt": "Hi", "add_special_tokens": "yes"}, 400, "add_special_tokens"),
        ("/tokenize", {"model": "no-such-model", "prompt": "Hi"}, 404, "model"),
        ("/tokenize", {"model": "claude-sonnet-4-5", "prompt": "Hi"}, 400, "model"),
        ("/detokenize", {"model": "gpt-4o"}, 400, "tokens"),
        ("/detokenize", {"model": "gpt-4o", "tokens": [1, "2"]}, 400, "tokens[1]"),
        ("/detokenize", {"model": "gpt-4o", "tokens": [True]}, 400, "tokens[0]"),
        ("/detokenize", {"model": "claude-sonnet-4-5", "tokens": [1]}, 400, "model"),
    ],
)
async def test_refusals_wear_the_servers_envelope(path: str, body: Any, status: int, field: str) -> None:
    code, answer = await post(path, body)
    assert (code, answer["error"]["code"], answer["error"]["param"]) == (status, status, field)


@pytest.mark.parametrize("tokens", [[10**9], [-1], [10**30]])
async def test_ids_outside_the_vocabulary_are_refused(tokens: list[int]) -> None:
    status, answer = await post("/detokenize", {"model": "gpt-4o", "tokens": tokens})
    assert (status, answer["error"]["type"]) == (400, "BadRequestError")


def test_the_error_envelope() -> None:
    assert WIRE.error(NotFound("x"), "r") == (
        404, {"error": {"message": "x", "type": "NotFoundError", "param": None, "code": 404}},
    )
