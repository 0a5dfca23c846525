"""Real servers, a real Redis: processes share counts, a Redis that fails costs no answer, and no text leaves."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import Any

import httpx
import pytest

from service.counting.counter import Counter
from service.dialects import native
from tests.support.live import ROOT, LiveServer, running_server
from tests.support.redis_server import Fault, FaultyProxy, RedisServer, redis_server

pytestmark = pytest.mark.redis

SECRET = "0123456789abcdef0123456789abcdef"
COUNT = "/v1/countTokens"
WARM = "o200k_base,claude-v3,gemma3"
WORDS = (
    "the", "of", "and", "parser", "token", "request", "caf\u00e9", "return", "42", "x_y", "(a, b)", "{json: true}",
    "\ud55c\uad6d\uc5b4", "don't", "\u2014",
)


def prose(seed: object, size: int) -> str:
    rand = random.Random(str(seed))
    lines: list[str] = []
    while sum(map(len, lines)) < size:
        lines.append(" ".join(rand.choices(WORDS, k=12)) + ".")
    return "\n".join(lines)


def conversation(model: str, messages: int, seed: object = 0, size: int = 1_000) -> dict[str, Any]:
    said = [
        {"role": "assistant" if i % 2 else "user", "content": prose((seed, i), size)} for i in range(messages)
    ]
    return {"model": model, "request": {"messages": said}}


def served(redis_url: str | None, **settings: Any) -> AbstractContextManager[LiveServer]:
    if redis_url is not None:
        settings |= {"redis_url": redis_url, "cache_secret": SECRET}
    return running_server(**{"warm": WARM, **settings})


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@contextmanager
def asking(server: LiveServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        yield client


def metric(client: httpx.Client, name: str, **labels: str) -> float:
    """The sum of the series with these labels."""
    total = 0.0
    for line in client.get("/metrics").text.splitlines():
        found = re.fullmatch(rf"{name}(?:{{(.*)}})? (\S+)", line)
        if found and all(f'{key}="{value}"' in (found[1] or "") for key, value in labels.items()):
            total += float(found[2])
    return total


def tokens_and_bytes(client: httpx.Client, body: Any) -> tuple[int, int]:
    """The answer, and how much was tokenized for it."""
    before = metric(client, "tallystick_tokenized_bytes_total")
    answer = client.post(COUNT, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["input_tokens"], int(metric(client, "tallystick_tokenized_bytes_total") - before)


def wait_until(true: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def truth(body: Any) -> int:
    return Counter.in_memory(0).count(native.read(body)).input_tokens


# ---------------------------------------------------------------- shared between processes


@pytest.fixture(scope="module")
def pair(redis: RedisServer) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Two processes that always ask Redis."""
    with (
        served(redis.url, ask_redis="always") as one, served(redis.url, ask_redis="always") as other,
        asking(one) as first, asking(other) as second,
    ):
        for client in (first, second):
            wait_until(lambda client=client: metric(client, "tallystick_redis_up") == 1)
        yield first, second


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "gemini-2.5-flash"])
def test_a_grown_conversation_counts_3_percent_here_and_in_another_process(
    pair: tuple[httpx.Client, httpx.Client], model: str
) -> None:
    first, second = pair
    before, after, longer = (conversation(model, messages) for messages in (200, 201, 202))
    tokens, size = tokens_and_bytes(first, before)
    assert (tokens, size > 200_000) == (truth(before), True)
    tokens, grown = tokens_and_bytes(first, after)
    assert tokens == truth(after)
    assert grown <= 0.03 * size
    wait_until(lambda: metric(first, "tallystick_redis_write_queue") == 0)
    hits = metric(second, "tallystick_cache_lookups_total", tier="redis", outcome="hit")
    tokens, elsewhere = tokens_and_bytes(second, longer)
    assert tokens == truth(longer)
    assert elsewhere <= 0.03 * size
    assert metric(second, "tallystick_cache_lookups_total", tier="redis", outcome="hit") == hits + 1


def test_small_texts_never_ask_redis(pair: tuple[httpx.Client, httpx.Client], redis: RedisServer) -> None:
    """Nothing that is counted on the event loop may wait there, however often it is asked."""
    client, _ = pair
    asked = [metric(client, "tallystick_cache_lookups_total", tier="redis", outcome=how) for how in ("hit", "miss")]
    for i in range(30):
        assert client.post(COUNT, json={"model": "gpt-4o", "text": f"{i} hello"}).status_code == 200
        assert client.post(COUNT, json=conversation("claude-sonnet-4-5", 8, ("small", i))).status_code == 200
    assert asked == [
        metric(client, "tallystick_cache_lookups_total", tier="redis", outcome=how) for how in ("hit", "miss")
    ]


