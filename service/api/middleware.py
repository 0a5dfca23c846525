"""The outermost layer: a request id, a log line and metrics for each request, and an answer whatever happens inside."""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import Iterable
from typing import Any, Protocol

import pydantic_core
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.body import ClientGone
from service.api.cors import Cors
from service.api.request_log import Books, Exchange
from service.dialects.native import WIRE as NATIVE
from service.dialects.registry import find_wire
from service.errors import InvalidRequest, MethodNotAllowed, NotFound, Overloaded, ServiceError

LOG = logging.getLogger("tallystick")

REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
"""A caller's own request id is taken over if it looks like one; anything else could forge log lines."""

CLIENT_CLOSED = 499
"""What the log says of a request whose client left before its body was complete (nginx's number for it)."""

def exchange_of(scope: Scope) -> Exchange:
    exchange: Exchange = scope["tallystick"]
    return exchange


API_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)
"""On every answer that does not say otherwise: it is nobody else's, no page, and nothing to keep."""

API_HEADER_NAMES = frozenset(name for name, _ in API_HEADERS)


class Stopping(Protocol):
    """Whether the process is about to end."""

    @property
    def draining(self) -> bool: ...


class Edge:
    """Wraps the guard and the router. While the process is stopping, every answer closes its connection."""

    def __init__(self, app: ASGIApp, books: Books, stopping: Stopping, cors: Cors) -> None:
        self.app = app
        self.books = books
        self.stopping = stopping
        self.cors = cors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = scope["tallystick"] = Exchange(request_id(scope), scope["method"])

        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                message["headers"] = self._headers(scope, exchange, message.get("headers", ()))
            await send(message)

        with self.books.open(exchange):
            await self._answer(scope, receive, send_more, exchange)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, exchange: Exchange) -> None:
        try:
            preflight = self.cors.preflight(scope)
            if preflight is None:
                await self.app(scope, receive, send)
            else:
                await send_empty(send, preflight)
        except ClientGone:
            exchange.status = CLIENT_CLOSED
        except HTTPException as error:
            _place(scope, exchange)
            await send_error(scope, send, _from_http(error), error.headers)
        except asyncio.CancelledError:
            if exchange.status or not self.stopping.draining:
                raise
            await send_error(scope, send, Overloaded("The server is stopping; try another.", retry_after=1))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a Rust panic is no Exception
            LOG.exception("request failed", extra={"fields": {"request_id": exchange.request_id}})
            if exchange.status:
                raise  # half an answer is out; the server closes the connection
            await send_error(scope, send, ServiceError("Something failed inside; the log tells."))

    def _headers(self, scope: Scope, exchange: Exchange, own: Iterable[tuple[bytes, bytes]]) -> list[Any]:
        headers = [*own]
        names = {name for name, _ in headers}
        headers.append((b"x-request-id", exchange.request_id.encode()))
        headers += exchange.headers
        if names.isdisjoint(API_HEADER_NAMES):
            headers += API_HEADERS
        else:
            headers += [row for row in API_HEADERS if row[0] not in names]
        headers += self.cors.headers(scope)
        if self.stopping.draining and b"connection" not in names:
            headers.append((b"connection", b"close"))
        return headers


def _place(scope: Scope, exchange: Exchange) -> None:
    """A known path with a wrong method is still that route, and wears its wire."""
    route = scope.get("route")
    if route is not None:
        exchange.route, exchange.wire = route.path, getattr(route.app, "wire", None)


def request_id(scope: Scope) -> str:
    """The caller's own, or a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and REQUEST_ID.fullmatch(value):
            sent: str = value.decode("ascii")
            return sent
    return f"{random.getrandbits(64):016x}"  # needs to be no secret, and asking the system takes 3 us


def _from_http(error: HTTPException) -> ServiceError:
    """The router's own refusals in our tree."""
    if error.status_code == 405:
        return MethodNotAllowed("This path does not take that method.")
    if error.status_code == 404:
        return NotFound("There is nothing at this path; GET /openapi.json lists what there is.")
    return InvalidRequest("The request could not be understood.")


async def send_error(
    scope: Scope, send: Send, error: ServiceError, headers: Any = None, *, last: bool = True, close: bool = False
) -> None:
    """Answer with an error in the envelope of the wire that the caller speaks.

    `last=False` leaves the answer open by an empty chunk, so that the caller of this can read on before it closes.
    """
    exchange = exchange_of(scope)
    exchange.error = error.code
    wire = exchange.wire or find_wire(scope["path"]) or NATIVE
    status, body = wire.error(error, exchange.request_id)
    content = pydantic_core.to_json(body)
    lines = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        *((name.lower().encode(), value.encode()) for name, value in (headers or {}).items()),
    ]
    if error.retry_after is not None:
        lines.append((b"retry-after", str(max(1, round(error.retry_after))).encode()))
    if close:
        lines.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": content, "more_body": not last})


async def send_empty(send: Send, headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Answer that all is well, with headers alone."""
    await send({"type": "http.response.start", "status": 204, "headers": [*headers]})
    await send({"type": "http.response.body", "body": b""})


async def send_json(send: Send, body: Any, headers: Any = ()) -> None:
    """Answer with JSON, bytes being JSON already; `headers` are (name, value) pairs of bytes."""
    content = body if isinstance(body, bytes) else pydantic_core.to_json(body)
    lines = [
        (b"content-type", b"application/json"), (b"content-length", str(len(content)).encode()), *headers,
    ]
    await send({"type": "http.response.start", "status": 200, "headers": lines})
    await send({"type": "http.response.body", "body": content})
