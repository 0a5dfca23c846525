"""uvicorn's HTTP protocol on httptools, faster for short requests.

A request whose body came together with its headers is answered in the very call that received it. No task is
scheduled, nothing waits for a body that is already there, and the response is written in one piece. Everything else
goes uvicorn's own way: bodies that are still arriving, pipelined requests, responses in parts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from service.api.body import ARRIVED
from service.server.http.request_cycle import RequestCycle
from service.server.http.response_batch import ResponseBatch

FastPath = Callable[[Any, bytes], bytes | None]
"""Takes the ASGI scope and the body of a request. Returns the headers and the body of a 200 response when nothing has
to be waited for, else None."""

ASGI_VERSIONS = {"version": "3.0", "spec_version": "2.3"}

BODY_LENGTH_HEADERS = (b"content-length", b"transfer-encoding")


class _BodyOnlyCallbacks:
    """Callbacks of a parser that continues in the middle of a request. It has to be fed a head first, which is ignored;
    the body and the requests after it go to the connection."""

    def __init__(self, connection: HttpProtocol) -> None:
        self.on_body, self.on_message_complete = connection.on_body, connection.on_message_complete
        self._connection = connection
        self._in_head = True

    def on_message_begin(self) -> None:
        if not self._in_head:
            self._connection.on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._in_head:
            self._connection.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            self._connection.on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._in_head:
            self._in_head = False
        else:
            self._connection.on_headers_complete()


def _split_url(url: bytes) -> tuple[str, bytes, bytes]:
    """Path, path as it was sent, query."""
    parts = httptools.parse_url(url)
    path = parts.path.decode("ascii")
    return unquote(path) if "%" in path else path, parts.path, parts.query or b""


_split_url_cached = lru_cache(256)(_split_url)
"""For URLs without a query alone: a query may hold a key, which must not be kept."""


class HttpProtocol(HttpToolsProtocol):
    """One connection. It has no time limits: service.server.http.connection adds them."""

    cycle: RequestCycle
    fast_path: FastPath | None = None
    response_batch: ResponseBatch
    _pending_response = b""
    """A complete response that waits to be written with the batch."""
    _is_parsing = False
    _ready_request: tuple[RequestCycle, Any] | None = None
    """The first request of the data that is being parsed. It is answered when all of the data is parsed."""
    _upgrade_body_headers = b""
    """Set between the headers and the body of a request that offers an upgrade: the headers that say how long its body
    is."""

    def data_received(self, data: bytes) -> None:
        if self._pending_response:
            self.write_pending_response()
        self._is_parsing = True
        self._parse(data)
        self._is_parsing = False
        if self._ready_request is not None:
            request, self._ready_request = self._ready_request, None
            if not self.transport.is_closing():  # it is closing when invalid data came behind the request
                self._respond(*request)

    def _parse(self, data: bytes) -> None:
        """Feed the parser. An offer to upgrade the protocol (h2c by Java clients, a websocket) is ignored.

        The parser assumes that such a request has no body, and would read its body as the next request. That must
        never happen, so a new parser continues where the headers ended.
        """
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                data = data[offer.args[0]:]
                if self._upgrade_body_headers:
                    headers, self._upgrade_body_headers = self._upgrade_body_headers, b""
                    self.parser = httptools.HttpRequestParser(_BodyOnlyCallbacks(self))
                    self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                    self.parser.feed_data(b"POST / HTTP/1.1\r\n" + headers + b"\r\n")
            except httptools.HttpParserError:
                self.logger.warning("Invalid HTTP request received.")
                self.send_400_response("Invalid HTTP request received.")
                return
            else:
                return

    # ------------------------------------------------------------ callbacks of the parser

    def on_message_begin(self) -> None:
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_headers_complete(self) -> None:
        parser = self.parser
        if parser.should_upgrade():
            lines = [b"%b: %b\r\n" % header for header in self.headers if header[0] in BODY_LENGTH_HEADERS]
            self._upgrade_body_headers = b"".join(lines)
        version = parser.get_http_version()
        before = self.cycle
        self.cycle = RequestCycle(
            self, self._make_scope(version), keep_alive=version != "1.0" and parser.should_keep_alive()
        )
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:  # pipelined behind a request that has no response yet
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _make_scope(self, version: str) -> dict[str, Any]:
        path, raw_path, query = _split_url(self.url) if b"?" in self.url else _split_url_cached(self.url)
        return {
            "type": "http",
            "asgi": ASGI_VERSIONS,
            "http_version": version,
            "method": self.parser.get_method().decode("ascii"),
            "scheme": self.scheme,
            "path": self.root_path + path,
            "raw_path": self.root_path.encode("ascii") + raw_path,
            "query_string": query,
            "root_path": self.root_path,
            "headers": self.headers,
            "server": self.server,
            "client": self.client,
            "state": {**self.app_state},
        }

    def on_body(self, body: bytes) -> None:
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.body_parts.append(body)
            cycle.body_parts_bytes += len(body)
            if cycle.body_parts_bytes > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            cycle.wake_receiver()

    def on_message_complete(self) -> None:
        if not self._upgrade_body_headers and not self.cycle.response_complete:
            self.cycle.more_body = False
            self.cycle.wake_receiver()

    # ------------------------------------------------------------ responses

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if self._is_parsing and isinstance(cycle, RequestCycle):
            self._ready_request = cycle, app
        else:
            super()._start_asgi_task(cycle, app)

    def _respond(self, cycle: RequestCycle, app: Callable[..., Any]) -> None:
        """By the fast path or else by the app, which starts at once and becomes a task only if it has to wait."""
        if self.fast_path is not None and not cycle.more_body and cycle.keep_alive and not self.flow.write_paused:
            self.response_batch.schedule()
            body = cycle.take_body_parts()
            response = self.fast_path(cycle.scope, body)
            if response is None:
                cycle.body_parts.append(body)
            else:
                self._pending_response = self._get_status_lines() + response
                self.response_batch.add(self)
                cycle.complete()
                return
        cycle.scope[ARRIVED] = cycle.take_complete_body  # type: ignore[literal-required]
        task = asyncio.Task(cycle.run_asgi(app), loop=self.loop, eager_start=True)
        if not task.done():
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    def write_pending_response(self) -> None:
        response, self._pending_response = self._pending_response, b""
        if response and not self.transport.is_closing():
            self.transport.write(response)

    def _get_status_lines(self) -> bytes:
        """The status line of a 200 and the server's own headers, which change once a second (date)."""
        batch, headers = self.response_batch, self.server_state.default_headers
        if headers is not batch.default_headers:
            lines = b"".join([b"%b: %b\r\n" % header for header in headers])
            batch.default_headers, batch.status_lines = headers, STATUS_LINE[200] + lines
        return batch.status_lines

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
