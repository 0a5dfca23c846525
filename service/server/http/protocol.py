"""uvicorn's protocol on httptools, without what a short request would wait for.

A request whose body came with its headers is answered at once, in the very call that brought it: no task waits for its
turn, nobody for a body that is there, and head and body of the answer leave in one write. Everything else (bodies that
are still coming, requests in a pipeline, answers in parts) goes uvicorn's own way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from service.api.body import ARRIVED

FastPath = Callable[[Any, bytes], bytes | None]
"""Given the scope and the body of a request, headers and body of an answer for which nothing has to be waited; else
None."""


class RequestCycle(RequestResponseCycle):
    """One request and its answer."""

    access_log = disconnected = response_started = response_complete = False
    more_body = True
    chunked_encoding: bool | None = None
    expected_content_length = 0
    _pending_head = b""
    """Of the answer, as long as it waits for the body."""

    def __init__(self, connection: HttpProtocol, scope: Any, *, keep_alive: bool) -> None:
        """In place of uvicorn's, which makes an event that few requests wait for."""
        self.scope = scope
        self.transport, self.flow, self.logger = connection.transport, connection.flow, connection.logger
        self.default_headers = connection.server_state.default_headers
        self.on_response = connection.on_response_complete
        self.keep_alive, self.waiting_for_100_continue = keep_alive, connection.expect_100_continue
        self.parts: list[bytes] = []
        self.size = 0
        """Of the parts of the body that were not taken yet, in bytes."""

    @cached_property
    def message_event(self) -> asyncio.Event:  # type: ignore[override]
        event = asyncio.Event()
        if self.parts or not self.more_body or self.response_complete or self.disconnected:
            event.set()
        return event

    def wake_receiver(self) -> None:
        """Whoever waits for this request: something has come of it."""
        if "message_event" in self.__dict__:
            self.message_event.set()

    def take_complete_body(self) -> bytes | None:
        return None if self.more_body or self.waiting_for_100_continue else self.take_body()

    def take_body(self) -> bytes:
        """What has come of the body and was not taken yet."""
        parts, self.parts, self.size = self.parts, [], 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def receive(self) -> Any:
        if self.waiting_for_100_continue and not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.waiting_for_100_continue = False
        if not self.disconnected and not self.response_complete:
            self.flow.resume_reading()
            await self.message_event.wait()
            self.message_event.clear()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": self.take_body(), "more_body": self.more_body}

    async def send(self, message: Any) -> None:
        if not self.response_started and message["type"] == "http.response.start":
            self._pending_head = self._format_head(message)
            if self._pending_head:
                return
        elif self._pending_head:
            head, self._pending_head = self._pending_head, b""
            if self._is_complete_body(message):
                self.transport.write(head + message["body"])
                self.complete()
                return
            self.transport.write(head)
        await super().send(message)

    def _format_head(self, message: Any) -> bytes:
        """Of an answer whose length is said; b"" for others. Raises RuntimeError where a header would end a line."""
        headers = [*self.default_headers, *message["headers"]]
        named = dict(headers)
        if b"content-length" not in named or self.disconnected:
            return b""
        if named.get(b"connection") == b"close":
            self.keep_alive = False
        elif not self.keep_alive:
            headers.append((b"connection", b"close"))
        fields = [b"%b: %b\r\n" % header for header in headers]
        head = b"".join((STATUS_LINE[message["status"]], *fields, b"\r\n"))
        if head.count(b"\n") != len(headers) + 2 or head.count(b"\r") != len(headers) + 2:
            raise RuntimeError("A header holds the end of a line.")
        self.response_started, self.waiting_for_100_continue = True, False
        self.expected_content_length, self.chunked_encoding = int(named[b"content-length"]), False
        return head

    def _is_complete_body(self, message: Any) -> bool:
        return (
            not message.get("more_body", False) and len(message["body"]) == self.expected_content_length
            and not self.disconnected and not self.flow.write_paused and self.scope["method"] != "HEAD"
        )

    def complete(self) -> None:
        self.response_complete = True
        self.wake_receiver()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


