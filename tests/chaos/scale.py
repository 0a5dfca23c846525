"""Requests a second with one worker and with two, what a request costs Redis, and what 50 replicas need of Redis.

The machine has few cores, and the client needs one. So processor time is measured, separately for the service, Redis
and the client. It can be compared with other machines; requests a second cannot.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx

from benchmarks import texts
from benchmarks.client import Template, drive
from benchmarks.rates import GPT, PATHS, chat_body, text_body
from benchmarks.servers import CLIENT_CORE, SERVER_CORE, pin_to_core
from benchmarks.shared import COUNT, conversation
from tests.chaos import replicas
from tests.chaos.instances import Instance
from tests.chaos.replicas import Share
from tests.chaos.stores import Store, until
from tests.chaos.topology import BUDGET, Topology, open_topology

AS_DEPLOYED: dict[str, Any] = {"inline_bytes": 65_536, "ask_redis": "worthwhile"}
"""The default values of settings that the fault suite changes."""

SECONDS = 2.0
CONNECTIONS = 16
IDLE_SECONDS = 4.0

LONG_BYTES = 100_000
"""Size of a text that is counted in a thread, which may ask Redis."""

MOST = 300
"""How many requests a row has when its bodies are long."""

TURNS = 60

SHAPES: dict[str, tuple[Callable[[str, int], texts.Body], int]] = {
    "450 B text": (text_body, 450), "20 KB chat": (chat_body, 20_000), "200 KB chat": (chat_body, 200_000),
}


def run() -> str:
    """Prints its progress. Returns the text of the section."""
    lines: list[str] = []

    def say(line: str) -> None:
        print(f"  {line}", flush=True)
        lines.append(line)

    rates(say)
    say("")
    shares, keeps = of_redis(say)
    say("")
    replicas.say_needs(shares, keeps, say)
    return "```text\n" + "\n".join(lines) + "\n```"


# ---------------------------------------------------------------- requests a second


def rates(say: Callable[[str], None]) -> None:
    say("us of processor time a request; one worker has a core and the client the other, two share both with it")
    say(f"{'workers':<9}{'':<14}{'requests/s':>11}{'service':>9}{'Redis':>8}{'client':>8}{'with a core to itself':>22}")
    for workers in (1, 2):
        with ExitStack() as stack:
            core = SERVER_CORE if workers == 1 else None
            with pin_to_core(core):
                topology = stack.enter_context(
                    open_topology(proxy=False, instances=1, limited=False, workers=workers, **AS_DEPLOYED)
                )
            stack.enter_context(pin_to_core(CLIENT_CORE if workers == 1 else None))
            for name, (make, size) in SHAPES.items():
                say(f"{workers:<9}{name:<14}" + _rate(topology, texts.encode(make("native", size))))


def _rate(topology: Topology, body: bytes) -> str:
    instance = topology.instances[0]
    template = Template.post(PATHS["native"], body, topology.headers)
    drive(topology.url, template, connections=CONNECTIONS, seconds=0.3)
    before = instance.cpu_seconds(), topology.store.cpu_seconds(), time.process_time()
    load = drive(topology.url, template, connections=CONNECTIONS, seconds=SECONDS)
    after = instance.cpu_seconds(), topology.store.cpu_seconds(), time.process_time()
    service, redis, client = ((now - then) * 1e6 / len(load.latencies) for now, then in zip(after, before, strict=True))
    return f"{load.rate:>11,.0f}{service:>9,.0f}{redis:>8.1f}{client:>8.0f}{1e6 / service:>20,.0f}/s"


# ---------------------------------------------------------------- what Redis does for a request


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What Redis has done so far. `service` is the processor time of the service, in seconds."""

    at: float
    calls: int
    sent: int
    cpu: float
    service: float

    def minus(self, other: Snapshot) -> Snapshot:
        return Snapshot(
            self.at - other.at, self.calls - other.calls, self.sent - other.sent, self.cpu - other.cpu,
            self.service - other.service,
        )


CALLS = ("eval", "evalsha", "get", "set", "hgetall", "incr", "script")
"""Commands that the service sends. Others are sent by its scripts inside Redis, or by this program."""


def snapshot(store: Store, instances: Sequence[Instance]) -> Snapshot:
    with store.servers[0].client() as client:
        stats: Any = client.info("commandstats")
        net: Any = client.info("stats")
        cpu: Any = client.info("cpu")
    calls = sum(row["calls"] for name, row in stats.items() if name.removeprefix("cmdstat_") in CALLS)
    return Snapshot(
        time.monotonic(), calls, net["total_net_input_bytes"] + net["total_net_output_bytes"],
        cpu["used_cpu_user"] + cpu["used_cpu_sys"], sum(one.cpu_seconds() for one in instances),
    )


def of_redis(say: Callable[[str], None]) -> tuple[list[Share], replicas.Keeps]:
    """What Redis does for each kind of request, what it stores, and its open connections."""
    with open_topology(proxy=False, limited=False, **AS_DEPLOYED) as topology:
        idle = _idle(topology)
        workers = sum(len(one.workers) for one in topology.instances)
        say("what Redis does for a request, by the defaults (asked where counting would take longer than asking)")
        say(f"{'':<44}{'calls':>9}{'bytes':>8}{'us Redis':>9}{'us service':>11}")
        say(f"{'each worker a second, doing nothing':<44}{idle.calls / workers:>9.2f}{idle.sent / workers:>8.0f}"
            f"{1e6 * idle.cpu / workers:>9.1f}{1e6 * idle.service / workers:>11.0f}")
        shares = []
        for name, work in _WORK.items():
            shares.append(_measure(topology, idle, name, work))
            say(shares[-1].line())
        keeps = _keeps(topology, idle.calls / workers)
    with open_topology(proxy=False, limited=True, **AS_DEPLOYED) as topology:
        shares.append(_measure(topology, _idle(topology), "450 B text, with a rate of requests and tokens", _short))
        say(shares[-1].line())
    return shares, keeps


