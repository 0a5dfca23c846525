from __future__ import annotations

import asyncio
import gc
import itertools
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from service.api.context import RequestContext
from service.auth import rate_limits
from service.auth.rate_limits import MINUTE, RateLimiter, Rates, WindowCounts, find_window, name_client
from service.auth.rate_store import RateStore
from service.errors import RateLimited
from service.redis.circuit_breaker import FIRST_PAUSE_SECONDS, CircuitBreaker
from tests.auth.test_auth import Door, bearer
from tests.support.redis_server import FaultyProxy, redis_cluster, redis_sentinel, redis_server
from tests.support.web import client_of as web_client
from tests.support.web import find_dialect, make_app

COUNT = "/v1/countTokens"
BODY = {"tokenizer": "gpt2", "text": "hello"}


# ---------------------------------------------------------------- who, and which minute


@pytest.mark.parametrize(
    ("client", "who"),
    [
        (("10.1.2.3", 5), "ip:10.1.2.3"), (("2001:db8:1:2:3:4:5:6", 5), "ip:2001:db8:1:2::/64"),
        (("fe80::1%eth0", 5), "ip:fe80::/64"), (("::1", 5), "ip:::/64"), (None, "local"), (("", 0), "ip:"),
        (("not:an:address", 1), "local"),
    ],
)
def test_who_calls(client: Any, who: str) -> None:
    assert name_client(client and client[0]) == who


def test_a_minute_is_a_minute_and_begins_for_each_at_a_second_of_its_own() -> None:
    for who in ("key:a", "ip:1.2.3.4"):
        windows = [find_window(who, "requests", now) for now in range(1_000, 1_000 + 10 * MINUTE)]
        runs = [len(list(run)) for _, run in itertools.groupby(windows, key=lambda window: window.key)]
        assert runs[1:-1] == [MINUTE] * (len(runs) - 2)
        assert {window.ends_in for window in windows} == set(range(1, MINUTE + 1))
        for window, after in itertools.pairwise(windows):
            assert (after.key != window.key) == (window.ends_in == 1)
    starts = {find_window(f"key:{i}", "requests", 0).ends_in for i in range(300)}
    assert len(starts) > 50
    assert find_window("a", "requests", 0).key != find_window("a", "tokens", 0).key != find_window("b", "tokens", 0).key


def test_counts_in_memory_live_for_their_window_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    counts = WindowCounts(seconds=120, clock=lambda: now)
    assert [counts.add("a", 2) for _ in range(3)] == [2, 4, 6]
    now = 119.0
    assert counts.add("a") == 7
    now = 121.0
    assert counts.add("a") == 8  # of the older generation
    now = 242.0
    counts.add("b")
    now = 363.0
    counts.add("b")
    assert (counts.get("a"), counts.get("b")) == (0, 2)
    monkeypatch.setattr(rate_limits, "MAX_CALLERS", 100)
    for i in range(1_000):
        counts.add(f"ip:{i}")
    assert len(counts) <= 100
    assert counts.get("ip:999") == 1


# ---------------------------------------------------------------- taking


