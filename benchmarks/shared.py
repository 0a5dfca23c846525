"""What the caches save, and what a failing Redis costs: a growing conversation, a burst, latency under each fault."""

from __future__ import annotations

import json
import random
import shutil
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from itertools import count
from typing import Any

import httpx

from tests.support.live import LiveServer, running_server
from tests.support.redis_server import Fault, FaultyProxy, RedisServer, redis_server

COUNT = "/v1/countTokens"
SECRET = "benchmark-secret-benchmark-secret"
MODELS = ("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-flash")
CONNECTIONS = 4
SECONDS = 3.0
FAULTS: tuple[Fault, ...] = ("hang", "refuse", "delay")

WORDS = ("the", "of", "parser", "token", "request", "caf\u00e9", "return", "42", "x_y", "{a: 1}", "don't", "\ud55c")


def prose(seed: object, size: int) -> str:
    rand = random.Random(str(seed))
    lines: list[str] = []
    written = 0
    while written < size:
        lines.append(" ".join(rand.choices(WORDS, k=12)) + ".")
        written += len(lines[-1]) + 1
    return "\n".join(lines)


def conversation(model: str, messages: int, seed: object = 0) -> bytes:
    """About 1 KB a message."""
    said = [{"role": "assistant" if i % 2 else "user", "content": prose((seed, i), 1_000)} for i in range(messages)]
    return json.dumps({"model": model, "request": {"messages": said}}).encode()


def server(redis_url: str | None = None, **settings: Any) -> AbstractContextManager[LiveServer]:
    shared = {"redis_url": redis_url, "cache_secret": SECRET} if redis_url else {}
    return running_server(**{"warm": "o200k_base,claude-v3,gemma3", **shared, **settings})


def metric(client: httpx.Client, name: str) -> float:
    """The sum of all series of a metric."""
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))


def timed(client: httpx.Client, body: bytes) -> tuple[float, float]:
    """Milliseconds until the response, and bytes that were tokenized for it."""
    before = metric(client, "tallystick_tokenized_bytes_total")
    began = time.perf_counter()
    answer = client.post(COUNT, content=body)
    seconds = time.perf_counter() - began
    answer.raise_for_status()
    return 1000 * seconds, metric(client, "tallystick_tokenized_bytes_total") - before


def run() -> None:
    if shutil.which("redis-server") is None:
        print("needs redis-server on PATH")
        return
    with redis_server() as redis:
        grown_conversation(redis)
        burst()
        faults(redis)


def grown_conversation(redis: RedisServer) -> None:
    print("200 messages of 1 KB, then 201, then 202 in another process through Redis (asked whatever it costs)")
    with ExitStack() as stack:
        one, other = (stack.enter_context(server(redis.url, ask_redis="always")) for _ in range(2))
        first, second = (stack.enter_context(httpx.Client(base_url=s.url, timeout=60)) for s in (one, other))
        for client in (first, second):
            wait_until(lambda client=client: metric(client, "tallystick_redis_up") == 1)  # type: ignore[misc]
            for model in MODELS:
                client.post(COUNT, content=conversation(model, 20, "warm"))
        for model in MODELS:
            rows = [timed(first, conversation(model, 200)), timed(first, conversation(model, 201))]
            wait_until(lambda: metric(first, "tallystick_redis_write_queue") == 0)
            rows.append(timed(second, conversation(model, 202)))
            shown = "   ".join(f"{ms:6.1f} ms {size:9,.0f} B ({size / rows[0][1]:6.2%})" for ms, size in rows)
            print(f"  {model:20} {shown}")


