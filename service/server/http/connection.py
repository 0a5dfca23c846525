"""Connections with the limits that uvicorn does not have.

They limit how many connections there are, how long headers and the rest of a refused body may take to arrive, how
large headers may be, and how long a response may wait for the client to read it.

A deadline is a number on the connection. All of them are checked once a second, because a timer for each would cost
every request.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from service.server.http.protocol import FastPath, HttpProtocol
from service.server.http.response_batch import ResponseBatch

Reason = Literal["full", "idle", "slow_headers", "large_headers", "slow_rest"]
"""Why a connection was closed: the label of a metric."""

MAX_HEADER_BYTES = 1 << 16
"""Of one request, its URL included."""

LEFTOVER_SECONDS = 10.0
"""After the response: how long the client may take to send the rest of its request, and to read the response."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """`on_refused` is called with the reason when a connection is closed before it had a request."""

    connections: int
    idle_seconds: float
    header_seconds: float
    on_refused: Callable[[Reason], None]


def _make_response(status: str, code: str, message: str, headers: str = "") -> bytes:
    body = f'{{"error":{{"code":"{code}","message":"{message}","field":null}}}}'
    return (
        f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n{headers}"
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
    """Takes the place of the headers once they are complete, and drops trailer fields.

    Trailers that were added to the headers would fill memory without limit. A key or an X-Forwarded-For among them
    would get past every proxy that checks headers alone.
    """

    def append(self, _: object) -> None:
        pass


class _LargeHeadersError(Exception):
    """The headers came in one piece and are too large. The parser turns this into an error of its own."""


class Connection(HttpProtocol):
    """One connection. `make_connection_class` sets the `limits`."""

    limits: ConnectionLimits

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.deadline = math.inf
        """When to give up, by the clock of the event loop."""
        self._deadline_reason: Reason = "idle"
        """What does not come in time, when the deadline is over."""
        self._in_headers = False
        self._header_bytes = 0
        self._chunk_bytes = 0
        """Size of the data that was received last."""
        self._chunk_is_all_headers = True
        """False once a request was completed by this data."""

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for its response."""
        return self.cycle is None or (self.cycle.response_complete and not self._pending_response)

    def _set_deadline(self, reason: Reason, seconds: float) -> None:
        self._deadline_reason = reason
        self.deadline = self.loop.time() + seconds

    def _wait_for_request(self) -> None:
        """Set the deadline for the next request, or for the rest of its headers when these have begun to arrive."""
        if self._in_headers:
            self._set_deadline("slow_headers", self.limits.header_seconds)
        else:
            self._set_deadline("idle", self.limits.idle_seconds)

    # ------------------------------------------------------------ events

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse("full", TOO_MANY_CONNECTIONS)
        else:
            self._set_deadline("idle", self.limits.idle_seconds)

    def data_received(self, data: bytes) -> None:
        self._chunk_bytes, self._chunk_is_all_headers = len(data), True
        super().data_received(data)
        if self._in_headers and self._chunk_is_all_headers:
            self._header_bytes += len(data)
            if self._header_bytes > MAX_HEADER_BYTES:
                self._refuse("large_headers", LARGE_HEADERS)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers, self._header_bytes = True, 0
        if self.is_idle:
            self._set_deadline("slow_headers", self.limits.header_seconds)

    def on_headers_complete(self) -> None:
        if self._header_bytes + self._chunk_bytes > MAX_HEADER_BYTES:  # rare: this may be a body or other requests
            self._check_header_size()
        super().on_headers_complete()
        self._in_headers, self.headers = False, _DiscardedTrailers()
        self.deadline = math.inf  # whoever reads the body has a time limit for it

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._chunk_is_all_headers = False  # headers that follow in this chunk are checked when they are complete
        if self._deadline_reason == "slow_rest" and self.is_idle:
            self._set_deadline("idle", self.limits.idle_seconds)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() or (self.is_idle and self.cycle.more_body):
            self._set_deadline("slow_rest", LEFTOVER_SECONDS)
        elif self.is_idle:
            self._wait_for_request()

    def write_pending_response(self) -> None:
        super().write_pending_response()
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
        """Refuse the request and raise when its headers are too large."""
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > MAX_HEADER_BYTES:
            self._refuse("large_headers", LARGE_HEADERS)
            raise _LargeHeadersError

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():  # it is closing when an error was sent already
            super().send_400_response(msg)

    # ------------------------------------------------------------ deadlines and refusals

    def check_deadline(self, now: float) -> None:
        """Close the connection when its deadline is over. `now` is the time of the event loop."""
        if now < self.deadline:
            return
        self.deadline = math.inf
        if self._deadline_reason == "slow_headers":
            self._refuse("slow_headers", SLOW_HEADERS)
        elif self.transport.get_write_buffer_size():
            self.limits.on_refused("slow_rest")
            self.transport.abort()  # `close` would wait for the client to read
        else:
            if self._deadline_reason == "slow_rest":
                self.limits.on_refused("slow_rest")
            self.transport.close()

    def _refuse(self, reason: Reason, response: bytes) -> None:
        self._in_headers = False
        self.limits.on_refused(reason)
        if not self.transport.is_closing():
            self.transport.write(response)
            self.transport.close()
        self._set_deadline("slow_rest", LEFTOVER_SECONDS)


def make_connection_class(limits: ConnectionLimits, fast_path: FastPath | None = None) -> type[Connection]:
    """A protocol class for uvicorn, which makes an instance for each connection. All of them share a batch."""
    attributes = {
        "limits": limits, "fast_path": fast_path and staticmethod(fast_path), "response_batch": ResponseBatch(),
    }
    return type("LimitedConnection", (Connection,), attributes)