def test_where_counting_is_faster_redis_is_not_asked(redis: RedisServer) -> None:
    """Behind 30 ms of network no text of 20 KB is worth a round trip; a MiB for Claude is."""
    with FaultyProxy(redis.port) as proxy:
        proxy.fault = "delay"
        with served(proxy.url, redis_seconds=1) as server, asking(server) as client:
            wait_until(lambda: metric(client, "tallystick_redis_round_trip_seconds") > 0.05)
            for i in range(5):
                assert client.post(COUNT, json=conversation("gpt-4o", 30, ("far", i))).status_code == 200
            assert metric(client, "tallystick_cache_lookups_total", tier="redis", outcome="skipped") == 5
            assert metric(client, "tallystick_cache_lookups_total", tier="redis", outcome="miss") == 0
            assert metric(client, "tallystick_count_seconds_per_mib", tokenizer="o200k_base") > 0


def test_200_identical_requests_of_a_megabyte_are_one_tokenization() -> None:
    body = json.dumps({"model": "claude-sonnet-4-5", "text": prose("large", 1_000_000)}).encode()
    with served(None) as server, asking(server) as client, ThreadPoolExecutor(50) as pool:
        before = metric(client, "tallystick_tokenized_bytes_total", tokenizer="claude-v3")
        answers = list(pool.map(lambda _: client.post(COUNT, content=body), range(200)))
        after = metric(client, "tallystick_tokenized_bytes_total", tokenizer="claude-v3")
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["input_tokens"] for answer in answers} == {truth(json.loads(body))}
    assert 0 < after - before <= len(body)


# ---------------------------------------------------------------- failures under load


FAULTS: tuple[Fault, ...] = ("hang", "refuse", "delay")


class Load:
    """Threads that send requests without a pause and compare every answer with what was counted before."""

    def __init__(self, client: httpx.Client, bodies: list[tuple[Any, int]]) -> None:
        self.client = client
        self.bodies = bodies
        self.next = count()
        self.wrong: list[str] = []
        self.answers = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(4)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            number = next(self.next)
            body, expected = self.bodies[number % len(self.bodies)]
            try:
                # An own field makes each body another one, so that no whole answer is given again.
                answer = self.client.post(COUNT, json={**body, "number": number})
                if answer.status_code != 200 or answer.json()["input_tokens"] != expected:
                    self.wrong.append(answer.text)
            except httpx.HTTPError as error:
                self.wrong.append(repr(error))
            self.answers += 1


def test_redis_that_fails_under_load_costs_no_answer(redis: RedisServer) -> None:
    models = ("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-flash")
    bodies = [conversation(models[i % 3], 20 + i % 7, ("load", i)) for i in range(60)]
    known = [(body, truth(body)) for body in bodies]
    reasons: dict[Fault, str] = {"hang": "timeout", "refuse": "refused"}
    with (
        FaultyProxy(redis.port) as proxy,
        served(proxy.url, ask_redis="always", cache_bytes=20_000, inline_bytes=0) as server,
        asking(server) as client,
    ):
        wait_until(lambda: metric(client, "tallystick_redis_up") == 1)
        with Load(client, known) as load:
            for fault in FAULTS:
                proxy.fault = fault
                if fault in reasons:
                    wait_until(lambda fault=fault: _degraded(client, reasons[fault]))
                    assert metric(client, "tallystick_redis_degraded") == 1
                time.sleep(0.7)
                proxy.fault = "none"
                wait_until(lambda: client.get("/readyz").json()["status"] == "ready")
            for _ in range(3):
                proxy.cut()
                time.sleep(0.1)
            redis.stop()
            wait_until(lambda: _degraded(client))
            redis.start()
            wait_until(lambda: client.get("/readyz").json()["status"] == "ready")
            with redis.client() as admin:
                admin.config_set("maxmemory", "1")
                wait_until(lambda: _degraded(client, "full"))
                admin.config_set("maxmemory", "0")
                admin.replicaof("127.0.0.1", "1")
                wait_until(lambda: _degraded(client, "read_only"))
                time.sleep(0.3)
                admin.replicaof("NO", "ONE")
                wait_until(lambda: client.get("/readyz").json()["status"] == "ready")
        assert load.wrong == []
        assert load.answers > 100
        assert metric(client, "tallystick_cache_lookups_total", tier="redis", outcome="hit") > 0
        assert metric(client, "tallystick_rejections_total") == 0


def _degraded(client: httpx.Client, reason: str | None = None) -> bool:
    answer = client.get("/readyz")
    body = answer.json()
    assert answer.status_code == 200, "counting goes on, so the service is ready"
    return body["status"] == "degraded" and reason in (None, body["redis"]["reason"])


def test_without_redis_at_the_start_the_service_starts(redis: RedisServer) -> None:
    with FaultyProxy(redis.port) as proxy:
        proxy.fault = "refuse"
        with served(proxy.url) as server, asking(server) as client:
            assert client.get("/readyz").json()["redis"] == {"status": "degraded", "reason": "refused"}
            assert client.post(COUNT, json={"model": "gpt-4o", "text": "hello"}).json()["input_tokens"] == 1
            usage = client.get("/v1/usage").json()
            assert (usage["complete"], usage["total"]["calls"]) == (False, 1)
            proxy.fault = "none"
            wait_until(lambda: client.get("/readyz").json()["status"] == "ready")
            wait_until(lambda: client.get("/v1/usage").json()["complete"])
            assert client.get("/v1/usage").json()["kept_in"] == "redis"