class Clock:
    """Stands in for `time.time` in the limits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000_000.0
        monkeypatch.setattr(time, "time", lambda: self.now)


async def passes(limiter: RateLimiter, who: str, rates: Rates) -> bool:
    try:
        await limiter.take(who, rates, RequestContext("id"))
    except RateLimited:
        return False
    return True


async def test_so_many_requests_pass_in_a_minute_and_again_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    limiter, rates = RateLimiter(Rates()), Rates(requests=3)
    clock.now += find_window("a", "requests").ends_in  # a minute begins
    for _ in range(3):
        assert [await passes(limiter, "a", rates) for _ in range(5)] == [True, True, True, False, False]
        assert await passes(limiter, "b", Rates(requests=1))
        clock.now += MINUTE - 1
        assert not await passes(limiter, "a", rates)
        clock.now += 1


async def test_tokens_are_charged_once_they_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    limiter, rates = RateLimiter(Rates()), Rates(tokens=100)
    for tokens, more in ((60, True), (39, True), (500, False)):  # the last begins with 1 left, and takes what it takes
        assert await passes(limiter, "a", rates)
        await limiter.charge("a", rates, tokens)
        assert await passes(limiter, "a", rates) == more
    assert await passes(limiter, "b", rates)
    clock.now += MINUTE
    assert await passes(limiter, "a", rates)


async def test_exactly_all_tokens_used_is_used_up() -> None:
    limiter, rates = RateLimiter(Rates()), Rates(tokens=100)
    await limiter.charge("a", rates, 100)
    assert not await passes(limiter, "a", rates)


async def test_what_is_left_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    limiter, rates = RateLimiter(Rates()), Rates(requests=2, tokens=50)
    headers_seen = []
    for number in range(3):
        context = RequestContext("id")
        with pytest.raises(RateLimited) if number == 2 else nullcontext() as caught:
            await limiter.take("a", rates, context)
        headers_seen.append(context.headers)
        await limiter.charge("a", rates, 20)
    assert caught is not None
    assert caught.value.retry_after == find_window("a", "requests").ends_in
    ends = {kind: find_window("a", kind).ends_in for kind in ("requests", "tokens")}
    assert [dict(headers)[b"ratelimit-remaining"] for headers in headers_seen] == [b"1", b"0", b"0"]
    assert (b"ratelimit-policy", b'"requests";q=2;w=60') in headers_seen[0]
    assert (b"ratelimit-policy", b'"tokens";q=50;w=60') in headers_seen[0]
    assert (b"ratelimit", b'"requests";r=1;t=%d' % ends["requests"]) in headers_seen[0]
    assert (b"ratelimit", b'"tokens";r=30;t=%d' % ends["tokens"]) in headers_seen[1]
    assert dict(headers_seen[0])[b"ratelimit-limit"] == b"2"


async def test_no_limit_takes_nothing_and_tells_nothing() -> None:
    limiter, context = RateLimiter(Rates()), RequestContext("id")
    for _ in range(100):
        await limiter.take("a", Rates(), context)
        await limiter.charge("a", Rates(), 10**9)
    assert context.headers == []
    assert len(limiter._counts) == 0


def test_without_a_store_taking_waits_for_nothing() -> None:
    """It ends in one step of the event loop: 4 us, alone on a core."""
    take = RateLimiter(Rates()).take("key:a", Rates(10**9, 10**9), RequestContext("id"))
    with pytest.raises(StopIteration):
        take.send(None)


# ---------------------------------------------------------------- over HTTP


async def test_beyond_the_limit_is_a_429_in_the_wire_with_retry_after() -> None:
    paths = {
        COUNT: "native", "/v1/messages/count_tokens": "anthropic", "/v1/responses/input_tokens": "openai",
        "/v1beta/models/gemini-2.5-flash:countTokens": "google",
    }
    app = make_app(requests_per_minute=2)
    async with web_client(app) as client:
        for _ in range(2):
            assert (await client.post(COUNT, json=BODY)).status_code == 200
        for path, wire in paths.items():
            answer = await client.post(path, json=BODY)
            assert (answer.status_code, find_dialect(answer.json())) == (429, wire), answer.text
            assert 1 <= int(answer.headers["retry-after"]) <= MINUTE
            assert answer.headers["ratelimit-remaining"] == "0"
        for _ in range(5):  # probes are not limited
            assert (await client.get("/livez")).status_code == 200
    registry = app.state.services.metrics.registry
    assert registry.get_sample_value("tallystick_rejections_total", {"code": "rate_limited"}) == 4


async def test_a_burst_is_not_limited_unless_somebody_said_so() -> None:
    async with web_client(make_app()) as client:
        answers = await asyncio.gather(*(client.post(COUNT, json=BODY) for _ in range(300)))
    assert {answer.status_code for answer in answers} == {200}
    assert not [name for name in answers[0].headers if name.startswith("ratelimit")]


async def test_a_key_has_its_own_rate_and_its_own_count(tmp_path: Path) -> None:
    door = Door(tmp_path, requests_per_minute=2)
    usual, more, none = (
        door.key("count", requests_per_minute=rate, name=name) for rate, name in ((None, "a"), (4, "b"), (0, "c"))
    )
    async with web_client(door.app) as client:
        for key, passed in ((usual, 2), (more, 4), (none, 10)):
            answers = [await client.post(COUNT, json=BODY, headers=bearer(key)) for _ in range(10)]
            assert [answer.status_code for answer in answers] == [200] * passed + [429] * (10 - passed)
        assert (await client.post(COUNT, json=BODY)).status_code == 401  # and does not count


async def test_tokens_of_every_wire_and_of_batches_are_charged() -> None:
    """A count that has no field for a total on its wire is charged all the same."""
    text = "word " * 40
    for path, body, tokens in (
        (COUNT, {"tokenizer": "gpt2", "text": text}, 41),
        ("/v1/countTokens:batch", {"items": [{"tokenizer": "gpt2", "text": text}] * 2}, 82),
        ("/v1/messages/count_tokens", {"model": "claude-opus-4", "messages": [{"role": "user", "content": text}]}, 0),
        ("/v1/responses/input_tokens", {"model": "gpt-4o", "input": text}, 0),
        ("/v1beta/models/gemini-2.5-flash:countTokens", {"contents": [{"parts": [{"text": text}]}]}, 0),
        ("/tokenize", {"model": "gpt2", "prompt": text}, 0),
    ):
        async with web_client(make_app(tokens_per_minute=10_000)) as client:
            first = await client.post(path, json=body)
            assert first.status_code == 200, (path, first.text)
            left = (await client.post(path, json=body)).headers["ratelimit"]
            used = 10_000 - int(left.split("r=")[1].split(";")[0])
            assert used == tokens if tokens else 40 <= used <= 80, (path, used)


# ---------------------------------------------------------------- in Redis


@contextmanager
def redis_urls(kind: str) -> Iterator[str]:
    if kind == "sentinel":
        with redis_sentinel() as (_, port):
            yield f"redis+sentinel://127.0.0.1:{port}/counts/0"
    elif kind == "cluster":
        with redis_cluster() as nodes:
            yield "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    else:
        with redis_server(*(("--requirepass", "pass:word/1") if kind == "password" else ())) as server:
            yield {
                "server": server.url, "unix": server.unix_url,
                "password": server.url.replace("//", "//:pass%3Aword%2F1@"),
            }[kind]


@pytest.mark.redis
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # see the end
@pytest.mark.parametrize("kind", ["server", "unix", "password", "sentinel", "cluster"])
async def test_processes_share_a_limit_in_redis(kind: str) -> None:
    with redis_urls(kind) as url:
        one, two = (RateLimiter(Rates(), RateStore(url, 1.0)) for _ in range(2))
        await one.open()
        await two.open()
        rates = Rates(requests=6, tokens=100)
        who = f"key:{kind}"
        results = [await passes((one, two)[i % 2], who, rates) for i in range(10)]
        assert results == [True] * 6 + [False] * 4
        await one.charge("key:t", rates, 90)
        await two.charge("key:t", rates, 5)
        await two.charge("key:t", rates, 5)
        assert not await passes(two, "key:t", rates)
        await one.close()
        await two.close()
    # redis.asyncio (8.1) leaves the connection that showed it the cluster to the garbage collector, which warns.
    del one, two
    gc.collect()


@pytest.mark.redis
async def test_what_is_kept_in_redis_ends_by_itself_and_holds_no_address_but_a_name() -> None:
    with redis_server() as server:
        limiter = RateLimiter(Rates(), RateStore(server.url, 1.0))
        assert await passes(limiter, "key:abc", Rates(requests=3))
        await limiter.close()
        with server.client(decode_responses=True) as client:
            keys = [str(key) for key in client.keys("*")]
            assert len(keys) == 1
            assert keys[0].startswith("tallystick:rate:key:abc/requests/")
            assert 0 < client.ttl(keys[0]) <= 2 * MINUTE


class CountingStore(RateStore):
    """How often it was asked."""

    asked = 0

    async def add(self, key: str, amount: int) -> int:
        self.asked += 1
        return await super().add(key, amount)


@pytest.mark.redis
async def test_a_redis_that_fails_leaves_each_process_its_own_limit(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both clocks stand still: no minute ends meanwhile, and no pause of the circuit breaker."""
    caplog.set_level(logging.WARNING)
    clock, fell_back = Clock(monkeypatch), 0

    def count() -> None:
        nonlocal fell_back
        fell_back += 1

    with redis_server() as server, FaultyProxy(server.port) as proxy:
        store = CountingStore(proxy.url, 60.0)
        limiter = RateLimiter(Rates(), store, count)
        limiter._breaker = CircuitBreaker(lambda: clock.now)
        rates = Rates(requests=5)
        for fault in ("hang", "refuse"):
            monkeypatch.setattr(rate_limits, "SHARED_SECONDS", 60.0)  # it answers, however busy the machine is
            assert await passes(limiter, f"key:before-{fault}", rates)
            assert limiter._breaker.closed
            proxy.fault, store.asked = fault, 0
            monkeypatch.setattr(rate_limits, "SHARED_SECONDS", 0.1)
            assert [await passes(limiter, f"key:{fault}", rates) for _ in range(7)] == [True] * 5 + [False] * 2
            assert store.asked == 1, "only the first waits for it"
            proxy.fault = "none"
            clock.now += FIRST_PAUSE_SECONDS
        monkeypatch.setattr(rate_limits, "SHARED_SECONDS", 60.0)
        assert await passes(limiter, "key:after", rates)
        assert limiter._breaker.closed
        await limiter.close()
    assert fell_back == 14
    assert [record.message for record in caplog.records].count("rate limits are kept by each process") == 2


