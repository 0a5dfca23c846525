"""Budgets of a real server whose Redis hangs: they wait, and nothing else waits for them."""

from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.server.test_workers_live import until
from tests.support.live import HTTP, running_server
from tests.support.redis_server import FaultyProxy, redis_server

pytestmark = [
    pytest.mark.redis,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not on PATH"),
]


def test_budgets_that_wait_for_redis_hold_no_thread_that_counts(tmp_path: Path) -> None:
    budgets = tmp_path / "budgets.toml"
    budgets.write_text('[budgets.team]\nlimit_tokens = 1000000\nper = "total"\n')
    text = {"model": "gpt-4o", "text": "A text that is counted in a thread. " * 10_000}
    with redis_server() as redis, FaultyProxy(redis.port) as proxy, running_server(
        redis_url=proxy.url, cache_secret="s" * 32, budgets_file=budgets, threads=1, warm="o200k_base"
    ) as server, httpx.Client(base_url=server.url, timeout=60) as client, ThreadPoolExecutor(3) as pool:

        def reserve() -> int:
            return HTTP.post(f"{server.url}/v1/budgets/team/reserve", json={"tokens": 1}, timeout=60).status_code

        def is_counted_while_they_wait(number: int) -> bool:
            until(lambda: {reserve() for _ in range(3)} == {200})
            proxy.fault = "hang"
            waiting = [pool.submit(reserve) for _ in range(3)]
            time.sleep(0.3)  # for them to have begun
            client.post("/v1/countTokens", json={**text, "text": f"{number} {text['text']}"}).raise_for_status()
            still_wait = any(not call.done() for call in waiting)
            assert {call.result() for call in waiting} == {503}
            proxy.fault = "none"
            return still_wait

        client.post("/v1/countTokens", json=text).raise_for_status()
        # They wait for two seconds. On a busy machine a count may take longer than that, but not five times.
        assert any(is_counted_while_they_wait(number) for number in range(5))
        until(lambda: reserve() == 200)
