"""The fast path answers what the slow path would have answered, byte for byte, and leaves the same behind; or nothing.

Two apps of the same settings are asked the same: one as the server asks it, by the fast path first and by the slow path
where that gives nothing, the other by the slow path alone.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.api import operations
from service.api.request_log import RequestLog
from service.api.routing import RawRoute, ServiceRoute
from service.api.schemas.examples import get_example
from service.counting.counter import Counter
from service.tokenizers import registry
from tests.support.routes import count_routes
from tests.support.texts import unhurried
from tests.support.twin import (
    BATCH,
    COUNT,
    EXAMPLES,
    GEMINI,
    HELLO,
    MESSAGES,
    PLAIN,
    RESPONSES,
    ROUTES,
    Sent,
    Twin,
    answer_slowly,
    bodies,
    body_of,
)
from tests.support.web import make_app

pytestmark = pytest.mark.usefixtures("warm")

# ---------------------------------------------------------------- every route


@pytest.mark.parametrize("path", PLAIN)
async def test_the_example_of_a_count_is_answered_at_once_also_the_second_time(twin: Twin, path: str) -> None:
    for _ in range(2):
        answer = await twin.ask(Sent(path, EXAMPLES[path]))
        assert answer is not None
        assert json.loads(answer.partition(b"\r\n\r\n")[2])


@pytest.mark.parametrize("path", sorted(EXAMPLES.keys() - set(PLAIN)))
async def test_a_count_that_nobody_can_give_is_refused_on_the_slow_path(twin: Twin, path: str) -> None:
    assert await twin.ask(Sent(path, EXAMPLES[path])) is None


@pytest.mark.parametrize("name", ["vllm_tokenize", "vllm_detokenize"])
async def test_what_asks_the_tokenizer_for_more_than_a_count_takes_the_slow_path(twin: Twin, name: str) -> None:
    each = next(each for each in count_routes() if each.name == name)
    assert await twin.ask(Sent(each.path, body_of(each.request))) is None


async def test_no_other_route_is_answered_at_once(twin: Twin) -> None:
    """Their examples might have been, by their size."""
    asked = 0
    for route in twin.fast.state.pipeline.routes.routes:
        assert isinstance(route, ServiceRoute | RawRoute)
        path = re.sub(r"{[\w:]+}", "gemini-2.5-flash", route.path)
        for method in sorted(route.methods or ()):
            if method == "POST" and path in EXAMPLES:
                assert isinstance(route, RawRoute)
                continue
            example = get_example(route.operation_id or "").request
            body = b"" if example is None else body_of(example)
            sent = Sent(path, body, method=method)
            assert twin.fast.state.pipeline.try_sync(sent.scope(), body) is None, (method, path)
            asked += 1
    assert asked > 25


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", COUNT), ("HEAD", COUNT), ("OPTIONS", COUNT), ("PUT", COUNT), ("POST", "/v1/nothing"),
        ("POST", "/livez"), ("GET", "/livez"), ("HEAD", "/livez"), ("GET", "/"), ("POST", "/web/x"),
        ("POST", f"{COUNT}/"), ("POST", f"/{COUNT}"), ("POST", "/v1beta/models/:countTokens"),
        ("POST", "/v1beta/models/\ufffd:countTokens"),
    ],
)
async def test_what_leads_to_no_count_is_left_to_the_slow_path(twin: Twin, method: str, path: str) -> None:
    assert await twin.ask(Sent(path, method=method)) is None


@pytest.mark.parametrize(
    "model", ["openai/gpt-4o", "models/gemini-2.5-flash", "gemini-2.5-pro", "a b", "한", "gemini-2.5-flash:countTokens"]
)
async def test_a_model_in_the_path_is_read_alike(twin: Twin, model: str) -> None:
    await twin.ask(Sent(f"/v1beta/models/{model}:countTokens", EXAMPLES[GEMINI]))


# ---------------------------------------------------------------- bodies

ANSWERED_BODIES: dict[str, Any] = {
    "a tokenizer": {"tokenizer": "gpt2", "text": "x"},
    "texts": {"model": "gpt-4o", "texts": ["a", "b c", ""]},
    "an empty text": {"model": "gpt-4o", "text": ""},
    "a lone surrogate": b'{"model":"gpt-4o","text":"a\\ud800b"}',
    "a pair in halves": b'{"model":"gpt-4o","text":"\\ud83d\\ude42"}',
    "a byte order mark": b'\xef\xbb\xbf{"model":"gpt-4o","text":"x"}',
    "a field that nobody knows": HELLO | {"nobody": 1},
    "the same field twice": b'{"model":"gpt-4o","text":"a","text":"b b"}',
    "blanks around": b' \n {"model":"gpt-4o","text":"x"} \n',
    "a model known by its family alone": {"model": "gpt-5-nobody-knows-it", "text": "x"},
    "a model of somebody's host": {"model": "azure/gpt-4o", "text": "x"},
    "a model of open weights": {"model": "llama-3.1-8b-instruct", "text": "x"},
    "a whole request": {"model": "gpt-4o", "request": {"messages": [{"role": "user", "content": "hi"}]}},
    "tools": {"model": "gpt-4o", "request": {
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}],
    }},
    "special tokens": {"tokenizer": "o200k_base", "text": "<|endoftext|>", "special_tokens": "parse"},
}

REFUSED_BODIES: dict[str, Any] = {
    "nothing": b"", "no JSON": b"{", "half of a field": b'{"model":"gpt-4o","text":"', "no UTF-8": b'{"text":"\xff"}',
    "NaN": b'{"model":"gpt-4o","text":NaN}', "a list": [], "a number": 7, "null": None, "no model": {"text": "x"},
    "no text": {"model": "gpt-4o", "input": 7, "messages": 7, "contents": 7},
    "a model that nobody knows": {"model": "no-such-model", "text": "x"},
    "a tokenizer that nobody knows": {"tokenizer": "nothing", "text": "x"}, "a number for a text": HELLO | {"text": 7},
    "a list for a model": HELLO | {"model": ["gpt-4o"]}, "a model with a line end": HELLO | {"model": "gpt-4o\r\nx: y"},
    "a deep one": b"[" * 200 + b"]" * 200, "a deeper one": b"[" * 20_000,
    "a number of too many digits": b'{"model":"gpt-4o","text":' + b"1" * 5_000 + b"}",
    "special tokens of a tokenizer that has none": HELLO | {"model": "claude-opus-4-8", "special_tokens": "parse"},
}


def as_sent(body: Any) -> bytes:
    return body if isinstance(body, bytes) else body_of(body)


@pytest.mark.parametrize("name", ANSWERED_BODIES)
async def test_an_odd_body_that_can_be_counted_is_answered_at_once(twin: Twin, name: str) -> None:
    for _ in range(2):
        assert await twin.ask(Sent(body=as_sent(ANSWERED_BODIES[name]))) is not None


@pytest.mark.parametrize("path", [COUNT, MESSAGES, RESPONSES, GEMINI, "/utils/token_counter"])
@pytest.mark.parametrize("name", REFUSED_BODIES)
async def test_what_is_refused_is_refused_on_the_slow_path_once(twin: Twin, path: str, name: str) -> None:
    assert await twin.ask(Sent(path, as_sent(REFUSED_BODIES[name]))) is None


async def test_the_refused_items_of_a_batch_are_answered_once(twin: Twin) -> None:
    unknown = {"model": "no-such-model", "text": "x"}
    items: list[Any] = [HELLO, unknown, {"text": "x"}, 7, HELLO | {"text": "\ud800"}, HELLO]
    assert await twin.ask(Sent(BATCH, body_of({"items": items}))) is not None
    refused: list[Any] = [[], 7, None, [[]] * 1_001]
    for items in refused:
        await twin.ask(Sent(BATCH, body_of({"items": items})))


@pytest.mark.parametrize("path", ROUTES)
@settings(unhurried, max_examples=60)
@given(data=st.data())
async def test_whatever_the_body_both_paths_answer_alike(twin: Twin, path: str, data: st.DataObject) -> None:
    await twin.ask(Sent(path, data.draw(bodies(path))))


async def test_counts_that_are_alike_are_answered_in_the_words_of_each_route(twin: Twin) -> None:
    """One count is one object, whoever asks for it."""
    message = [{"role": "user", "content": "hi"}]
    chat = body_of({"model": "gpt-4o", "messages": message})
    native = body_of({"model": "gpt-4o", "request": {"messages": message}})
    answers = [
        await twin.ask(Sent(path, body))
        for _ in range(2) for path, body in ((COUNT, native), ("/utils/token_counter", chat), (RESPONSES, chat))
    ]
    assert answers[0] is not None
    assert answers[1] is not None
    assert answers[0].partition(b"\r\n\r\n")[2] != answers[1].partition(b"\r\n\r\n")[2]


# ---------------------------------------------------------------- sizes and states


@pytest.mark.parametrize("path", ROUTES)
async def test_a_body_of_the_largest_size_is_answered_at_once_and_no_larger_one(path: str) -> None:
    body = EXAMPLES[path]
    for most, answered in ((len(body), True), (len(body) - 1, False), (0, False)):
        assert (await Twin(inline_bytes=most).ask(Sent(path, body)) is not None) == answered


@pytest.mark.parametrize("bytes_", [(1 << 16) - 1, 1 << 16, (1 << 16) + 1])
async def test_a_body_whose_answer_is_remembered_takes_the_slow_path(bytes_: int) -> None:
    twin = Twin(inline_bytes=1 << 20)
    body = body_of(HELLO)
    sent = Sent(body=body + b" " * (bytes_ - len(body)))
    for _ in range(2):
        assert (await twin.ask(sent) is not None) == (bytes_ < 1 << 16)


async def test_a_body_that_is_too_large_is_refused_on_the_slow_path() -> None:
    body = body_of(HELLO)
    twin = Twin(max_body_bytes=1_024)
    assert await twin.ask(Sent(body=body + b" " * (1_024 - len(body)))) is not None
    assert await twin.ask(Sent(body=body + b" " * (1_025 - len(body)))) is None


async def test_where_other_bodies_hold_all_there_is_it_is_refused_on_the_slow_path() -> None:
    twin = Twin(max_body_bytes=1_024, inflight_bytes=1_024)
    body = body_of(HELLO)
    for free, answered in ((len(body), True), (len(body) - 1, False)):
        shares = [app.state.services.body_budget.reserve() for app in twin.apps]
        for share in shares:
            share.take(1_024 - free)
        assert (await twin.ask(Sent(body=body)) is not None) == answered
        for share in shares:
            share.__exit__()
    assert await twin.ask(Sent(body=body)) is not None


@pytest.mark.parametrize("path", [COUNT, BATCH])
async def test_a_tokenizer_that_is_not_loaded_is_waited_for_the_slow_path(
    twin: Twin, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = {"tokenizer": "gpt2", "text": "x"}
    sent = Sent(path, body_of(item if path == COUNT else {"items": [HELLO, item]}))
    assert await twin.ask(sent) is not None
    monkeypatch.delitem(registry._REGISTRY._loaded, ("gpt2", "auto"))
    assert await twin.ask(sent) is None
    assert await twin.ask(sent) is not None


async def test_a_file_in_a_request_takes_the_slow_path(twin: Twin) -> None:
    described = {"type": "base64", "media_type": "application/pdf", "data": {"_media": {"pages": 1}}}
    content = [{"type": "document", "source": described}, {"type": "text", "text": "?"}]
    body = {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": content}]}
    assert await twin.ask(Sent(MESSAGES, body_of(body))) is None


class Panic(BaseException):
    """As Rust raises it."""


@pytest.mark.parametrize("fault", [RuntimeError, Panic])
async def test_a_fault_inside_is_answered_on_the_slow_path(
    twin: Twin, monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]
) -> None:
    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr(Counter, "count", fail)
    assert await twin.ask(Sent()) is None
    monkeypatch.undo()
    assert await twin.ask(Sent()) is not None


async def test_an_answer_that_cannot_be_noted_is_given_on_the_slow_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(RequestLog, "note", fail)
    assert b'"input_tokens":4' in await answer_slowly(make_app(warm=()), Sent())


# ---------------------------------------------------------------- over time


async def test_counts_without_end_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was forgotten is made again."""
    monkeypatch.setattr(operations, "MAX_REPLIES", 3)
    twin = Twin()
    for words in (*range(10), *range(10)):
        assert await twin.ask(Sent(body=body_of({"model": "gpt-4o", "text": "word " * words}))) is not None
    (route,) = [route for route in twin.fast.state.pipeline.routes.routes if route.path == COUNT]
    assert 0 < len(route.operation.replies._known) <= 3


