"""Whole responses are used again within their minute, and never for another request."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from typing import Any

import pytest

from service import catalog
from service.cache.responses import MAX_RESPONSE_BYTES, MIN_CACHED_BODY_BYTES, ResponseCache
from tests.support.web import client_of, make_app

PROSE = "the quick brown fox jumps over the lazy dog. " * 1_500


class Events:
    def __init__(self) -> None:
        self.lookups: Counter[str] = Counter()

    def record_lookup(self, tier: str, outcome: str, number: int = 1) -> None:
        assert tier == "request"
        self.lookups[outcome] += number

    def record_tokenized(self, tokenizer: str, texts: int, size: int, seconds: float) -> None: ...

    def record_redis_write(self, outcome: str, number: int) -> None: ...


class Clock:
    now = 600.0

    def __call__(self) -> float:
        return self.now


def open_cache(max_bytes: int = 1 << 20) -> tuple[ResponseCache[str], Events, Clock]:
    events, clock = Events(), Clock()
    return ResponseCache(max_bytes, events, clock), events, clock


def test_an_answer_is_kept_to_the_end_of_its_minute() -> None:
    cache, events, clock = open_cache()
    cache.keep(b"k", "answer", 10)
    clock.now = 659.9
    assert cache.find(b"k") == "answer"
    clock.now = 660.0
    assert cache.find(b"k") is None
    assert cache.bytes == 0
    assert events.lookups == {"hit": 1, "miss": 1}


def test_an_answer_is_forgotten_when_the_catalog_is_another() -> None:
    cache, _, _ = open_cache()
    cache.keep(b"k", "answer", 10)
    before = catalog.current()
    try:
        catalog.use(catalog.Catalog())
        assert cache.find(b"k") is None
    finally:
        assert catalog.current() is not before


def test_bytes_are_bounded_and_the_least_used_goes_first() -> None:
    cache, _, _ = open_cache(max_bytes=10_000)
    for name in (b"a", b"b", b"c"):
        cache.keep(name, "x", 700)
    assert cache.find(b"a") == "x"
    cache.keep(b"d", "x", 700)
    assert cache.find(b"b") is None
    assert cache.find(b"a") == "x"
    assert cache.bytes <= 10_000
    cache.keep(b"huge", "x", MAX_RESPONSE_BYTES + 1)
    assert cache.find(b"huge") is None


def test_parts_of_a_key_do_not_run_together() -> None:
    cache, _, _ = open_cache()
    keys = {cache.key(b"ab", b"c"), cache.key(b"a", b"bc"), cache.key(b"abc"), cache.key(b"abc", b"")}
    assert len(keys) == 4
    assert cache.key(b"ab", b"c") in keys


async def test_requests_that_come_meanwhile_wait_for_the_same_response() -> None:
    cache, _, _ = open_cache()
    calls, go_on = 0, asyncio.Event()

    async def make() -> str:
        nonlocal calls
        calls += 1
        await go_on.wait()
        return "answer"

    waiting = [asyncio.create_task(cache.share(b"k", make)) for _ in range(5)]
    await asyncio.sleep(0)
    waiting[0].cancel()  # the first one's client has left: the others get their answer all the same
    await asyncio.sleep(0)
    go_on.set()
    found = await asyncio.gather(*waiting[1:])
    assert found == [("answer", False)] * 4
    assert calls == 1
    assert await cache.share(b"k", make) == ("answer", True)


async def test_a_failure_is_shared_and_not_kept() -> None:
    cache, _, _ = open_cache()

    async def fail() -> str:
        await asyncio.sleep(0)
        raise ValueError

    async def work() -> str:
        return "answer"

    found = await asyncio.gather(*(cache.share(b"k", fail) for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in found] == [ValueError] * 3
    assert await cache.share(b"k", work) == ("answer", True)


def test_only_bodies_that_may_have_been_seen_are_looked_up() -> None:
    cache, _, clock = open_cache()
    body = bytes(range(256)) * 500
    assert not cache.may_have_seen(b"/a", body)
    assert cache.may_have_seen(b"/a", body)
    for place, other in ((b"/b", body), (b"/a", body + b"x"), (b"/a", b"x" + body[1:]), (b"/a", body[:-1] + b"x")):
        assert not cache.may_have_seen(place, other)
    clock.now = 660.0
    assert not cache.may_have_seen(b"/a", body)


# ---------------------------------------------------------------- over HTTP

BODIES: list[tuple[str, Any]] = [
    ("/v1/countTokens", {"model": "gpt-4o", "text": PROSE}),
    ("/v1/countTokens", {"model": "claude-sonnet-4-5", "text": PROSE}),
    ("/v1/countTokens", {"model": "gpt-4o", "request": {"messages": [{"role": "user", "content": PROSE}]}}),
    ("/v1/countTokens?a=b", {"model": "gpt-4o", "text": PROSE}),
    ("/v1/messages/count_tokens", {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": PROSE}]}),
    ("/v1/messages/count_tokens", {"model": "claude-opus-4-8", "messages": [{"role": "user", "content": PROSE}]}),
    ("/anthropic/v1/messages/count_tokens", {
        "model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": PROSE}],
    }),
    ("/v1/responses/input_tokens", {"model": "gpt-5", "input": PROSE}),
    ("/v1beta/models/gemini-2.5-flash:countTokens", {"contents": [{"role": "user", "parts": [{"text": PROSE}]}]}),
    ("/v1beta/models/gemini-2.0-flash:countTokens", {"contents": [{"role": "user", "parts": [{"text": PROSE}]}]}),
    ("/v1/countTokens", {"model": "gpt-4o", "text": PROSE, "misspelt": 1}),
]


async def test_answers_equal_those_of_a_service_without_a_cache() -> None:
    remembering, forgetful = make_app(), make_app(cache_bytes=0)
    async with client_of(remembering) as ours, client_of(forgetful) as plain:
        for _ in range(3):
            for path, body in BODIES:
                one, other = await ours.post(path, json=body), await plain.post(path, json=body)
                assert one.status_code == 200, one.text
                assert one.content == other.content
                own = [line for line in one.headers.multi_items() if line[0] != "x-request-id"]
                assert own == [line for line in other.headers.multi_items() if line[0] != "x-request-id"]
        shown = (await ours.get("/metrics")).text
    assert f'tallystick_cache_lookups_total{{outcome="miss",tier="request"}} {len(BODIES)}.0' in shown
    assert f'tallystick_cache_lookups_total{{outcome="hit",tier="request"}} {len(BODIES)}.0' in shown


async def test_a_hit_is_counted_like_any_other_answer() -> None:
    async with client_of(make_app()) as client:
        for _ in range(3):
            answer = await client.post("/v1/countTokens", json={"model": "gpt-4o", "text": PROSE})
        tokens = answer.json()["input_tokens"]
        shown = (await client.get("/metrics")).text
    assert f'tallystick_tokens_counted_total{{method="exact",model="gpt-4o",provider="openai"}} {3 * tokens}.0' in shown


async def test_refusals_are_not_kept() -> None:
    body = {"model": "no-such-model", "text": PROSE}
    async with client_of(make_app()) as client:
        found = [await client.post("/v1/countTokens", json=body) for _ in range(3)]
        shown = (await client.get("/metrics")).text
    assert [answer.status_code for answer in found] == [404, 404, 404]
    assert found[0].json() == found[1].json()
    assert 'outcome="hit",tier="request"' not in shown


async def test_text_plain_is_told_from_json_and_by_its_query() -> None:
    text = '{"model": "gpt-4o", "text": "' + "a " * MIN_CACHED_BODY_BYTES + '"}'
    async with client_of(make_app()) as client:
        counts = []
        for query, media in (("?model=gpt-4o", "text/plain"), ("?model=gpt-3.5-turbo", "text/plain"),
                             ("?model=gpt-4o", "application/json"), ("?model=gpt-4o", "text/plain")):
            headers = {"content-type": media}
            answer = await client.post(f"/v1/countTokens{query}", content=text, headers=headers)
            counts.append((answer.json()["input_tokens"], answer.json()["tokenizer"]))
    assert counts[0] == counts[3]
    assert len(set(counts)) == 3


@pytest.mark.parametrize("texts", [1, 3])
async def test_200_identical_requests_of_a_megabyte_are_one_tokenization(texts: int) -> None:
    body = {"model": "gpt-4o", "texts": [PROSE * (15 // texts) + str(i) for i in range(texts)]}
    async with client_of(make_app()) as client:
        answers = await asyncio.gather(*(client.post("/v1/countTokens", json=body) for _ in range(200)))
        shown = (await client.get("/metrics")).text
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    tokenized = re.search(r'tallystick_tokenized_bytes_total\{tokenizer="o200k_base"\} (\S+)', shown)
    assert tokenized
    assert float(tokenized[1]) <= sum(map(len, body["texts"]))