def test_the_ledger_of_two_processes_is_one(redis: RedisServer) -> None:
    with redis.client() as admin:
        admin.flushall()
    with served(redis.url) as one, served(redis.url) as other, asking(one) as first, asking(other) as second:
        clients, body = (first, second), {"model": "gpt-4o", "text": "hello, world"}
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i: clients[i % 2].post(COUNT, json=body), range(200)))
        wait_until(lambda: first.get("/v1/usage").json()["total"]["calls"] == 200)  # each writes within a second
        total = first.get("/v1/usage?group_by=").json()["total"]
    assert (total["calls"], total["input_tokens"], total["cost_usd"]) == (200, 600, "0.0015")


# ---------------------------------------------------------------- secrets


@pytest.mark.parametrize("secret", [None, "short"])
def test_redis_without_a_secret_refuses_to_start(secret: str | None) -> None:
    url = "redis://user:p4ssw0rd@127.0.0.1:1/0"
    environment = {"TALLYSTICK_REDIS_URL": url} | ({"TALLYSTICK_CACHE_SECRET": secret} if secret else {})
    done = subprocess.run(
        [sys.executable, "-m", "service.cli", "serve", "--port", "0"], cwd=ROOT, capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin", **environment}, timeout=60, check=False,
    )
    assert done.returncode == 2
    assert "TALLYSTICK_CACHE_SECRET" in done.stderr
    assert "openssl rand -hex 32" in done.stderr
    assert "p4ssw0rd" not in done.stderr + done.stdout


def test_no_text_gets_anywhere(redis: RedisServer) -> None:
    """A canary is put in every place that a caller can write. It must not be in keys, values, MONITOR, logs or
    metrics."""
    canary = "xyzzyhunter2"
    seen: list[str] = []
    with redis.client() as admin:
        admin.flushall()
        monitor = subprocess.Popen(
            ["redis-cli", "-p", str(redis.port), "monitor"], stdout=subprocess.PIPE, text=True, errors="replace",
        )
        assert monitor.stdout is not None
        reader = threading.Thread(target=lambda: seen.extend(monitor.stdout or ()))
        reader.start()
        with served(redis.url, ask_redis="always", log_level="debug") as server, asking(server) as client:
            wait_until(lambda: metric(client, "tallystick_redis_up") == 1)
            for body in _bodies_with(canary):
                client.post(COUNT, json=body)
                client.post(f"{COUNT}?{canary}={canary}", json=body, headers={"X-Tallystick-Project": canary})
            client.post("/v1/messages/count_tokens", json=_bodies_with(canary)[0]["request"])
            client.post("/v1/usage", json={
                "model": f"gpt-4o-{canary}", "usage": {"prompt_tokens": 1, "completion_tokens": 1}, "text": canary,
            })
            client.get(f"/v1/usage?model={canary}&project={canary}")
            client.get(f"/{canary}")
            wait_until(lambda: metric(client, "tallystick_redis_write_queue") == 0)
            client.get("/v1/usage")
            exposed = client.get("/metrics").text + client.get("/readyz").text
            stored = [part for key in admin.scan_iter("*") for part in (key, _dump(admin, key))]
            log = "\n".join(server.log)
        monitor.terminate()
        reader.join(20)
        monitor.stdout.close()
        monitor.wait(60)
    assert len(stored) > 4
    assert any("tallystick:count:" in line for line in seen)
    assert any("tallystick:ledger:" in line for line in seen)
    assert re.search(r'"route": ?"/v1/countTokens"', log)
    for where, text in (("values", repr(stored)), ("MONITOR", "".join(seen)), ("logs", log), ("metrics", exposed)):
        for form in (canary, canary.encode().hex(), canary[:8]):
            assert form not in text, where


def _bodies_with(canary: str) -> list[dict[str, Any]]:
    long = f"{canary} " + prose("canary", 40_000) + f" {canary}"
    tool = {"type": "function", "function": {
        "name": canary, "description": long,
        "parameters": {"type": "object", "properties": {canary: {"type": "string"}}},
    }}
    chat = {"model": f"claude-sonnet-4-5-{canary}", "messages": [{"role": "user", "content": long}], canary: long}
    return [
        {"model": "claude-sonnet-4-5", "request": chat},
        {"model": "gpt-4o", "request": {"messages": [{"role": "system", "content": long}], "tools": [tool]}},
        {"model": f"gpt-4o-{canary}", "text": long, canary: 1}, {"model": canary, "text": long},
        {"tokenizer": canary, "text": long}, {"tokenizer": "o200k_base", "texts": [long, canary, {canary: 1}]},
    ]


def _dump(admin: Any, key: bytes) -> Any:
    return admin.hgetall(key) if admin.type(key) == b"hash" else admin.get(key)
