"""Redis in its three shapes, each of real processes of ours, and what can be done to them.

All keep an append-only file: what Redis has answered is then in the system's hands before the answer is sent, so that a
process that is killed has lost nothing (a machine that loses power may lose a second).
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
"""A master that nobody follows takes no writes: one that was away while another was promoted would go on, and all that
it took in the ten seconds until the sentinels reach it would be lost."""

MASTER = "counts"
DOWN_MS = 1_000
"""How long a node is silent before others take it for dead: sentinels and nodes of a cluster alike."""

TIMEOUT_SECONDS = 30.0


def until(true: Callable[[], bool], what: str, seconds: float = TIMEOUT_SECONDS) -> float:
    """Wait for it; the seconds it took. Raises RuntimeError where it never is."""
    began = time.monotonic()
    while not true():
        if time.monotonic() - began > seconds:
            raise RuntimeError(f"it did not happen in {seconds:g} s: {what}")
        time.sleep(0.02)
    return time.monotonic() - began


@dataclass
class Store:
    """`servers` keep data, `guards` are sentinels."""

    shape: Shape
    servers: Sequence[RedisServer]
    guards: Sequence[RedisServer] = ()

    @property
    def url(self) -> str:
        """What a service is told."""
        nodes = ",".join(f"127.0.0.1:{one.port}" for one in (self.guards or self.servers))
        return {
            "server": f"redis://{nodes}/0", "sentinel": f"redis+sentinel://{nodes}/{MASTER}",
            "cluster": f"redis+cluster://{nodes}",
        }[self.shape]

    @property
    def masters(self) -> list[RedisServer]:
        """Those that take writes now."""
        return [one for one in self.servers if is_master(one)]

    def cpu_seconds(self) -> float:
        """Of all servers, as each tells itself."""
        total = 0.0
        for one in self.servers:
            with one.client() as client:
                info: Any = client.info("cpu")
                total += info["used_cpu_user"] + info["used_cpu_sys"]
        return total


def is_master(server: RedisServer) -> bool:
    """Whether it says so; one that is gone or hangs says nothing."""
    if server.process is None:
        return False
    once = Retry(NoBackoff(), 0)
    with server.client(socket_timeout=1, socket_connect_timeout=1, retry=once) as client, suppress(redis.RedisError):
        role: Any = client.role()
        return bool(role[0] == b"master")
    return False


@contextmanager
def open_store(shape: Shape, environment: dict[str, str] | None = None) -> Iterator[Store]:
    """Running and agreed; ended at the end, however it is then. `environment` is for one server's process."""
    with ExitStack() as stack:
        yield {"server": _one, "sentinel": _sentinel, "cluster": _cluster}[shape](stack, environment or {})


def pause(server: RedisServer) -> None:
    """It holds its connections and answers nothing."""
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
    """A master, two replicas, three sentinels of which two must agree."""
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
    """Three masters that share the slots, and a replica of each."""
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
    """Whether a node thinks that the cluster is whole: six nodes, all slots."""
    with node.client() as client:
        ask: Any = client.execute_command
        info: Any = ask("CLUSTER INFO")
        known: Any = client.info("replication")
    linked = known["role"] == "master" or known.get("master_link_status") == "up"
    return bool(info["cluster_state"] == "ok" and int(info["cluster_known_nodes"]) == 6 and linked)
