"""Connections with the bounds that uvicorn leaves open: how many there are, how long a request's headers or the rest of
a refused body may take to arrive, how large headers may be, how long an answer may wait for its reader.

Deadlines are numbers on the connection, looked at once a second for all of them: a timer each would cost every request.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from service.server.http.protocol import FastPath, HttpProtocol, ResponseBatch

Reason = Literal["full", "idle", "slow_headers", "large_headers", "slow_rest"]
"""Why a connection was closed: words for a metric."""

MAX_HEADER_BYTES = 1 << 16

LEFTOVER_SECONDS = 10.0
"""For what a client still sends after its request was answered, and for the answer to be taken."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """`on_refused` is told why a connection was closed before it had a request."""

    connections: int
    idle_seconds: float
    header_seconds: float
    on_refused: Callable[[Reason], None]


def _make_response(status: str, code: str, message: str, more: str = "") -> bytes:
    body = f'{{"error":{{"code":"{code}","message":"{message}","field":null}}}}'
    return (
        f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n{more}"
        f"connection: close\r\n\r\n{body}"
    ).encode()


TOO_MANY_CONNECTIONS = _make_response(
    "503 Service Unavailable", "overloaded", "Too many connections; try again in a second.", "retry-after: 1\r\n"
)
SLOW_HEADERS = _make_response("408 Request Timeout", "header_timeout", "The headers did not arrive in time.")
LARGE_HEADERS = _make_response(
    "431 Request Header Fields Too Large", "headers_too_large", "The headers are larger than 64 KiB."
)


class _DiscardedTrailers(list[tuple[bytes, bytes]]):
    """Where trailer fields go. Merged into the headers they would fill memory without end, and a key or an
    X-Forwarded-For in them would have slipped past every proxy that looks at headers alone."""

    def append(self, _: object) -> None:
        pass


class _LargeHeadersError(Exception):
    """Headers that came at once were larger than they may be. The parser makes its own error of it."""


class Connection(HttpProtocol):
    """One connection. `limits` are set by `connection_class`."""

    limits: ConnectionLimits

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.deadline = math.inf
        self._deadline_reason: Reason = "idle"
        self._in_headers = False
        self._header_bytes = 0
        self._chunk_bytes = 0
        self._chunk_ends_in_headers = True

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or (self.cycle.response_complete and not self._pending_response)

    def _set_deadline(self, reason: Reason, seconds: float) -> None:
        self._deadline_reason = reason
        self.deadline = self.loop.time() + seconds

    def _wait_for_request(self) -> None:
        """For another request or, where it has begun behind the one before, for the rest of its headers."""
        if self._in_headers:
            self._set_deadline("slow_headers", self.limits.header_seconds)
        else:
            self._set_deadline("idle", self.limits.idle_seconds)

    # ------------------------------------------------------------ what happens to a connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse("full", TOO_MANY_CONNECTIONS)
        else:
            self._set_deadline("idle", self.limits.idle_seconds)

    def data_received(self, data: bytes) -> None:
        self._chunk_bytes, self._chunk_ends_in_headers = len(data), True
        super().data_received(data)
        if self._in_headers and self._chunk_ends_in_headers:
            self._header_bytes += len(data)
            if self._header_bytes > MAX_HEADER_BYTES:
                self._refuse("large_headers", LARGE_HEADERS)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers, self._header_bytes = True, 0
        if self.is_idle:
            self._set_deadline("slow_headers", self.limits.header_seconds)

    def on_headers_complete(self) -> None:
        if self._header_bytes + self._chunk_bytes > MAX_HEADER_BYTES:  # rarely: most is a body, or other requests
            self._check_header_size()
        super().on_headers_complete()
        self._in_headers, self.headers = False, _DiscardedTrailers()
        self.deadline = math.inf  # the body's is kept by who reads it

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._chunk_ends_in_headers = False  # what follows in this piece may be; it is looked at once they are complete
        if self._deadline_reason == "slow_rest" and self.is_idle:
            self._set_deadline("idle", self.limits.idle_seconds)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() or (self.is_idle and self.cycle.more_body):
            self._set_deadline("slow_rest", LEFTOVER_SECONDS)
        elif self.is_idle:
            self._wait_for_request()

    def send_pending_response(self) -> None:
        super().send_pending_response()
        if self.is_idle and not self.transport.is_closing():
            self._wait_for_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._set_deadline("slow_rest", self.limits.idle_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.is_idle:
            self._set_deadline("idle", self.limits.idle_seconds)
        else:
            self.deadline = math.inf

    def _check_header_size(self) -> None:
        """Raises where the headers, of which all have come, are too large."""
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > MAX_HEADER_BYTES:
            self._refuse("large_headers", LARGE_HEADERS)
            raise _LargeHeadersError

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():  # it has been told what is wrong
            super().send_400_response(msg)

    # ------------------------------------------------------------ giving up

    def check_deadline(self, now: float) -> None:
        """Give up where something has not come in time."""
        if now < self.deadline:
            return
        self.deadline = math.inf
        if self._deadline_reason == "slow_headers":
            self._refuse("slow_headers", SLOW_HEADERS)
        elif self.transport.get_write_buffer_size():
            self.limits.on_refused("slow_rest")
            self.transport.abort()  # closing would wait for a reader who does not read
        else:
            if self._deadline_reason == "slow_rest":
                self.limits.on_refused("slow_rest")
            self.transport.close()

    def _refuse(self, reason: Reason, answer: bytes) -> None:
        self._in_headers = False
        self.limits.on_refused(reason)
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()
        self._set_deadline("slow_rest", LEFTOVER_SECONDS)


def connection_class(limits: ConnectionLimits, fast_path: FastPath | None = None) -> type[Connection]:
    """The protocol for uvicorn, which makes its instances itself."""
    own = {"limits": limits, "fast_path": fast_path and staticmethod(fast_path), "response_batch": ResponseBatch()}
    return type("LimitedConnection", (Connection,), own)
