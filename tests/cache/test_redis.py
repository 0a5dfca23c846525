"""The second tier with a real Redis: what is kept, what is refused, and what a failure costs."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from service.cache.redis import KEY_PREFIX, MAX_QUEUED, RedisCache
from service.redis.client import open_redis
from service.redis.url import parse_redis_url
from tests.support.redis_server import FaultyProxy, RedisServer, redis_cluster, redis_sentinel, redis_server

pytestmark = pytest.mark.redis

SECRET = b"s" * 32
SECONDS = 0.1


class Events:
    """What the cache reported."""

    def __init__(self) -> None:
        self.lookups: Counter[str] = Counter()
        self.writes: Counter[str] = Counter()

    def record_lookup(self, tier: str, outcome: str, number: int = 1) -> None:
        assert tier == "redis"
        self.lookups[outcome] += number

    def record_tokenized(self, tokenizer: str, texts: int, size: int, seconds: float) -> None: ...

    def record_redis_write(self, outcome: str, number: int) -> None:
        self.writes[outcome] += number


@contextmanager
def cache_at(url: str, secret: bytes = SECRET, ttl: int = 1000) -> Iterator[tuple[RedisCache, Events]]:
    events = Events()
    cache = RedisCache(lambda: open_redis(parse_redis_url(url), SECONDS), secret, ttl, events)
    cache.start()
    try:
        yield cache, events
    finally:
        cache.stop()


def wait_for(true: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(params=["tcp", "unix"])
def url(request: pytest.FixtureRequest, server: RedisServer) -> str:
    with server.client() as client:
        client.flushall()
    return server.url if request.param == "tcp" else server.unix_url


def keys(number: int) -> list[bytes]:
    return [bytes([i % 256, i // 256]) * 10 for i in range(number)]


def put_and_wait(cache: RedisCache, events: Events, entries: Mapping[bytes, tuple[int, ...]]) -> None:
    wait_for(lambda: cache.up)
    for key, counts in entries.items():
        cache.put(key, counts)
    wait_for(lambda: events.writes["stored"] >= len(entries))


def test_another_process_finds_what_was_put(url: str) -> None:
    entries = {key: (i, 2 * i, 2**32 - 1) for i, key in enumerate(keys(1200))}
    with cache_at(url) as (cache, events):
        put_and_wait(cache, events, entries)
        assert events.writes == {"stored": 1200}
        assert cache.waiting == 0
    with cache_at(url) as (other, events):
        wait_for(lambda: other.up)
        assert other.get_many([*keys(1200), b"unknown" * 3]) == entries
        assert other.get_many([b"unknown" * 3]) == {}
        assert events.lookups == {"hit": 1, "miss": 1}


def test_entries_end_within_a_tenth_of_the_time_to_live(server: RedisServer, url: str) -> None:
    with cache_at(url, ttl=1000) as (cache, events), server.client() as client:
        put_and_wait(cache, events, dict.fromkeys(keys(100), (1,)))
        left = [client.ttl(KEY_PREFIX + key.hex().encode()) for key in keys(100)]
    assert 890 <= min(left) < 940
    assert 1060 < max(left) <= 1100


def test_a_value_of_anybody_else_is_a_miss(server: RedisServer, url: str) -> None:
    good, foreign, short, moved, wrong_type = keys(5)
    with cache_at(url, secret=b"other" * 4) as (cache, events):
        put_and_wait(cache, events, {foreign: (5,)})
    with cache_at(url) as (cache, events), server.client() as client:
        put_and_wait(cache, events, {good: (7,)})
        client.set(KEY_PREFIX + short.hex().encode(), b"12")
        client.copy((KEY_PREFIX + good.hex().encode()).decode(), (KEY_PREFIX + moved.hex().encode()).decode())
        assert cache.get_many([good, foreign, short, moved]) == {good: (7,)}
        assert events.lookups == {"hit": 1, "garbage": 3}
        client.lpush(KEY_PREFIX + wrong_type.hex().encode(), "x")
        assert cache.get_many([wrong_type, good]) == {}
        assert events.lookups["failed"] == 1
        assert cache.get_many([good]) == {good: (7,)}, "a wrong type is one key's affair"


def test_what_does_not_fit_the_queue_is_dropped_and_counted() -> None:
    with cache_at("redis://127.0.0.1:1/0") as (cache, events):
        for i in range(MAX_QUEUED + 5):
            cache.put(b"%020d" % i, (i,))
        assert cache.waiting == MAX_QUEUED
        assert events.writes == {"dropped": 5}


# ---------------------------------------------------------------- failures


def test_a_refused_connection_is_a_miss_and_comes_back(server: RedisServer) -> None:
    with FaultyProxy(server.port) as proxy:
        proxy.fault = "refuse"
        with cache_at(proxy.url) as (cache, events):
            wait_for(lambda: cache.reason == "refused")
            assert not cache.up
            assert cache.get_many(keys(3)) == {}
            proxy.fault = "none"
            put_and_wait(cache, events, dict.fromkeys(keys(3), (1,)))
            assert cache.reason is None


def test_a_redis_that_hangs_costs_each_thread_one_timeout(server: RedisServer) -> None:
    with FaultyProxy(server.port) as proxy, cache_at(proxy.url) as (cache, events):
        put_and_wait(cache, events, dict.fromkeys(keys(3), (1,)))
        proxy.fault = "hang"
        threads = [threading.Thread(target=lambda: cache.get_many(keys(3))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not cache.up, "nobody asks it any more"
        assert cache.reason == "timeout"
        proxy.fault = "none"
        wait_for(lambda: cache.up and len(cache.get_many(keys(3))) == 3)


def test_connections_that_were_cut_are_made_again(server: RedisServer) -> None:
    with FaultyProxy(server.port) as proxy, cache_at(proxy.url) as (cache, events):
        put_and_wait(cache, events, dict.fromkeys(keys(3), (1,)))
        for _ in range(3):
            proxy.cut()
            wait_for(lambda: cache.up and len(cache.get_many(keys(3))) == 3)


def test_a_slow_redis_is_known_to_be_slow(server: RedisServer) -> None:
    with FaultyProxy(server.port) as proxy, cache_at(proxy.url) as (cache, events):
        put_and_wait(cache, events, dict.fromkeys(keys(3), (1,)))
        assert cache.round_trip_seconds is not None
        proxy.fault = "delay"
        assert len(cache.get_many(keys(3))) == 3
        assert cache.round_trip_seconds > 0.05, "there and back, 30 ms each"
        proxy.fault = "none"
        wait_for(lambda: (cache.round_trip_seconds or 1) < 0.05)


def test_a_restarted_redis_is_used_again() -> None:
    with redis_server() as server, cache_at(server.url) as (cache, events):
        put_and_wait(cache, events, dict.fromkeys(keys(3), (1,)))
        server.stop()
        assert cache.get_many(keys(3)) == {}
        assert not cache.up
        server.start()
        wait_for(lambda: cache.up)
        put_and_wait(cache, events, dict.fromkeys(keys(6), (2,)))
        assert cache.get_many(keys(3)) == dict.fromkeys(keys(3), (2,))


def test_a_read_only_replica_still_answers(server: RedisServer) -> None:
    with server.client() as client, cache_at(server.url) as (cache, events):
        put_and_wait(cache, events, dict.fromkeys(keys(3), (1,)))
        client.config_set("replica-serve-stale-data", "yes")
        client.replicaof("127.0.0.1", "1")
        try:
            wait_for(lambda: cache.reason == "read_only")
            assert cache.up
            assert len(cache.get_many(keys(3))) == 3
        finally:
            client.replicaof("NO", "ONE")
        wait_for(lambda: cache.reason is None)


def test_a_full_redis_still_answers(server: RedisServer) -> None:
    with server.client() as client, cache_at(server.url) as (cache, events):
        put_and_wait(cache, events, dict.fromkeys(keys(3), (1,)))
        client.config_set("maxmemory", "1")
        try:
            cache.put(b"k" * 20, (1,))
            wait_for(lambda: cache.reason == "full")
            assert cache.up
            assert len(cache.get_many(keys(3))) == 3
        finally:
            client.config_set("maxmemory", "0")
        wait_for(lambda: cache.reason is None)


def test_a_wrong_password_is_told_apart() -> None:
    with redis_server("--requirepass", "right") as server:
        with cache_at(f"redis://:wrong@127.0.0.1:{server.port}") as (cache, _):
            wait_for(lambda: cache.reason == "denied")
        with cache_at(f"redis://:right@127.0.0.1:{server.port}") as (cache, events):
            put_and_wait(cache, events, {b"k" * 20: (1,)})


# ---------------------------------------------------------------- other forms of Redis


def test_a_cluster_of_three_nodes() -> None:
    entries = {key: (i,) for i, key in enumerate(keys(300))}
    with redis_cluster() as nodes:
        url = f"redis+cluster://{','.join(f'127.0.0.1:{node.port}' for node in nodes)}"
        with cache_at(url) as (cache, events):
            put_and_wait(cache, events, entries)
            assert cache.get_many(keys(300)) == entries
            sizes = []
            for node in nodes:
                with node.client() as client:
                    sizes.append(client.dbsize())
            assert min(sizes) > 50
            nodes[1].stop()
            assert cache.get_many(keys(300)) == {}
            assert cache.reason is not None
            nodes[1].start()
            wait_for(lambda: cache.up and len(cache.get_many(keys(300))) >= 150)


def test_a_master_found_by_its_sentinel() -> None:
    with redis_sentinel() as (_, port):
        with cache_at(f"redis+sentinel://127.0.0.1:{port}/counts/0") as (cache, events):
            put_and_wait(cache, events, {b"k" * 20: (1,)})
            assert cache.get_many([b"k" * 20]) == {b"k" * 20: (1,)}
        with cache_at(f"redis+sentinel://127.0.0.1:{port}/unknown") as (cache, _):
            wait_for(lambda: cache.reason == "refused")
