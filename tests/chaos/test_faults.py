"""Two faults in a short run: a worker that is killed, and a Redis that hangs. `make chaos` runs all of them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos import faults
from tests.chaos.kinds import learn
from tests.chaos.measure import Fault, measure, warm_up
from tests.chaos.topology import Topology, open_topology

pytestmark = [
    pytest.mark.redis,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not on PATH"),
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at /proc"),
]


def test_no_answer_is_wrong_or_lost_when_a_worker_dies_and_when_redis_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a proxy, a client whose connection broke retries once, as a proxy would."""
    monkeypatch.setattr(faults, "OUT_SECONDS", 1.5)
    kinds = learn(19_800)
    with open_topology(proxy=False, instances=1, warm="o200k_base,gemma3,claude-v3,claude-v4.8") as topology:
        warm_up(topology, kinds, 0.5)
        killed = measure(topology, kinds, Fault("a worker", faults.kill_workers, kills=True), again=1, around=0.5)
        hung = measure(topology, kinds, Fault("Redis", faults.hang_redis), again=1, around=0.5)
        doctored = [replace(one, content=one.content + b" ") if one.name.startswith("20 KB") else one for one in kinds]
        wrong = measure(topology, doctored, Fault("another answer was known", lambda *_: None), around=0.3)
        left = processes(topology)
    for outcome in (killed, hung):
        assert outcome.problems == []
        assert outcome.seen.number("right") == len(outcome.seen.records) > 50
        assert outcome.spending.settled > 3
    assert hung.missing_calls == 0
    assert 0 < wrong.seen.number("wrong") < len(wrong.seen.records)
    assert any(problem.startswith("wrong or lost") for problem in wrong.problems)
    assert not [process for process in left if Path(f"/proc/{process}").exists()]


def processes(topology: Topology) -> list[int]:
    servers = [one.process.pid for one in topology.store.servers if one.process is not None]
    return [*servers, *(process for one in topology.instances for process in one.processes)]
