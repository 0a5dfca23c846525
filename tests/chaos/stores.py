"""One Redis, Sentinel and Redis Cluster, each of real processes, and what can be done to them.

All servers write an append-only file. Redis gives its data to the system before it answers, so that a process that is
killed loses nothing (a machine that loses power may lose a second).
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.redis_server import RedisServer, free_port

Shape = Literal["server", "sentinel", "cluster"]

KEPT = ("--appendonly", "yes", "--appendfsync", "everysec")

FOLLOWED = ("--repl-diskless-sync-delay", "0", "--min-replicas-to-write", "1", "--min-replicas-max-lag", "2")
"""A master without replicas refuses writes. Otherwise a master that was away while another was promoted would continue,
and all writes of the ten seconds until the sentinels reach it would be lost."""

MASTER = "counts"
DOWN_MS = 1_000
"""After how long without an answer a node counts as dead, for sentinels and for the nodes of a cluster."""

TIMEOUT_SECONDS = 30.0


def until(true: Callable[[], bool], what: str, seconds: float = TIMEOUT_SECONDS) -> float:
    """Wait until it is true. Returns the seconds that it took. Raises RuntimeError when the time is over."""
    began = time.monotonic()
    while not true():
        if time.monotonic() - began > seconds:
            raise RuntimeError(f"it did not happen in {seconds:g} s: {what}")
        time.sleep(0.02)
    return time.monotonic() - began


@dataclass
class Store:
    """A store. `servers` keep the data, `guards` are sentinels."""

    shape: Shape
    servers: Sequence[RedisServer]
    guards: Sequence[RedisServer] = ()

    @property
    def url(self) -> str:
        """The URL for the settings of a service."""
        nodes = ",".join(f"127.0.0.1:{one.port}" for one in (self.guards or self.servers))
        return {
            "server": f"redis://{nodes}/0", "sentinel": f"redis+sentinel://{nodes}/{MASTER}",
            "cluster": f"redis+cluster://{nodes}",
        }[self.shape]

    @property
    def masters(self) -> list[RedisServer]:
        """The servers that take writes now."""
        return [one for one in self.servers if is_master(one)]

    def cpu_seconds(self) -> float:
        """Whether each server says that it is connected to its master."""
        total = 0.0
        for one in self.servers:
            with one.client() as client:
                info: Any = client.info("cpu")
                total += info["used_cpu_user"] + info["used_cpu_sys"]
        return total


def is_master(server: RedisServer) -> bool:
    """Whether it says so. False for a server that is gone or hangs."""
    if server.process is None:
        return False
    once = Retry(NoBackoff(), 0)
    with server.client(socket_timeout=1, socket_connect_timeout=1, retry=once) as client, suppress(redis.RedisError):
        role: Any = client.role()
        return bool(role[0] == b"master")
    return False


@contextmanager
def open_store(shape: Shape, environment: dict[str, str] | None = None) -> Iterator[Store]:
    """Servers that agree on who is master. They are ended at the end. `environment` is for the process of one Redis."""
    with ExitStack() as stack:
        yield {"server": _one, "sentinel": _sentinel, "cluster": _cluster}[shape](stack, environment or {})


def pause(server: RedisServer) -> None:
    """Make it hang: it keeps its connections and does not answer."""
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGSTOP)


def resume(server: RedisServer) -> None:
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGCONT)


# ---------------------------------------------------------------- starting


def _server(stack: ExitStack, *arguments: str) -> RedisServer:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="chaos-redis-"))
    server = RedisServer(free_port(), Path(folder), (*KEPT, *arguments))
    stack.callback(server.stop)
    server.start()
    return server


def _one(stack: ExitStack, environment: dict[str, str]) -> Store:
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        return Store("server", [_server(stack)])
    finally:
        os.environ.clear()
        os.environ.update(before)


def _sentinel(stack: ExitStack, _: dict[str, str]) -> Store:
    """A master, two replicas, and three sentinels, of which two must agree."""
    master = _server(stack, *FOLLOWED)
    replicas = [_server(stack, "--replicaof", f"127.0.0.1 {master.port}", *FOLLOWED) for _ in range(2)]
    for replica in replicas:
        until(lambda replica=replica: _replicates(replica), "a replica follows")  # type: ignore[misc]
    guards = [_guard(stack, master.port) for _ in range(3)]
    for guard in guards:
        until(lambda guard=guard: _knows(guard), "the sentinels know each other")  # type: ignore[misc]
    return Store("sentinel", [master, *replicas], guards)


def _guard(stack: ExitStack, port_of_master: int) -> RedisServer:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chaos-sentinel-")))
    guard = RedisServer(free_port(), folder, ())
    config = folder / "sentinel.conf"
    config.write_text(
        f"port {guard.port}\nbind 127.0.0.1\ndir {folder}\n"
        f"sentinel monitor {MASTER} 127.0.0.1 {port_of_master} 2\n"
        f"sentinel down-after-milliseconds {MASTER} {DOWN_MS}\nsentinel failover-timeout {MASTER} 3000\n"
        f"sentinel parallel-syncs {MASTER} 2\n"
    )
    with (folder / "log").open("wb") as log:
        guard.process = subprocess.Popen(
            ["redis-server", str(config), "--sentinel"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )
    stack.callback(guard.stop)
    until(guard._answers, "the sentinel answers")
    return guard


def _replicates(replica: RedisServer) -> bool:
    with replica.client() as client:
        info: Any = client.info("replication")
        return bool(info.get("master_link_status") == "up")


def _knows(guard: RedisServer) -> bool:
    with guard.client() as client:
        state: Any = client.sentinel_master(MASTER)
        return bool(state["num-other-sentinels"] == 2 and state["num-slaves"] == 2)


def _cluster(stack: ExitStack, _: dict[str, str]) -> Store:
    """Three masters that share the slots, and a replica for each."""
    nodes = [
        _server(stack, "--cluster-enabled", "yes", "--cluster-port", str(free_port()),
                "--cluster-node-timeout", str(DOWN_MS), "--cluster-replica-validity-factor", "0",
                "--repl-diskless-sync-delay", "0")
        for _ in range(6)
    ]
    subprocess.run(
        ["redis-cli", "--cluster", "create", *(f"127.0.0.1:{node.port}" for node in nodes), "--cluster-replicas", "1",
         "--cluster-yes"],
        check=True, capture_output=True, timeout=TIMEOUT_SECONDS,
    )
    for node in nodes:
        until(lambda node=node: agrees(node), "the nodes agree")  # type: ignore[misc]
    return Store("cluster", nodes)


def agrees(node: RedisServer) -> bool:
    """Whether a node reports that the cluster is complete, with six nodes and all slots."""
    with node.client() as client:
        ask: Any = client.execute_command
        info: Any = ask("CLUSTER INFO")
        known: Any = client.info("replication")
    linked = known["role"] == "master" or known.get("master_link_status") == "up"
    return bool(info["cluster_state"] == "ok" and int(info["cluster_known_nodes"]) == 6 and linked)
