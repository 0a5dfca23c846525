"""The ledger in a real Redis: exact under many writers and lost answers, bounded in time, on a cluster, too."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from service.ledger.redis import FIELDS_AT_ONCE, RedisLedger
from service.ledger.store import USAGE_COLUMNS, Account, Batch, StoreFailed, Sums
from service.redis.client import open_redis
from service.redis.url import parse_redis_url
from tests.support.redis_server import FaultyProxy, RedisServer, redis_cluster, redis_server

pytestmark = pytest.mark.redis

KEEP = 90 * 86_400
QUARTER = 1_995_555


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _empty(server: RedisServer) -> None:
    with server.client() as client:
        client.flushall()


def store_at(url: str, seconds: float = 2.0) -> RedisLedger:
    return RedisLedger(lambda: open_redis(parse_redis_url(url), seconds), KEEP)


def sums(*amounts: int) -> Sums:
    return [*amounts, *([0] * (len(USAGE_COLUMNS) - len(amounts)))]


def read(store: RedisLedger, start: int = QUARTER - 10, end: int = QUARTER + 10) -> dict[Account, Sums]:
    return dict(store.read("usage", start, end))


def usage(quarter: int = QUARTER, who: str = "p", what: str = "gpt-4o") -> Account:
    return Account("usage", quarter, who, what)


def test_what_was_added_is_read_by_any_process(server: RedisServer) -> None:
    rows = {usage(QUARTER + i, f"p{i % 3}", f"m{i % 2}"): sums(1, i + 5, 0, 10**12 - 1) for i in range(-5, 5)}
    rows[Account("drift", QUARTER, "f", "exact")] = [1, 2, 3, 0, 0, 1, 0, 0, 0, 0]
    store_at(server.url).add(Batch("one", rows))
    store_at(server.unix_url).add(Batch("two", {usage(): sums(5)}))
    found = read(store_at(server.url))
    drift = dict(store_at(server.url).read("drift", QUARTER, QUARTER + 1))
    rows[usage()] = sums(5)
    assert found == {account: amounts for account, amounts in rows.items() if account.table == "usage"}
    assert drift == {Account("drift", QUARTER, "f", "exact"): [1, 2, 3, 0, 0, 1, 0, 0, 0, 0]}


def test_ranges_are_half_open(server: RedisServer) -> None:
    store = store_at(server.url)
    store.add(Batch("b", {usage(QUARTER + i): sums(1) for i in range(8)}))
    assert sorted(account.quarter for account in read(store, QUARTER + 2, QUARTER + 5)) == [
        QUARTER + 2, QUARTER + 3, QUARTER + 4,
    ]
    assert read(store, QUARTER + 3, QUARTER + 3) == {}
    assert len(read(store, QUARTER - 40_000, QUARTER + 40)) == 8


def test_a_batch_that_comes_again_is_added_once(server: RedisServer) -> None:
    store, batch = store_at(server.url), Batch("same", {usage(): sums(1, 7), usage(QUARTER + 9): sums(2)})
    store.add(batch)
    store.add(batch)
    assert read(store) == {usage(): sums(1, 7), usage(QUARTER + 9): sums(2)}


def test_an_answer_that_was_lost_is_no_double_booking(server: RedisServer) -> None:
    with FaultyProxy(server.port) as proxy:
        store = store_at(proxy.url, seconds=0.2)
        store.add(Batch("first", {usage(): sums(1)}))
        proxy.delay_seconds, proxy.fault = 0.15, "delay"  # there it comes in time, back it does not
        with pytest.raises(StoreFailed, match="timeout"):
            store.add(Batch("second", {usage(): sums(10)}))
        proxy.fault = "none"
        while True:
            try:
                store.add(Batch("second", {usage(): sums(10)}))
                break
            except StoreFailed:
                continue
    assert read(store_at(server.url)) == {usage(): sums(11)}


def test_many_writers_lose_nothing(server: RedisServer) -> None:
    def write(name: str) -> None:
        store = store_at(server.url)
        for i in range(50):
            store.add(Batch(f"{name}:{i}", {usage(): sums(1, 3), usage(what=name): sums(1)}))

    threads = [threading.Thread(target=write, args=(f"w{i}",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = read(store_at(server.url))
    assert found.pop(usage()) == sums(300, 900)
    assert set(map(tuple, found.values())) == {tuple(sums(50))}


def test_a_large_batch_goes_in_parts(server: RedisServer) -> None:
    rows = {usage(who=f"p{i}"): sums(1, i + 1) for i in range(FIELDS_AT_ONCE)}
    store = store_at(server.url)
    for _ in range(2):
        store.add(Batch("large", rows))
    assert read(store) == rows


def test_everything_ends_some_day_and_foreign_fields_are_left_out(server: RedisServer) -> None:
    store = store_at(server.url)
    store.add(Batch("b", {usage(): sums(1)}))
    with server.client() as client:
        keys = list(client.scan_iter("*"))
        assert len(keys) == 2
        assert all(key.startswith(b"tallystick:ledger:{usage:") for key in keys)
        left = sorted(client.ttl(key) for key in keys)
        assert 0 < left[0] <= 6 * 3600
        assert KEEP - 10 <= left[1] <= KEEP
        (hash_key,) = [key for key in keys if client.type(key) == b"hash"]
        client.hset(hash_key, mapping={"junk": "1", "9\x1fa\x1fb\x1fcalls": "1", "0\x1fa\x1fb\x1fcalls": "x"})
    assert read(store) == {usage(): sums(1)}


def test_a_redis_that_fails_says_so_and_is_left_alone_for_a_while(server: RedisServer) -> None:
    now = 100.0
    with FaultyProxy(server.port) as proxy:
        store = RedisLedger(lambda: open_redis(parse_redis_url(proxy.url), 0.2), KEEP, clock=lambda: now)
        proxy.fault = "refuse"
        with pytest.raises(StoreFailed, match="refused"):
            store.add(Batch("b", {usage(): sums(1)}))
        proxy.fault = "none"
        with pytest.raises(StoreFailed, match="unreachable"):
            read(store)
        now += 1
        store.add(Batch("b", {usage(): sums(1)}))
        assert read(store) == {usage(): sums(1)}


def test_on_a_cluster() -> None:
    with redis_cluster() as nodes:
        store = store_at(f"redis+cluster://127.0.0.1:{nodes[0].port}")
        rows = {usage(QUARTER + i): sums(i + 1) for i in range(60)}
        store.add(Batch("b", rows))
        store.add(Batch("b", rows))
        assert read(store, QUARTER, QUARTER + 60) == rows