def burst() -> None:
    body = json.dumps({"model": "claude-sonnet-4-5", "text": prose("burst", 1_000_000)}).encode()
    with server() as one, httpx.Client(base_url=one.url, timeout=60) as client, ThreadPoolExecutor(50) as pool:
        before = metric(client, "tallystick_tokenized_texts_total")
        began = time.perf_counter()
        answers = list(pool.map(lambda _: client.post(COUNT, content=body), range(200)))
        seconds = time.perf_counter() - began
        made = metric(client, "tallystick_tokenized_texts_total") - before
    right = len({answer.content for answer in answers}) == 1 and answers[0].status_code == 200
    print(
        f"200 identical requests of 1 MB at once, cold: {made:.0f} texts tokenized (its parts), {seconds:.2f} s, "
        f"all right: {right}"
    )


def faults(redis: RedisServer) -> None:
    print(f"60 KB conversations, half of them new, {CONNECTIONS} connections, {SECONDS:g} s each: ms with Redis, and")
    print("in the same seconds ms of a server that has no cache at all")
    with server(cache_bytes=0) as plain:
        for ask in ("worthwhile", "always"):
            with FaultyProxy(redis.port) as proxy, server(proxy.url, ask_redis=ask) as shared:
                with httpx.Client(base_url=shared.url) as client:
                    wait_until(lambda: metric(client, "tallystick_redis_up") == 1)
                for name, fault in _faults(redis, proxy):
                    with fault:
                        _measure(f"{ask}, {name}", (shared, plain))


def _faults(redis: RedisServer, proxy: FaultyProxy) -> Iterator[tuple[str, AbstractContextManager[None]]]:
    yield "healthy", _set(lambda: None, lambda: None)
    for fault in FAULTS:
        yield fault, _set(partial(setattr, proxy, "fault", fault), partial(setattr, proxy, "fault", "none"))
    yield "restarted", _set(lambda: threading.Timer(SECONDS / 3, _restart, (redis,)).start(), lambda: None)
    with redis.client() as admin:
        yield "full", _set(lambda: admin.config_set("maxmemory", "1"), lambda: admin.config_set("maxmemory", "0"))
        yield "read-only", _set(lambda: admin.replicaof("127.0.0.1", "1"), lambda: admin.replicaof("NO", "ONE"))


def _restart(redis: RedisServer) -> None:
    redis.stop()
    redis.start()


@contextmanager
def _set(begin: Callable[[], object], end: Callable[[], object]) -> Iterator[None]:
    begin()
    try:
        yield
    finally:
        end()
        time.sleep(0.5)


def _measure(name: str, servers: Sequence[LiveServer]) -> None:
    """Each connection asks the servers in turn, so that whatever else the machine does affects all of them alike."""
    bodies = [conversation(model, 60, (name, i)) for i in range(10) for model in MODELS]
    seconds: list[list[float]] = [[] for _ in servers]
    bad = 0
    numbers, deadline = count(), time.monotonic() + SECONDS

    def work(clients: Sequence[httpx.Client]) -> None:
        nonlocal bad
        while time.monotonic() < deadline:
            number = next(numbers)
            body = bodies[number % len(bodies)]
            # Every other conversation differs from its first message on, so that none of it is cached. The others
            # differ in one field at the end.
            new = body.replace(b'"content": "', b'"content": "%d ' % number, 1)
            body = new if number % 2 else body[:-1] + b', "number": %d}' % number
            for which, client in enumerate(clients):
                began = time.perf_counter()
                bad += client.post(COUNT, content=body).status_code != 200
                seconds[which].append(1000 * (time.perf_counter() - began))

    with ExitStack() as stack:
        clients = [stack.enter_context(httpx.Client(base_url=one.url, timeout=60)) for one in servers]
        pool = stack.enter_context(ThreadPoolExecutor(CONNECTIONS))
        for done in [pool.submit(work, clients) for _ in range(CONNECTIONS)]:
            done.result()
    shown = "   |   ".join(
        f"median {statistics.median(one):6.1f}  p99 {sorted(one)[int(0.99 * len(one))]:6.1f}  longest {max(one):6.1f}"
        for one in seconds
    )
    print(f"  {name:24} {shown}   {len(seconds[0])} answers each, {bad} not 200")


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("the condition was not met within 30 s")
        time.sleep(0.05)