@settings(unhurried, max_examples=20)
@given(numbers=st.lists(st.integers(0, len(PLAIN) - 1), min_size=2, max_size=12))
async def test_any_order_of_requests_adds_up_alike(twin: Twin, numbers: list[int]) -> None:
    for number in numbers:
        assert await twin.ask(Sent(PLAIN[number], EXAMPLES[PLAIN[number]])) is not None


async def test_what_the_operator_changes_is_answered_by_at_once(tmp_path: Path) -> None:
    """An answer made before is not given again."""
    file = tmp_path / "catalog.toml"
    file.write_text('[aliases]\nour-chat = "gpt-4o"\n')
    twin = Twin(catalog_file=file)
    sent = Sent(body=body_of({"model": "our-chat", "text": "Hello, world!"}))
    try:
        before = await twin.ask(sent)
        file.write_text('[aliases]\nour-chat = "claude-opus-4-8"\n')
        assert [app.state.services.reload() for app in twin.apps] == [True, True]
        after = await twin.ask(sent)
        file.write_text("")
        assert [app.state.services.reload() for app in twin.apps] == [True, True]
        assert await twin.ask(sent) is None
    finally:
        make_app()
    assert before is not None
    assert after is not None
    assert b'"gpt-4o"' in before
    assert b'"claude-opus-4-8"' in after
