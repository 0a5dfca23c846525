"""The faults: how each is caused, and what a client has to do about it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.chaos import abuse
from tests.chaos.instances import is_running, wait_until_ready
from tests.chaos.kinds import Kind
from tests.chaos.measure import Fault
from tests.chaos.stores import Store, agrees, is_master, pause, resume, until
from tests.chaos.topology import Topology
from tests.support.redis_server import RedisServer

OUT_SECONDS = 4.0
"""How long something is gone or hangs: several times the longest timeout that is involved."""

AGAIN = "to ask again for a budget until a replica takes over"
AGAIN_OR_FORGOTTEN = f"{AGAIN}; Redis forgets what its old master took in the moment it went on"

# ---------------------------------------------------------------- the service


def kill_workers(topology: Topology, _: Sequence[Kind]) -> None:
    """Kill a worker of each instance, one after the other."""
    for instance in topology.instances:
        victim = instance.workers[0]
        os.kill(victim, signal.SIGKILL)
        until(lambda: victim not in instance.workers and instance.is_healthy(), "a worker was replaced")  # noqa: B023


def kill_parent(topology: Topology, _: Sequence[Kind]) -> None:
    """Kill the parent alone. Its workers notice it, finish their requests and end."""
    instance = topology.instances[0]
    workers = instance.workers
    os.kill(instance.parent, signal.SIGKILL)
    assert instance.server is not None
    instance.server.process.wait()
    until(lambda: not any(is_running(worker) for worker in workers), "workers end with their parent")
    instance.start()


def kill_instance(topology: Topology, _: Sequence[Kind]) -> None:
    topology.instances[0].kill()
    time.sleep(OUT_SECONDS / 2)
    topology.instances[0].start()


def roll(topology: Topology, _: Sequence[Kind]) -> None:
    """Restart the instances as an orchestrator does: the next one when the one before is ready."""
    for instance in topology.instances:
        instance.terminate()
        instance.start()
        wait_until_ready([instance])


# ---------------------------------------------------------------- one Redis


def kill_redis(topology: Topology, _: Sequence[Kind]) -> None:
    server = topology.store.servers[0]
    server.stop()
    time.sleep(OUT_SECONDS)
    server.start()


def hang_redis(topology: Topology, _: Sequence[Kind]) -> None:
    _hang(topology.store.servers[0])


def fill_redis(topology: Topology, _: Sequence[Kind]) -> None:
    """Redis refuses writes and answers reads."""
    with topology.store.servers[0].client() as client:
        info: Any = client.info("memory")
        client.config_set("maxmemory", info["used_memory"])
        time.sleep(OUT_SECONDS)
        client.config_set("maxmemory", 0)


def _hang(server: RedisServer) -> None:
    pause(server)
    try:
        time.sleep(OUT_SECONDS)
    finally:
        resume(server)


SERVICE: tuple[Fault, ...] = (
    Fault("kill -9 a worker of each instance", kill_workers,
          "the proxy asks another instance; up to a second of the ledger dies with a worker", kills=True),
    Fault("kill -9 the parent of an instance", kill_parent,
          "its workers finish and end by themselves; what is sent to it while it starts waits for it", kills=True),
    Fault("kill -9 an instance, all of it", kill_instance, "as above", kills=True),
    Fault("SIGTERM, rolling restart of both", roll, "to reserve again where the connection had just closed"),
)

REDIS: tuple[Fault, ...] = (
    Fault("kill -9 Redis, back after 4 s", kill_redis, "to ask again for a budget (503, Retry-After)"),
    Fault("Redis hangs for 4 s", hang_redis, "to ask again for a budget (503, Retry-After)"),
    Fault("Redis full for 4 s, no eviction", fill_redis, "to ask again for a budget (503, Retry-After)"),
)

CLIENTS: tuple[Fault, ...] = (
    Fault("slow clients: bodies and readers", abuse.slow_clients, "theirs: 408 after TALLYSTICK_BODY_SECONDS"),
    Fault("half-open and idle connections", abuse.half_open, "theirs: closed after TALLYSTICK_HEADER_SECONDS"),
    Fault("a flood of 1 MB bodies", abuse.flood, "of the flood: to wait, or to come again where it is refused (503)"),
)

# ---------------------------------------------------------------- sentinels


def kill_master(topology: Topology, _: Sequence[Kind]) -> None:
    """The sentinels agree that the master is gone and promote a replica. The old master comes back as a replica."""
    (master,) = topology.store.masters
    others = [one for one in topology.store.servers if one is not master]
    master.stop()
    until(lambda: _is_followed(others), "a replica is promoted")
    master.start()
    until(lambda: len(topology.store.masters) == 1 and _follows(master), "the old master follows the new one")


def hang_master(topology: Topology, _: Sequence[Kind]) -> None:
    """The master hangs until a replica was promoted and the others follow it. Then it continues as a master."""
    _hang_master(topology.store, _is_followed)


def hang_master_briefly(topology: Topology, _: Sequence[Kind]) -> None:
    """The master continues as soon as a replica was promoted, while another replica still follows the old one."""
    _hang_master(topology.store, lambda others: any(is_master(one) for one in others))


def _hang_master(store: Store, is_over: Callable[[Sequence[RedisServer]], bool]) -> None:
    (master,) = store.masters
    others = [one for one in store.servers if one is not master]
    pause(master)
    try:
        until(lambda: is_over(others), "a replica is promoted")
    finally:
        resume(master)
    until(lambda: _follows(master), "the old master follows the new one")


def _is_followed(servers: Sequence[RedisServer]) -> bool:
    """Whether a failover is complete: all servers but one follow that one."""
    return sum(_follows_one_of(one, servers) for one in servers) == len(servers) - 1


def _follows_one_of(server: RedisServer, others: Sequence[RedisServer]) -> bool:
    with server.client() as client:
        info: Any = client.info("replication")
    return info["role"] == "slave" and info["master_link_status"] == "up" and (
        info["master_port"] in {one.port for one in others}
    )


def _follows(server: RedisServer) -> bool:
    with server.client() as client:
        info: Any = client.info("replication")
        return bool(info["role"] == "slave" and info["master_link_status"] == "up")


SENTINEL: tuple[Fault, ...] = (
    Fault("Sentinel: kill -9 the master", kill_master, AGAIN),
    Fault("Sentinel: the master hangs", hang_master, AGAIN_OR_FORGOTTEN, forgets=True),
    Fault("Sentinel: it hangs, and is back amid the failover", hang_master_briefly,
          "as above; Redis forgets what its old master took until the last replica had left it", forgets=True),
)

# ---------------------------------------------------------------- a cluster


def kill_node(topology: Topology, _: Sequence[Kind]) -> None:
    """Kill the master that has the budget. Its replica takes over."""
    master = _of_budget(topology.store)
    master.stop()
    until(lambda: len(topology.store.masters) == 3, "the replica takes over")
    master.start()
    _whole(topology.store)


def hang_node(topology: Topology, _: Sequence[Kind]) -> None:
    master = _of_budget(topology.store)
    pause(master)
    try:
        others = [one for one in topology.store.servers if one is not master]
        until(lambda: sum(is_master(one) for one in others) == 3, "the replica takes over")
    finally:
        resume(master)
    _whole(topology.store)


def hang_node_shortly(topology: Topology, _: Sequence[Kind]) -> None:
    """The master hangs too shortly for a replica to take over, but longer than clients wait. They ask again, so the
    node finds their commands twice when it continues."""
    before = [_timeout_of(one, 15_000) for one in topology.store.servers]
    _hang(_of_budget(topology.store))
    for one, value in zip(topology.store.servers, before, strict=True):
        _timeout_of(one, value)
    _whole(topology.store)


def _timeout_of(node: RedisServer, milliseconds: int) -> int:
    """Set after how many milliseconds a node counts as dead. Returns the old value."""
    with node.client() as client:
        before: Any = client.config_get("cluster-node-timeout")
        client.config_set("cluster-node-timeout", milliseconds)
    return int(before["cluster-node-timeout"])


def fail_over(topology: Topology, _: Sequence[Kind]) -> None:
    """Make a replica take over, as before maintenance."""
    master = _of_budget(topology.store)
    for replica in topology.store.servers:
        with replica.client() as client:
            info: Any = client.info("replication")
            if info["role"] == "slave" and info["master_port"] == master.port:
                tell: Any = client.execute_command
                tell("CLUSTER", "FAILOVER")
                break
    until(lambda: is_master(replica), "the replica takes over")
    _whole(topology.store)


def _of_budget(store: Store) -> RedisServer:
    """The master that has the budgets: the one with their key."""
    for master in store.masters:
        with master.client() as client:
            if next(iter(client.scan_iter("tallystick:budget:*", count=10_000)), None) is not None:
                return master
    raise RuntimeError("no node has a budget")


def _whole(store: Store) -> None:
    until(lambda: all(agrees(one) for one in store.servers), "the nodes agree")


CLUSTER: tuple[Fault, ...] = (
    Fault("Cluster: kill -9 the node with the budget", kill_node, AGAIN),
    Fault("Cluster: that node hangs", hang_node, AGAIN_OR_FORGOTTEN, forgets=True),
    Fault("Cluster: that node hangs, but not for long", hang_node_shortly, "to ask again for a budget"),
    Fault("Cluster: planned failover", fail_over),
)
