"""What an instance needs: the memory of one, two and four workers that have counted, and the memory of Redis."""

from __future__ import annotations

import shutil

import httpx

from benchmarks.shared import COUNT, MODELS, metric, prose, server, wait_until
from benchmarks.soak import memory
from tests.support.live import LiveServer, running_server
from tests.support.redis_server import RedisServer, redis_server

WORKERS = (1, 2, 4)
TEXTS, STEP, TEXT_CHARS = 22_000, 2_000, 7_000
"""Shorter texts are counted again, never cached (service.counting.segments.CACHE_MIN_CHARS)."""

PROJECTS = 50

ROWS = "/v1/usage?group_by=project,model"


def run() -> None:
    workers()
    if shutil.which("redis-server") is None:
        print("Redis: needs redis-server on PATH")
        return
    with redis_server() as redis:
        cached_texts(redis)
    with redis_server() as redis:
        ledger(redis)


def workers() -> None:
    """Each worker counts for every provider first, so that everything is loaded when its memory is read."""
    taken: dict[int, float] = {}
    for number in WORKERS:
        with running_server(workers=number, keep_alive_seconds=1) as one:
            _use(one, number)
            resident, taken[number] = memory(one)
        print(f"memory, workers: {number} {taken[number]:9.0f} MiB   (what they share counted in each: {resident:.0f})")
    fewest, most = WORKERS[1], WORKERS[-1]
    print(f"each more worker     {(taken[most] - taken[fewest]) / (most - fewest):7.0f} MiB")


def _use(one: LiveServer, workers: int) -> None:
    for turn in range(20 * workers):  # a new connection each time: the system spreads them over the workers
        for model in MODELS:
            body = {"model": model, "text": prose((turn, model), TEXT_CHARS)}
            httpx.post(f"{one.url}{COUNT}", json=body, headers={"connection": "close"}).raise_for_status()


def cached_texts(redis: RedisServer) -> None:
    """With ask_redis=always. By default, texts that are counted faster than Redis answers are not stored in it."""
    with server(redis.url, ask_redis="always") as one, httpx.Client(base_url=one.url, timeout=60) as client:
        wait_until(lambda: metric(client, "tallystick_redis_up") == 1)
        with redis.client() as admin:
            used, keys, text = [], [], prose(0, TEXT_CHARS)
            for start in range(0, TEXTS, STEP):  # the first step also makes Redis take memory for connections
                texts = [f"{i} {text}" for i in range(start, start + STEP)]
                client.post(COUNT, json={"model": MODELS[0], "texts": texts}).raise_for_status()
                wait_until(lambda done=start + STEP: admin.dbsize() >= done)  # type: ignore[misc]
                used.append(admin.info("memory")["used_memory"])
                keys.append(admin.dbsize())
    print(f"Redis, a cached text {(used[-1] - used[0]) / (keys[-1] - keys[0]):7.0f} B     (of {TEXT_CHARS} characters)")


def ledger(redis: RedisServer) -> None:
    names = [f"project-{i}" for i in range(PROJECTS)]
    rows = PROJECTS * len(MODELS)
    with server(redis.url, projects=",".join(names)) as one, httpx.Client(base_url=one.url, timeout=60) as client:
        for name in names:
            for model in MODELS:
                body = {"model": model, "text": "Hello, world!"}
                client.post(COUNT, json=body, headers={"x-tallystick-project": name}).raise_for_status()
        with redis.client() as admin:
            wait_until(lambda: len(client.get(ROWS).json()["rows"]) == rows)
            kept = [key for key in admin.scan_iter("tallystick:ledger:*") if admin.type(key) == b"hash"]
            used = sum(admin.memory_usage(key) or 0 for key in kept)
    print(f"Redis, a ledger row  {used / rows:7.0f} B     (a quarter of an hour, a project and a model; {rows} rows)")