@pytest.mark.redis
async def test_a_burst_leaves_few_connections_to_redis_open() -> None:
    with redis_server() as server, server.client() as admin:
        limiter = RateLimiter(Rates(), RateStore(server.url, 5.0))
        await asyncio.gather(*(limiter.take(f"ip:{i}", Rates(requests=10), RequestContext("id")) for i in range(500)))
        info: Any = admin.info("clients")
        await limiter.close()
    assert info["connected_clients"] <= rate_limits.MAX_CONCURRENT + 2  # and the one that asks


async def test_those_who_wait_for_a_place_do_not_wait_for_a_store_that_fails() -> None:
    class Silent:
        """Each who asks waits 0.05 s in vain."""

        errors: tuple[type[Exception], ...] = (ConnectionError,)
        asked = 0

        async def add(self, key: str, amount: int) -> int:
            self.asked += 1
            await asyncio.sleep(0.05)
            raise ConnectionError

        async def close(self) -> None:
            pass

    store = Silent()
    limiter = RateLimiter(Rates(), store)
    limiter._breaker = CircuitBreaker(lambda: 0.0)  # its pause does not end
    await asyncio.gather(*(limiter.take("ip:1", Rates(requests=1_000), RequestContext("id")) for _ in range(200)))
    assert store.asked <= rate_limits.MAX_CONCURRENT
