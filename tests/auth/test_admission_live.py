"""Who is let in by a real server: keys in Redis, proxies, rates, deadlines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from service.auth.key_store import FileStore
from service.auth.keys import Key, make_key
from service.auth.redis_key_store import RedisStore
from service.redis.client import open_redis
from service.redis.url import parse_redis_url
from tests.server.test_workers_live import until
from tests.support.live import HTTP, LiveServer, running_server
from tests.support.redis_server import RedisServer, redis_server

COUNT = "/v1/countTokens"
BODY = {"tokenizer": "o200k_base", "text": "hello"}


def adder(key: Key) -> Any:
    def add(keys: dict[str, Key]) -> None:
        keys[key.id] = key

    return add


@contextmanager
def with_redis(redis: RedisServer, **settings: Any) -> Iterator[LiveServer]:
    settings = {"redis_url": redis.url, "cache_secret": "s" * 32, "warm": "o200k_base", **settings}
    with running_server(**settings) as server:
        yield server


@pytest.mark.redis
def test_keys_in_redis_are_those_of_every_worker_and_outlive_it() -> None:
    text, key = make_key("team-a", ["count"])
    with redis_server() as redis, with_redis(redis, keys_in_redis=1, workers=2) as server:

        def status() -> int:
            return HTTP.post(server.url + COUNT, json=BODY, headers={"x-api-key": text}).status_code

        assert status() == 401
        store = RedisStore(lambda: open_redis(parse_redis_url(redis.url), 2.0))
        store.change(adder(key))
        until(lambda: {status() for _ in range(10)} == {200})
        redis.stop()
        assert {status() for _ in range(10)} == {200}  # keys are kept in memory
        redis.start()  # empty: nothing is kept on disk
        until(lambda: {status() for _ in range(10)} == {401})


@pytest.mark.redis
def test_without_the_redis_that_has_the_keys_nobody_is_let_in_but_it_starts() -> None:
    """And is not ready, so that whoever has keys is asked."""
    text, key = make_key("team-a", ["count"])
    with redis_server() as redis:
        redis.stop()
        with with_redis(redis, keys_in_redis=1, wait=False) as server:
            refused = HTTP.post(server.url + COUNT, json=BODY, headers={"x-api-key": text})
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "keys_unavailable")
            assert HTTP.get(server.url + "/livez").status_code == 200
            ready = HTTP.get(server.url + "/readyz")
            assert (ready.status_code, ready.json()["status"]) == (503, "starting")
            assert ready.json()["tokenizers"]["keys"] == {"ready": False, "reason": "not read yet"}
            redis.start()
            RedisStore(lambda: open_redis(parse_redis_url(redis.url), 2.0)).change(adder(key))
            until(lambda: HTTP.post(server.url + COUNT, json=BODY, headers={"x-api-key": text}).status_code == 200)
            until(server.is_ready)


@pytest.mark.redis
def test_a_worker_has_the_keys_before_its_first_request() -> None:
    """Requests wait in the backlog while it starts: none of them is refused for keys that are not there yet."""
    text, key = make_key("team-a", ["count"])
    with redis_server() as redis:
        RedisStore(lambda: open_redis(parse_redis_url(redis.url), 2.0)).change(adder(key))
        for _ in range(3):
            with with_redis(redis, keys_in_redis=1, wait=False) as server, ThreadPoolExecutor(8) as pool:
                calls = [
                    pool.submit(HTTP.post, server.url + COUNT, json=BODY, headers={"x-api-key": text}, timeout=60)
                    for _ in range(8)
                ]
                assert {call.result().status_code for call in calls} == {200}


@pytest.mark.redis
def test_a_rate_in_redis_is_that_of_all_workers() -> None:
    with redis_server() as redis, with_redis(redis, workers=2, requests_per_minute=30) as server:
        with ThreadPoolExecutor(8) as pool:
            calls = [pool.submit(HTTP.post, server.url + COUNT, json=BODY) for _ in range(60)]
        statuses = [call.result().status_code for call in calls]
    assert set(statuses) == {200, 429}
    assert 30 <= statuses.count(200) < 60  # more than 30 only where a new minute began in between


@pytest.mark.parametrize(("trusted", "shared"), [("", True), ("127.0.0.1", False), ("10.0.0.0/8", True)])
def test_an_address_is_the_connections_unless_a_trusted_proxy_says_another(trusted: str, shared: bool) -> None:
    with running_server(warm="o200k_base", requests_per_minute=1, trusted_proxies=trusted) as server:
        statuses = [
            HTTP.post(server.url + COUNT, json=BODY, headers={"x-forwarded-for": f"203.0.113.{i}"}).status_code
            for i in range(5)
        ]
    assert (429 in statuses) == shared


def test_what_waits_too_long_is_a_503_that_says_so_and_the_server_goes_on() -> None:
    """The reference engine takes half a second for each of these; one thread counts them."""

    def slow(number: int) -> bytes:
        text = f"{number} " + "The quick brown fox jumps over 12 lazy dogs. " * 20_000
        return json.dumps({"tokenizer": "gemma3", "engine": "reference", "text": text}).encode()

    with running_server(warm="o200k_base", threads=1, request_seconds=0.3) as server:
        with ThreadPoolExecutor(6) as pool:
            calls = [pool.submit(HTTP.post, server.url + COUNT, content=slow(i), timeout=60) for i in range(6)]
            assert HTTP.post(server.url + COUNT, json=BODY).json()["input_tokens"] == 1  # not behind them
            answers = [call.result() for call in calls]
        refused = [answer for answer in answers if answer.status_code == 503]
        assert len(refused) >= 4
        assert {answer.json()["error"]["code"] for answer in refused} == {"deadline_exceeded"}
        assert {answer.headers["retry-after"] for answer in refused} == {"1"}
        assert HTTP.post(server.url + COUNT, json=BODY).status_code == 200


def test_a_key_made_on_the_command_line_opens_a_server_for_others(tmp_path: Path) -> None:
    """End to end, over the file that both name."""
    file = tmp_path / "keys.json"
    text, key = make_key("team-a", ["count", "metrics"], requests_per_minute=3)
    FileStore(file).change(adder(key))
    with running_server(warm="o200k_base", keys_file=file) as server:
        assert HTTP.get(server.url + "/metrics").status_code == 401
        headers = {"authorization": f"Bearer {text}"}
        answers = [HTTP.post(server.url + COUNT, json=BODY, headers=headers) for _ in range(5)]
        assert {answer.status_code for answer in answers} == {200, 429}
        assert text.split("_", 2)[2] not in "\n".join(server.log)
        assert '"project":"team-a"' in "\n".join(server.log).replace('": "', '":"')
