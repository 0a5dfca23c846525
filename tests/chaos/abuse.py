"""Clients that do harm: slow ones, some that disappear, and some that send more than their share."""

from __future__ import annotations

import json
import selectors
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import cycle

from benchmarks import texts
from benchmarks.client import Address
from benchmarks.rates import PATHS
from tests.chaos.kinds import Kind
from tests.chaos.load import Load, Seen
from tests.chaos.topology import Topology

SLOW_BODIES = 200
SLOW_READERS = 50
SLOW_SECONDS = 7.0
STEP_SECONDS = 0.25

HALF = 300
IDLE = 1_000
OPEN_SECONDS = 6.0

FLOODS = 8
FLOOD_SECONDS = 6.0


def _addresses(topology: Topology) -> Iterator[Address]:
    """The addresses of the proxy and of the instances. A proxy hides most such faults, but not everybody has one."""
    return cycle([Address.parse(topology.url), *(Address.parse(one.url) for one in topology.instances)])


@contextmanager
def _connections(topology: Topology, number: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection((to.host, to.port), timeout=10))
            for to, _ in zip(_addresses(topology), range(number), strict=False)
        ]


def _head(topology: Topology, path: str, size: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {topology.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    ).encode()


def slow_clients(topology: Topology, _: Sequence[Kind]) -> None:
    """Bodies that arrive byte by byte, and responses of a megabyte that are read a kilobyte at a time."""
    text = json.dumps({"model": "gpt-4o", "text": texts.prose(120_000)}).encode()
    with _connections(topology, SLOW_BODIES) as senders, _connections(topology, SLOW_READERS) as readers:
        for sender in senders:
            sender.sendall(_head(topology, PATHS["native"], 100_000) + b'{"model": "gpt-4o", "text": "')
        for reader in readers:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.sendall(_head(topology, "/v1/tokenize", len(text)) + text)
        until = time.monotonic() + SLOW_SECONDS
        while time.monotonic() < until:
            for sender in senders:
                with suppress(OSError):
                    sender.send(b"x")
            _sip(readers)
            time.sleep(STEP_SECONDS)


def _sip(readers: Sequence[socket.socket]) -> None:
    with selectors.DefaultSelector() as ready:
        for reader in readers:
            ready.register(reader, selectors.EVENT_READ)
        for found, _ in ready.select(0):
            with suppress(OSError):
                found.fileobj.recv(1024)  # type: ignore[union-attr]


def half_open(topology: Topology, _: Sequence[Kind]) -> None:
    """Requests whose rest never comes, from clients that disappear with a reset or silently, and connections that
    nobody uses."""
    body = _head(topology, PATHS["native"], 1000) + b'{"model": '
    with (
        _connections(topology, HALF) as silent, _connections(topology, HALF) as vanishing,
        _connections(topology, IDLE),
    ):
        for number, one in enumerate([*silent, *vanishing]):
            with suppress(OSError):
                one.sendall(body if number % 2 else body[: len(body) // 3])
        for one in vanishing:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()
        time.sleep(OPEN_SECONDS)


def flood(topology: Topology, kinds: Sequence[Kind]) -> Seen:
    """As many bodies of a megabyte as eight connections can send, most of them new. Their responses are checked."""
    megabytes = [kind for kind in kinds if len(kind.body) >= 1 << 20]
    load = Load(topology.url, megabytes, topology.headers, a_second=10_000, clients=FLOODS)
    load.start()
    time.sleep(FLOOD_SECONDS)
    return load.stop()
