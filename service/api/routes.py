"""From bytes to an operation and back: what every JSON route of ours does, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope, Send

from service.api.bodies import ARRIVED, BodyLimits, ByteBudget, Hold, drain, read_body
from service.api.edge import exchange_of, send_error, send_json
from service.api.operations import Operation, Reply
from service.cache.replies import HASHED_ON_LOOP_BYTES, REMEMBERED_FROM_BYTES, Replies
from service.counter import Counter
from service.dialects import native
from service.dialects.base import Wire, read_json
from service.errors import BodyTimeout, InvalidRequest, ServiceError, UnsupportedMedia
from service.ledger.ledger import Ledger
from service.metrics import Metrics
from service.types import Json, Warned
from service.workers import Workers

DRAIN_FACTOR = 8
"""A refused body is read and dropped up to so many times the limit, so that its sender gets to see the answer."""

DRAIN_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ServiceParts:
    """What routes share: one of each in an app."""

    counter: Counter
    workers: Workers
    metrics: Metrics
    limits: BodyLimits
    budget: ByteBudget
    inline_bytes: int
    replies: Replies[Reply]
    ledger: Ledger


class JsonRoute:
    """An ASGI app: reads the body within limits, runs the operation here or in a thread, answers or refuses."""

    def __init__(
        self, path: str, wire: Wire, operation: Operation[Any], service: ServiceParts, *, takes_text: bool = False
    ) -> None:
        self.path = path
        self.wire = wire
        self.operation = operation
        self.service = service
        self.takes_text = takes_text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        exchange.route, exchange.wire = self.path, self.wire
        with self.service.budget.hold() as hold:
            await self._serve(scope, receive, send, hold)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, hold: Hold) -> None:
        exchange = exchange_of(scope)
        headers = headers_of(scope)
        limits = self.service.limits
        arrived = scope.get(ARRIVED)
        try:
            body = await read_body(receive, headers, limits, hold, arrived and arrived())
        except ServiceError as error:
            await send_error(scope, send, error, last=False, close=True)
            # One that waits for our word, or has stopped sending, has nothing under way.
            if "expect" not in headers and not isinstance(error, BodyTimeout):
                await drain(receive, DRAIN_FACTOR * limits.max_bytes, DRAIN_SECONDS)
            await send({"type": "http.response.body", "body": b""})
            return
        exchange.body_bytes = len(body)
        try:
            reply = await self._reply(body, headers, scope)
        except ServiceError as error:
            await send_error(scope, send, error)
            return
        exchange.take(reply)
        await send_json(send, reply.content, reply.headers)

    def now(self, body: bytes, scope: Scope) -> Reply | None:
        """The reply to a short body that is plainly there, where nothing has to be waited for; None for any other.

        Raises ServiceError.
        """
        service, size = self.service, len(body)
        if (
            size > service.inline_bytes or size >= REMEMBERED_FROM_BYTES or self.operation.threaded
            or size > service.limits.max_bytes or not service.budget.has(size)
        ):
            return None
        headers = headers_of(scope)
        if "content-encoding" in headers:
            return None
        question = self._read(body, headers.get("content-type", ""), scope)
        return self.operation.answer(question) if self.operation.is_warm(question) else None

    async def _reply(self, body: bytes, headers: Mapping[str, str], scope: Scope) -> Reply:
        media = headers.get("content-type", "")
        if not self.operation.repeatable or len(body) < REMEMBERED_FROM_BYTES:
            return await self._work(body, media, scope)
        replies = self.service.replies
        key = await self._key(body, media, scope)
        reply, first = replies.find(key), False
        if reply is None:
            reply, first = await replies.share(key, lambda: self._work(body, media, scope))
        if first:
            replies.keep(key, reply, len(reply.content))
        return reply

    async def _key(self, body: bytes, media: str, scope: Scope) -> bytes:
        path = scope["path"].encode("utf-8", "surrogatepass")
        parts = (self.path.encode(), path, scope["query_string"], media.encode("latin-1"), body)
        if len(body) <= HASHED_ON_LOOP_BYTES:
            return self.service.replies.key(*parts)
        return await self.service.workers.run(lambda: self.service.replies.key(*parts))

    async def _work(self, body: bytes, media: str, scope: Scope) -> Reply:
        read = partial(self._read, body, media, scope)
        run, answer = self.service.workers.run, self.operation.answer
        if len(body) > self.service.inline_bytes or self.operation.threaded:
            return await run(lambda: answer(read()))
        question = read()
        if self.operation.is_warm(question):
            return answer(question)
        return await run(lambda: answer(question))

    def _read(self, body: bytes, content_type: str, scope: Scope) -> Any:
        media = content_type.partition(";")[0].strip().lower()
        if media == "text/plain" and self.takes_text:
            value, warnings = read_plain(body, content_type, scope["query_string"])
        elif media.startswith(("multipart/", "image/", "audio/", "video/")) or media == "application/octet-stream":
            raise UnsupportedMedia("Send JSON (Content-Type: application/json).")
        else:  # curl -d says form-urlencoded, some SDKs say nothing: what the body is decides
            value, warnings = read_json(body)
        return self.operation.read(value, scope["path_params"], warnings)


HEADERS = {name.encode(): name for name in ("content-encoding", "content-length", "content-type", "expect")}
"""Those that say what a body is."""


def headers_of(scope: Scope) -> dict[str, str]:
    """What was sent of HEADERS; of several the first."""
    return {HEADERS[name]: value.decode("latin-1") for name, value in reversed(scope["headers"]) if name in HEADERS}


def read_plain(body: bytes, content_type: str, query: bytes) -> tuple[Json, tuple[Warned, ...]]:
    """The native body that a text/plain body with its query stands for, and what was repaired in it."""
    charset = content_type.lower().partition("charset=")[2].strip(' "')
    if charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise UnsupportedMedia("Send text/plain in UTF-8.")
    warnings: tuple[Warned, ...] = ()
    if body.startswith(b"\xef\xbb\xbf"):
        body, warnings = body[3:], (Warned("bom_removed"),)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"The body is not UTF-8: byte {error.start} cannot be decoded.") from None
    fields = dict(parse_qsl(query.decode("latin-1")))
    return native.read_text(text, fields), warnings
