"""Truncation and splitting over HTTP: what is left recounts to what was said."""

from __future__ import annotations

from typing import Any

import pytest

from service.api.routers.text import without_messages
from service.counting.counter import Counter
from service.types import CountRequest
from tests.support.operations import Operations
from tests.support.web import make_app

COUNTER = Counter.in_memory()


@pytest.fixture(scope="module")
def operations() -> Operations:
    return Operations(make_app(warm=()))


@pytest.mark.parametrize("model", ["gpt-4o", "gemini-2.5-flash", "claude-opus-4-8"])
@pytest.mark.parametrize("cut_from", ["end", "start", "middle"])
async def test_truncated_text_recounts_to_what_was_said(operations: Operations, model: str, cut_from: str) -> None:
    text = "The quick brown fox 🦊 jumps over the lazy dog. 안녕하세요! " * 50
    body = {"model": model, "text": text, "max_tokens": 60, "cut_from": cut_from, "marker": " […] "}
    answer = await operations.ask("truncate", body)
    again = COUNTER.count(CountRequest(model_ref=model, texts=(answer["text"],)))
    assert again.input_tokens == answer["tokens"] <= 60
    assert answer["truncated"]
    for start, end in answer["kept"]:
        assert text[start:end] in answer["text"]


CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "one " * 30},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}},
    ]},
    {"role": "tool", "tool_call_id": "c", "content": "42"},
    {"role": "assistant", "content": "So it is 42."},
    {"role": "user", "content": "Thanks. And two?"},
]


async def test_truncated_conversation_is_a_body_that_recounts(operations: Operations) -> None:
    request = {"messages": CHAT, "temperature": 0}
    answer = await operations.ask("truncate", {"model": "gpt-4o", "request": request, "max_tokens": 40})
    assert answer["request"] == {"messages": [CHAT[0], CHAT[5]], "temperature": 0}
    assert answer["dropped"] == ["messages[1]", "messages[2]", "messages[3]", "messages[4]"]
    again = await operations.ask("check_budget", {"model": "gpt-4o", "request": answer["request"]})
    assert again["input_tokens"] == answer["tokens"] == answer["input_tokens"] <= 40
    assert answer["count_before"] > 40


async def test_conversation_that_fits_is_left_alone(operations: Operations) -> None:
    answer = await operations.ask("truncate", {"model": "gpt-4o", "request": {"messages": CHAT}, "max_tokens": 4_000})
    assert (answer["request"], answer["dropped"], answer["truncated"]) == ({"messages": CHAT}, [], False)


@pytest.mark.parametrize(("request_", "model"), [
    ({"system": "Be brief.", "messages": [
        {"role": "user", "content": "one " * 50}, {"role": "assistant", "content": "first"},
        {"role": "user", "content": "two"},
    ]}, "claude-opus-4-8"),
    ({"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [
        {"role": "user", "parts": [{"text": "one " * 50}]}, {"role": "model", "parts": [{"text": "first"}]},
        {"role": "user", "parts": [{"text": "two"}]},
    ]}, "gemini-2.5-flash"),
    ({"instructions": "Be brief.", "input": [
        {"role": "user", "content": "one " * 50}, {"role": "assistant", "content": "first"},
        {"role": "user", "content": "two"},
    ]}, "gpt-5"),
])
async def test_conversations_of_every_dialect_are_cut(
    operations: Operations, request_: dict[str, Any], model: str
) -> None:
    answer = await operations.ask("truncate", {"model": model, "request": request_, "max_tokens": 45})
    (name,) = {"messages", "contents", "input"} & request_.keys()
    assert answer["request"] == {**request_, name: request_[name][2:]}
    assert answer["dropped"] == [f"{name}[0]", f"{name}[1]"]


@pytest.mark.parametrize(("body", "field"), [
    ({"text": "x", "max_tokens": 1}, "model"),
    ({"model": "gpt-4o", "tokenizer": "o200k_base", "text": "x", "max_tokens": 1}, "model"),
    ({"model": "gpt-4o", "max_tokens": 1}, "text"),
    ({"model": "gpt-4o", "text": "x", "request": {"messages": []}, "max_tokens": 1}, "text"),
    ({"model": "gpt-4o", "text": "x", "max_tokens": 0}, "max_tokens"),
    ({"model": "gpt-4o", "text": "x"}, "max_tokens"),
    ({"model": "gpt-4o", "text": "x", "max_tokens": 1, "cut_from": "top"}, "cut_from"),
    ({"model": "gpt-4o", "text": "one two three", "max_tokens": 1, "marker": " and so on"}, "marker"),
    ({"model": "gpt-4o", "request": {"messages": CHAT}, "max_tokens": 5}, "max_tokens"),
    ({"model": "gpt-4o", "request": {"messages": CHAT}, "max_tokens": 5, "marker": "x"}, "request"),
    ({"tokenizer": "no-such", "text": "x", "max_tokens": 1}, "tokenizer"),
])
async def test_bad_truncation_is_refused_by_path(operations: Operations, body: Any, field: str) -> None:
    assert await operations.refuse("truncate", body) == ("invalid_request", field)


def test_messages_are_taken_out_where_they_stand() -> None:
    source = {"generateContentRequest": {"contents": ["a", "b", "c"], "tools": []}}
    left, dropped = without_messages(source, [
        "request.generateContentRequest.contents[0].parts[1]", "request.generateContentRequest.contents[2]",
    ])
    assert left == {"generateContentRequest": {"contents": ["b"], "tools": []}}
    assert dropped == ["generateContentRequest.contents[0]", "generateContentRequest.contents[2]"]
    assert source["generateContentRequest"]["contents"] == ["a", "b", "c"]


async def test_split_pieces_are_the_text(operations: Operations) -> None:
    text = "One two three four five. " * 100
    answer = await operations.ask("split", {"tokenizer": "o200k_base", "text": text, "max_tokens": 50})
    assert "".join(piece["text"] for piece in answer["pieces"]) == text
    assert max(piece["tokens"] for piece in answer["pieces"]) <= 50
    body = {"tokenizer": "o200k_base", "text": text, "max_tokens": 50, "overlap_tokens": 50}
    assert await operations.refuse("split", body) == ("invalid_request", "overlap_tokens")
