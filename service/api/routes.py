"""From bytes to an operation and back: what every JSON route of ours does, once."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope, Send

from service.api.body import ARRIVED, BodyLimits, drain, read_body
from service.api.middleware import exchange_of, send_error, send_json
from service.api.operations import Count, Operation, Reply
from service.cache.responses import HASHED_ON_LOOP_BYTES, REMEMBERED_FROM_BYTES, Replies
from service.concurrency.byte_budget import ByteBudget, ByteReservation
from service.concurrency.thread_pool import Workers
from service.counting.conversations import FROM_BYTES, Beginnings, Newest
from service.counting.counter import Counter
from service.dialects import native
from service.dialects.endpoints import Wire
from service.dialects.json import read_json
from service.errors import BodyTimeout, InvalidRequest, ServiceError, UnsupportedMedia
from service.ledger.ledger import Ledger
from service.observability.metrics import Metrics
from service.types import Json, TokenCount, Warned

LOG = logging.getLogger("tallystick")

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
    beginnings: Beginnings
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
        self._grows = isinstance(operation, Count) and operation.endpoint.reply is None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        exchange.route, exchange.wire = self.path, self.wire
        with self.service.budget.reserve() as reservation:
            await self._serve(scope, receive, send, reservation)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, reservation: ByteReservation) -> None:
        exchange = exchange_of(scope)
        headers = headers_of(scope)
        limits = self.service.limits
        arrived = scope.get(ARRIVED)
        try:
            body = await read_body(receive, headers, limits, reservation, arrived and arrived())
        except ServiceError as error:
            await send_error(scope, send, error, last=False, close=True)
            # One that waits for our word, or has stopped sending, has nothing under way.
            if "expect" not in headers and not isinstance(error, BodyTimeout):
                await drain(receive, DRAIN_FACTOR * limits.max_bytes, DRAIN_SECONDS)
            await send({"type": "http.response.body", "body": b""})
            return
        exchange.body_bytes = len(body)
        try:
            reply = await self._reply(_Sent(body, headers.get("content-type", ""), scope))
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
        if self.operation.threaded or size > service.limits.max_bytes or not service.budget.has(size):
            return None
        headers = headers_of(scope)
        if "content-encoding" in headers:
            return None
        sent = _Sent(body, headers.get("content-type", ""), scope)
        asked = self._find_newest(sent)
        if asked is None:
            if size > service.inline_bytes or size >= REMEMBERED_FROM_BYTES:
                return None
            asked = self._read_all(sent)
            if not self.operation.is_warm(asked.question):
                return None
        elif asked.newest is not None and asked.newest.end - asked.newest.start > service.inline_bytes:
            return None
        return self._answer(sent, asked)

    async def _reply(self, sent: _Sent) -> Reply:
        if not self.operation.repeatable or len(sent.body) < REMEMBERED_FROM_BYTES:
            return await self._work(sent)
        replies = self.service.replies
        if not replies.may_know(sent.place, sent.body):
            return await self._work(sent)
        key = await self._key(sent)
        reply, first = replies.find(key), False
        if reply is None:
            reply, first = await replies.share(key, lambda: self._work(sent))
        if first:
            replies.keep(key, reply, len(reply.content))
        return reply

    async def _key(self, sent: _Sent) -> bytes:
        parts = (self.path.encode(), sent.place, sent.content_type.encode("latin-1"), sent.body)
        if len(sent.body) <= HASHED_ON_LOOP_BYTES:
            return self.service.replies.key(*parts)
        return await self.service.workers.run(lambda: self.service.replies.key(*parts))

    async def _work(self, sent: _Sent) -> Reply:
        run = self.service.workers.run
        if len(sent.body) > self.service.inline_bytes or self.operation.threaded:
            return await run(lambda: self._answer(sent, self._read(sent)))
        asked = self._read(sent)
        if asked.newest is not None or self.operation.is_warm(asked.question):
            return self._answer(sent, asked)
        return await run(lambda: self._answer(sent, asked))

    # ------------------------------------------------------------ one body; here or in a thread

    def _read(self, sent: _Sent) -> _Asked:
        return self._find_newest(sent) or self._read_all(sent)

    def _find_newest(self, sent: _Sent) -> _Asked | None:
        """What is new in a conversation that was counted before; None for anything else."""
        if not self._grows or len(sent.body) < FROM_BYTES or sent.media == "text/plain" or is_file(sent.media):
            return None
        try:
            newest = self.service.beginnings.find(sent.place, sent.body)
        except ServiceError:  # the long way tells where in the body it is
            newest = None
        return None if newest is None else _Asked(newest.request, newest=newest)

    def _read_all(self, sent: _Sent) -> _Asked:
        media = sent.media
        if media == "text/plain" and self.takes_text:
            value, warnings = read_plain(sent.body, sent.content_type, sent.scope["query_string"])
            return _Asked(self.operation.read(value, sent.scope["path_params"], warnings))
        if is_file(media):
            raise UnsupportedMedia("Send JSON (Content-Type: application/json).")
        value, warnings = read_json(sent.body)  # curl -d says form-urlencoded, some SDKs nothing: the body decides
        question = self.operation.read(value, sent.scope["path_params"], warnings)
        return _Asked(question, None if warnings else value)

    def _answer(self, sent: _Sent, asked: _Asked) -> Reply:
        reply: Reply = self.operation.answer(asked.question)
        if not self._grows:
            return reply
        if asked.newest is not None and not asked.newest.tells_all(reply.counts[0]):
            return self._answer(sent, self._read_all(sent))
        try:
            self._learn(sent, asked, reply.counts[0])
        except Exception:  # what was counted is right all the same
            LOG.exception("a conversation was not learnt")
        return reply

    def _learn(self, sent: _Sent, asked: _Asked, counted: TokenCount) -> None:
        """Keep what helps to count the next version of a conversation."""
        beginnings, looked_up = self.service.beginnings, self.service.metrics.looked_up
        if asked.newest is not None:
            looked_up("conversation", "hit")
            beginnings.learn_more(sent.place, sent.body, asked.newest, counted)
        elif asked.value is not None and len(sent.body) >= FROM_BYTES:
            looked_up("conversation", "miss")
            beginnings.learn(sent.place, sent.body, asked.value, asked.question, counted)


class _Asked(NamedTuple):
    """The question in a body: in all of it, which decodes to `value`, or in what is `newest`. That has no files, and
    its tokenizer has counted before."""

    question: Any
    value: Json = None
    newest: Newest | None = None


class _Sent:
    """A whole body, and how and where it was sent. `media` is the type alone, `place` the path with its query."""

    __slots__ = ("body", "content_type", "media", "place", "scope")

    def __init__(self, body: bytes, content_type: str, scope: Scope) -> None:
        self.body = body
        self.content_type = content_type
        self.scope = scope
        self.media = content_type.partition(";")[0].strip().lower()
        path = scope["path"].encode("utf-8", "surrogatepass")
        self.place = b"%d|%b?%b" % (len(path), path, scope["query_string"])  # a path may hold a question mark


HEADERS = {name.encode(): name for name in ("content-encoding", "content-length", "content-type", "expect")}
"""Those that say what a body is."""


def is_file(media: str) -> bool:
    """Whether this type is of a file, which a body must not be."""
    return media.startswith(("multipart/", "image/", "audio/", "video/")) or media == "application/octet-stream"


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