class ResponseBatch:
    """Answers that wait for the end of this round of the event loop, and leave together: each that leaves by itself
    wakes its reader, which takes as long as a tenth of a short request. One an event loop."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] | None = None
        self.status = b""
        """The lines of a 200 with these `headers` of the server."""
        self._connections: list[HttpProtocol] = []
        self._is_scheduled = False

    def schedule(self) -> None:
        """Send what is put from now on when all that has come is read; before anything that is asked for later."""
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def add(self, connection: HttpProtocol) -> None:
        self._connections.append(connection)

    def _flush(self) -> None:
        self._is_scheduled = False
        connections, self._connections = self._connections, []
        for connection in connections:
            connection.send_pending_response()


class _SkipHeadCallbacks:
    """Callbacks of a parser that begins in the middle of a request: the head that it is given first is not told."""

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
    """The path, as it was sent, too, and the query."""
    parts = httptools.parse_url(url)
    path = parts.path.decode("ascii")
    return unquote(path) if "%" in path else path, parts.path, parts.query or b""


_split_url_cached = lru_cache(256)(_split_url)
"""Of URLs without a query: in one there may be a key, which is not to be kept."""


class HttpProtocol(HttpToolsProtocol):
    """One connection. What keeps it from staying open for ever is left to who derives from it."""

    cycle: RequestCycle
    fast_path: FastPath | None = None
    response_batch: ResponseBatch
    _pending_response = b""
    """A whole answer that waits for the others of its round."""
    ASGI_VERSIONS: Mapping[str, str] = {"version": "3.0", "spec_version": "2.3"}
    _is_parsing = False
    _ready_request: tuple[RequestCycle, Any] | None = None
    _upgrade_body_headers = b""
    """The headers that tell the body of a request which offers another protocol, as long as that body is to come."""

    def data_received(self, data: bytes) -> None:
        if self._pending_response:
            self.send_pending_response()
        self._is_parsing = True
        self._parse(data)
        self._is_parsing = False
        if self._ready_request is not None:
            first, self._ready_request = self._ready_request, None
            if not self.transport.is_closing():  # what came after it was no request
                self._respond(*first)

    def _parse(self, data: bytes) -> None:
        """Give the parser what came. An offer of another protocol (h2c by Java, a websocket) is not taken.

        The parser takes such a request to have no body: what comes next would be read as a request of its own, which
        a body must never be. So a new parser goes on where the head ended.
        """
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                data = data[offer.args[0]:]
                if self._upgrade_body_headers:
                    framing, self._upgrade_body_headers = self._upgrade_body_headers, b""
                    self.parser = httptools.HttpRequestParser(_SkipHeadCallbacks(self))
                    self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                    self.parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n")
            except httptools.HttpParserError:
                self.logger.warning("Invalid HTTP request received.")
                self.send_400_response("Invalid HTTP request received.")
                return
            else:
                return

    def on_message_begin(self) -> None:
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_body(self, body: bytes) -> None:
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.parts.append(body)
            cycle.size += len(body)
            if cycle.size > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            cycle.wake_receiver()

    def on_message_complete(self) -> None:
        if not self._upgrade_body_headers and not self.cycle.response_complete:
            self.cycle.more_body = False
            self.cycle.wake_receiver()

    def on_headers_complete(self) -> None:
        parser = self.parser
        if parser.should_upgrade():
            lines = [b"%b: %b\r\n" % row for row in self.headers if row[0] in (b"content-length", b"transfer-encoding")]
            self._upgrade_body_headers = b"".join(lines)
        version = parser.get_http_version()
        path, raw_path, query = _split_url(self.url) if b"?" in self.url else _split_url_cached(self.url)
        scope = {
            "type": "http",
            "asgi": self.ASGI_VERSIONS,
            "http_version": version,
            "method": parser.get_method().decode("ascii"),
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
        before = self.cycle
        self.cycle = RequestCycle(self, scope, keep_alive=version != "1.0" and parser.should_keep_alive())
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:  # in a pipeline
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if self._is_parsing and isinstance(cycle, RequestCycle):
            self._ready_request = cycle, app  # once all that came with it is read
        else:
            super()._start_asgi_task(cycle, app)

    def _respond(self, cycle: RequestCycle, app: Callable[..., Any]) -> None:
        """Begin at once, and go on later only where something has to be waited for."""
        if self.fast_path is not None and not cycle.more_body and cycle.keep_alive and not self.flow.write_paused:
            self.response_batch.schedule()
            body = cycle.take_body()
            answer = self.fast_path(cycle.scope, body)
            if answer is None:
                cycle.parts.append(body)
            else:
                self._pending_response = self._get_status_lines() + answer
                self.response_batch.add(self)
                cycle.complete()
                return
        cycle.scope[ARRIVED] = cycle.take_complete_body  # type: ignore[literal-required]
        task = asyncio.Task(cycle.run_asgi(app), loop=self.loop, eager_start=True)
        if not task.done():
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    def send_pending_response(self) -> None:
        answer, self._pending_response = self._pending_response, b""
        if answer and not self.transport.is_closing():
            self.transport.write(answer)

    def _get_status_lines(self) -> bytes:
        """The lines of a 200 up to its own headers; those of the server change once a second."""
        headers = self.server_state.default_headers
        if headers is not self.response_batch.headers:
            lines = b"".join([b"%b: %b\r\n" % row for row in headers])
            self.response_batch.headers, self.response_batch.status = headers, STATUS_LINE[200] + lines
        return self.response_batch.status

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
