"""One request and its response on a connection: uvicorn's, but the head and the body are written together."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

if TYPE_CHECKING:
    from service.server.http.protocol import HttpProtocol


class RequestCycle(RequestResponseCycle):
    """One request and its response. uvicorn calls it a cycle."""

    access_log = disconnected = response_started = response_complete = False
    more_body = True
    chunked_encoding: bool | None = None
    expected_content_length = 0
    _pending_head = b""
    """Status line and headers of the response. They wait for the body, to be written with it."""

    def __init__(self, connection: HttpProtocol, scope: Any, *, keep_alive: bool) -> None:
        """Replaces uvicorn's, which makes an asyncio.Event that few requests need."""
        self.scope = scope
        self.transport, self.flow, self.logger = connection.transport, connection.flow, connection.logger
        self.default_headers = connection.server_state.default_headers
        self.on_response = connection.on_response_complete
        self.keep_alive, self.waiting_for_100_continue = keep_alive, connection.expect_100_continue
        self.body_parts: list[bytes] = []
        """What has arrived of the body and was not taken yet."""
        self.body_parts_bytes = 0

    @cached_property
    def message_event(self) -> asyncio.Event:  # type: ignore[override]
        event = asyncio.Event()
        if self.body_parts or not self.more_body or self.response_complete or self.disconnected:
            event.set()
        return event

    def wake_receiver(self) -> None:
        """Wake whoever waits in `receive`."""
        if "message_event" in self.__dict__:
            self.message_event.set()

    def take_complete_body(self) -> bytes | None:
        """The whole body; None when some of it has not arrived."""
        return None if self.more_body or self.waiting_for_100_continue else self.take_body_parts()

    def take_body_parts(self) -> bytes:
        """What has arrived of the body and was not taken yet."""
        parts, self.body_parts, self.body_parts_bytes = self.body_parts, [], 0
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
        return {"type": "http.request", "body": self.take_body_parts(), "more_body": self.more_body}

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
        """Status line and headers of a response that has a content-length; b"" for others, which uvicorn writes.

        Raises RuntimeError when a header contains a line break.
        """
        headers = [*self.default_headers, *message["headers"]]
        values = dict(headers)
        if b"content-length" not in values or self.disconnected:
            return b""
        if values.get(b"connection") == b"close":
            self.keep_alive = False
        elif not self.keep_alive:
            headers.append((b"connection", b"close"))
        lines = [b"%b: %b\r\n" % header for header in headers]
        head = b"".join((STATUS_LINE[message["status"]], *lines, b"\r\n"))
        if head.count(b"\n") != len(headers) + 2 or head.count(b"\r") != len(headers) + 2:
            raise RuntimeError("A header holds the end of a line.")
        self.response_started, self.waiting_for_100_continue = True, False
        self.expected_content_length, self.chunked_encoding = int(values[b"content-length"]), False
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
