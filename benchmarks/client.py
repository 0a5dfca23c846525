"""A fast HTTP/1.1 client for loopback. It keeps some connections busy for a while, and measures.

All requests have the same bytes but for a number, which differs each time: no response can be one that was cached. The
client needs about 10 us of its core for a request, so that the server is what is measured. Its own busy share is
measured, too.
"""

from __future__ import annotations

import re
import select
import socket
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

NUMBER = b"000000000000"
"""The place in a template for the number of the request, twelve digits."""

CHUNK = 1 << 18
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
TIMEOUT_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    @classmethod
    def parse(cls, url: str) -> Address:
        host, _, port = url.removeprefix("http://").partition(":")
        return cls(host, int(port))


@dataclass(frozen=True, slots=True)
class Template:
    """A request: the bytes before its number, and those after it."""

    before: bytes
    after: bytes
    body_bytes: int

    @classmethod
    def post(cls, path: str, body: bytes, headers: Mapping[str, str]) -> Template:
        """A POST of `body`, which must contain NUMBER once. Raises ValueError if it does not."""
        if body.count(NUMBER) != 1:
            raise ValueError(f"the body for {path} must hold the number once, not {body.count(NUMBER)} times")
        lines = {"Host": "127.0.0.1", "Content-Type": "application/json", **headers, "Content-Length": str(len(body))}
        head = f"POST {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        before, _, after = body.partition(NUMBER)
        return cls(head.encode() + b"\r\n" + before, after, len(body))

    def request(self, number: int) -> bytes:
        return b"%b%012d%b" % (self.before, number, self.after)


@dataclass(slots=True)
class Load:
    """The measured responses. `busy_share` is the share of the time that the client worked and did not wait."""

    seconds: float
    latencies: list[float] = field(default_factory=list)
    busy_share: float = 0.0

    @property
    def rate(self) -> float:
        """Responses a second."""
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        """The latency, in seconds, that this share of the requests does not exceed."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def median(self) -> float:
        return statistics.median(self.latencies)


class _Connection:
    """One connection, which sends a request or receives its response."""

    __slots__ = ("began_at", "bytes_missing", "response", "socket", "unsent_bytes")

    def __init__(self, address: Address) -> None:
        self.socket = socket.create_connection((address.host, address.port), timeout=TIMEOUT_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.began_at = 0.0
        self.unsent_bytes = memoryview(b"")
        self.response = b""
        self.bytes_missing = -1
        """Bytes of the response that have not come; -1 until its headers are complete."""

    def start(self, request: bytes) -> bool:
        """Start to send a request. Returns whether all of it is sent."""
        self.response, self.bytes_missing, self.unsent_bytes = b"", -1, memoryview(request)
        self.began_at = time.perf_counter()
        return self.send_rest()

    def send_rest(self) -> bool:
        while self.unsent_bytes:
            try:
                self.unsent_bytes = self.unsent_bytes[self.socket.send(self.unsent_bytes):]
            except BlockingIOError:
                return False
        return True

    def receive(self) -> bool:
        """Read what has come. Returns whether the response is complete. Raises RuntimeError for any status but 200."""
        data = self.socket.recv(CHUNK)
        if not data:
            raise RuntimeError("the server closed the connection")
        if self.bytes_missing < 0:
            self.response += data
            end = self.response.find(b"\r\n\r\n")
            if end < 0:
                return False
            self._check(end)
        else:
            self.bytes_missing -= len(data)
        return self.bytes_missing == 0

    def _check(self, end: int) -> None:
        found = CONTENT_LENGTH.search(self.response, 0, end + 2)
        if not self.response.startswith(b"HTTP/1.1 200") or found is None:
            raise RuntimeError(f"unexpected response: {self.response[:600]!r}")
        self.bytes_missing = int(found[1]) - (len(self.response) - end - 4)


def drive(
    url: str, template: Template, *, connections: int = 8, seconds: float = 1.0, numbers: Iterator[int] | None = None
) -> Load:
    """Keep `connections` busy for `seconds`. Each sends its next request as soon as it has its response.

    Raises RuntimeError for anything but 200.
    """
    numbers = count(time.time_ns() % 10**11) if numbers is None else numbers
    address = Address.parse(url)
    by_descriptor = {}
    with select.epoll() as poll:
        try:
            for _ in range(connections):
                connection = _Connection(address)
                by_descriptor[connection.socket.fileno()] = connection
                poll.register(connection.socket, select.EPOLLIN)
            return _Driver(poll, by_descriptor, template, numbers).run(seconds)
        finally:
            for connection in by_descriptor.values():
                connection.socket.close()


class _Driver:
    def __init__(
        self, poll: select.epoll, by_descriptor: dict[int, _Connection], template: Template, numbers: Iterator[int]
    ) -> None:
        self.poll = poll
        self.by_descriptor = by_descriptor
        self.template = template
        self.numbers = numbers

    def run(self, seconds: float) -> Load:
        load, cpu_before, began_at = Load(0.0), time.process_time(), time.perf_counter()
        for connection in self.by_descriptor.values():
            self._send_next(connection)
        end = began_at + seconds
        waiting = len(self.by_descriptor)
        while waiting:
            events = self.poll.poll(TIMEOUT_SECONDS)
            if not events:
                raise RuntimeError(f"no response within {TIMEOUT_SECONDS} s")
            for number, event in events:
                connection = self.by_descriptor[number]
                if event & select.EPOLLOUT and connection.send_rest():
                    self.poll.modify(number, select.EPOLLIN)
                if event & ~select.EPOLLOUT and connection.receive():
                    now = time.perf_counter()
                    load.latencies.append(now - connection.began_at)
                    if now < end:
                        self._send_next(connection)
                    else:
                        waiting -= 1
        load.seconds = time.perf_counter() - began_at
        load.busy_share = (time.process_time() - cpu_before) / load.seconds
        return load

    def _send_next(self, connection: _Connection) -> None:
        if not connection.start(self.template.request(next(self.numbers))):
            self.poll.modify(connection.socket, select.EPOLLIN | select.EPOLLOUT)