def _idle(topology: Topology) -> Snapshot:
    """What Redis does in a second without requests."""
    before = snapshot(topology.store, topology.instances)
    time.sleep(IDLE_SECONDS)
    done = snapshot(topology.store, topology.instances).minus(before)
    return Snapshot(1.0, round(done.calls / done.at), round(done.sent / done.at), done.cpu / done.at,
                    done.service / done.at)


def _measure(topology: Topology, idle: Snapshot, name: str, work: Callable[[Topology], int]) -> Share:
    """The cost of one request: what all of them cost, without what is done when there are no requests."""
    before = snapshot(topology.store, topology.instances)
    requests = work(topology)
    until(lambda: all(one.metric("tallystick_redis_write_queue") == 0 for one in topology.instances), "all is written")
    time.sleep(1.2)  # the ledger's turn
    done = snapshot(topology.store, topology.instances).minus(before)

    def each(value: float, background: float) -> float:
        return max(0.0, value - background * done.at) / requests

    return Share(
        name, each(done.calls, idle.calls), each(done.sent, idle.sent), 1e6 * each(done.cpu, idle.cpu),
        1e6 * each(done.service, idle.service),
    )


def _keeps(topology: Topology, background: float) -> replicas.Keeps:
    with topology.store.servers[0].client() as client:
        keys = list(client.scan_iter("tallystick:count:*", count=10_000))[:1_000]
        pipeline = client.pipeline(transaction=False)
        for key in keys:
            pipeline.memory_usage(key)
        sizes = pipeline.execute()
        clients: Any = client.info("clients")
    workers = sum(len(one.workers) for one in topology.instances)
    return replicas.Keeps(sum(sizes) / max(1, len(sizes)), (clients["connected_clients"] - 1) / workers, background)


# ---------------------------------------------------------------- kinds of requests


def _driven(topology: Topology, body: texts.Body, seconds: float = 1.5) -> int:
    template = Template.post(PATHS["native"], texts.encode(body), topology.headers)
    return len(drive(topology.url, template, connections=8, seconds=seconds).latencies)


def _short(topology: Topology) -> int:
    return _driven(topology, text_body("native", 450))


def _chat(topology: Topology) -> int:
    return _driven(topology, chat_body("native", 20_000))


def _grown(topology: Topology) -> int:
    """The process has counted all messages but the last."""
    return _driven(topology, chat_body("native", 200_000))


NUMBERS = count(random.randrange(10**9))


def _long(number: int) -> bytes:
    """The texts differ from the first word on."""
    return json.dumps({"model": GPT, "text": f"Document {number:012d}. {texts.prose(LONG_BYTES)}"}).encode()


def _post(instance: Instance, bodies: Iterator[bytes] | Sequence[bytes], headers: dict[str, str]) -> int:
    number = 0
    with httpx.Client(base_url=instance.url, headers=headers, timeout=60) as client:
        for body in bodies:
            client.post(COUNT, content=body).raise_for_status()
            number += 1
    return number


_SENT: list[bytes] = []


def _new_kept(topology: Topology) -> int:
    _SENT[:] = [_long(next(NUMBERS)) for _ in range(MOST)]
    return _post(topology.instances[0], _SENT, topology.headers)


def _elsewhere(topology: Topology) -> int:
    """The other instance has counted each of them."""
    return _post(topology.instances[1], _SENT, topology.headers)


def _again(topology: Topology) -> int:
    return _post(topology.instances[0], _SENT[:10] * 30, topology.headers)


def _wandering(topology: Topology) -> int:
    """A conversation of 100 messages of 1 KB and more. The two instances answer its turns alternately."""
    seed = next(NUMBERS)
    bodies = [conversation("claude-sonnet-4-5", 100 + turn, seed) for turn in range(TURNS)]
    return sum(_post(topology.instances[turn % 2], [body], topology.headers) for turn, body in enumerate(bodies))


def _spent(topology: Topology) -> int:
    with httpx.Client(base_url=topology.url, headers=topology.headers, timeout=60) as client:
        for _ in range(MOST):
            lease = client.post(f"/v1/budgets/{BUDGET}/reserve", json={"tokens": 100}).json()["lease_id"]
            client.post(f"/v1/budgets/{BUDGET}/settle", json={"lease_id": lease, "tokens": 90}).raise_for_status()
    return MOST


_WORK: dict[str, Callable[[Topology], int]] = {
    "450 B text, new": _short,
    "20 KB chat, new last message": _chat,
    "200 KB chat, grown by a message, same process": _grown,
    "100 KB text, new": _new_kept,
    "100 KB text, counted by another replica": _elsewhere,
    "100 KB text, seen before": _again,
    "100+ KB chat, each turn on another replica": _wandering,
    "a lease: reserve and settle": _spent,
}
