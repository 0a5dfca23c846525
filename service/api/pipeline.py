"""From the bytes of a count request to the bytes of its answer.

A count takes a few microseconds, so what stands around it matters. There are two drivers of the same steps (find the
route, authenticate, read the question, answer it, write it down):

- `try_sync` is the fast path. It answers in one call what can be answered at once: a small body that is already there,
  for a caller whose rate need not be asked for. It answers only with a 200. Anything else it leaves to the other one,
  and hands on what it has read, so that no body is read twice.
- `run` is the slow path: it waits for bodies, threads and Redis. The middleware calls it through a RawRoute, and
  answers what it raises.

tests/api/test_fast_path*.py prove that both give the same bytes.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope, Send

from service.api.auth import Authenticator, check_scope, strip_query_key
from service.api.body import read_headers, receive_body
from service.api.context import RequestContext, find_request_id, get_context
from service.api.cors import Cors
from service.api.operations import Operation, Reply
from service.api.request_log import RequestLog
from service.api.routing import RawRoute, RouteCache, check_is_no_file
from service.cache.responses import MAX_LOOP_HASH_BYTES, MIN_CACHED_BODY_BYTES
from service.counting.conversations import MIN_CONVERSATION_BYTES
from service.counting.new_messages import NewMessages
from service.dialects import native
from service.dialects.json import read_json
from service.errors import InvalidRequest, ServiceError, UnsupportedMedia
from service.services import Services
from service.types import Json, TokenCount, Warned

LOG = logging.getLogger("tallystick")

API_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)
"""On every answer that does not say otherwise: it is for its caller alone, it is no page, and nothing keeps it."""

QUESTION = "tallystick.question"
"""In the scope of a request: what the fast path read, or the error that reading or counting gave."""


class Question(NamedTuple):
    """What a body asks: in all of it, which decodes to `value`, or only in what is `newest` of a known conversation.
    That has no files, and its tokenizer has counted before."""

    asked: Any
    value: Json = None
    newest: NewMessages | None = None


class SentBody:
    """A whole body, and how and where it was sent. `media` is the type alone, `place` the path with its query."""

    __slots__ = ("content", "content_type", "media", "params", "place", "query")

    def __init__(self, content: bytes, content_type: str, scope: Scope) -> None:
        self.content = content
        self.content_type = content_type
        self.media = content_type.partition(";")[0].strip().lower()
        self.params, self.query = scope["path_params"], scope["query_string"]
        path = scope["path"].encode("utf-8", "surrogatepass")
        self.place = b"%d|%b?%b" % (len(path), path, self.query)  # a path may hold a question mark


class Pipeline:
    """One an app."""

    def __init__(
        self, services: Services, routes: RouteCache, authenticator: Authenticator, cors: Cors, log: RequestLog
    ) -> None:
        self.services = services
        self.routes = routes
        self.authenticator = authenticator
        self.cors = cors
        self.log = log

    # ------------------------------------------------------------ the fast path

    def try_sync(self, scope: Scope, body: bytes) -> bytes | None:
        """Headers and body of the answer to a request that stays open for more; None where `run` must answer."""
        try:
            return self._try_sync(scope, body)
        except ServiceError:
            return None
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a Rust panic is no Exception
            LOG.exception("request failed on the fast path")
            return None

    def _try_sync(self, scope: Scope, body: bytes) -> bytes | None:
        if self.services.readiness.draining or self.cors.active:
            return None
        strip_query_key(scope)
        found = self.routes.find(scope)
        if found is None:
            return None
        route, scope["path_params"] = found
        if not isinstance(route, RawRoute):
            return None
        context = RequestContext(find_request_id(scope), scope["method"], route.label)
        if not self.authenticator.is_public(scope):
            rates, _ = self.authenticator.authenticate(scope, context)
            if rates.requests or rates.tokens:
                return None
            check_scope(route, context)
        reply = self._answer_now(route.operation, body, scope)
        if reply is None:
            return None
        context.status, context.body_bytes = 200, len(body)
        context.take(reply)
        self.log.note(context)
        return b"content-type: application/json\r\ncontent-length: %d\r\n%bx-request-id: %b\r\n%b\r\n%b" % (
            len(reply.content), _header_lines(reply.headers), context.request_id.encode(), _API_LINES, reply.content,
        )

    def _answer_now(self, operation: Operation[Any], body: bytes, scope: Scope) -> Reply | None:
        """The reply where nothing has to be waited for; None, or ServiceError, leaves what was read in the scope."""
        services, size = self.services, len(body)
        if operation.threaded or size > services.body_limits.max_bytes or not services.body_budget.has(size):
            return None
        headers = read_headers(scope)
        if "content-encoding" in headers:
            return None
        sent = SentBody(body, headers.get("content-type", ""), scope)
        try:
            question = self._find_newest(operation, sent)
            if question is None:
                if size > services.settings.inline_bytes or size >= MIN_CACHED_BODY_BYTES:
                    return None
                question = scope[QUESTION] = self._read_all(operation, sent)
                if not operation.is_warm(question.asked):
                    return None
            elif _size_of_new(question) > services.settings.inline_bytes:
                return None
            return self._answer(operation, sent, question)
        except ServiceError as error:
            scope[QUESTION] = error
            raise

    # ------------------------------------------------------------ the slow path

    async def run(self, route: RawRoute, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request whose caller was let in. Raises ServiceError, BodyRefused, ClientGone."""
        context, services = get_context(scope), self.services
        with services.body_budget.reserve() as reservation:
            content, content_type = await receive_body(scope, receive, services.body_limits, reservation)
            context.body_bytes = len(content)
            sent = SentBody(content, content_type, scope)
            reply = await self._reply(route, sent, scope.get(QUESTION))
            context.take(reply)
            await send_json(send, reply)

    async def _reply(self, route: RawRoute, sent: SentBody, read: Question | ServiceError | None) -> Reply:
        if not route.operation.repeatable or len(sent.content) < MIN_CACHED_BODY_BYTES:
            return await self._work(route.operation, sent, read)
        responses = self.services.responses
        if not responses.may_have_seen(sent.place, sent.content):
            return await self._work(route.operation, sent, read)
        key = await self._make_key(route, sent)
        reply: Reply | None
        reply, first = responses.find(key), False
        if reply is None:
            reply, first = await responses.share(key, lambda: self._work(route.operation, sent, read))
        if first:
            responses.keep(key, reply, len(reply.content))
        return reply

    async def _make_key(self, route: RawRoute, sent: SentBody) -> bytes:
        parts = (route.path.encode(), sent.place, sent.content_type.encode("latin-1"), sent.content)
        if len(sent.content) <= MAX_LOOP_HASH_BYTES:
            return self.services.responses.key(*parts)
        return await self.services.pool.run(lambda: self.services.responses.key(*parts))

    async def _work(self, operation: Operation[Any], sent: SentBody, read: Question | ServiceError | None) -> Reply:
        """The reply, made here or in a thread; `read` is what the fast path has read."""
        if isinstance(read, ServiceError):
            raise read
        run = self.services.pool.run
        if len(sent.content) > self.services.settings.inline_bytes or operation.threaded:
            return await run(lambda: self._answer(operation, sent, self._read(operation, sent)))
        question = read or self._read(operation, sent)
        if question.newest is not None or operation.is_warm(question.asked):
            return self._answer(operation, sent, question)
        return await run(lambda: self._answer(operation, sent, question))

    # ------------------------------------------------------------ the steps; on the event loop or in a thread

    def _read(self, operation: Operation[Any], sent: SentBody) -> Question:
        return self._find_newest(operation, sent) or self._read_all(operation, sent)

    def _find_newest(self, operation: Operation[Any], sent: SentBody) -> Question | None:
        """What is new in a conversation that was counted before; None for anything else."""
        if not operation.grows or len(sent.content) < MIN_CONVERSATION_BYTES or sent.media == "text/plain":
            return None
        check_is_no_file(sent.media)
        try:
            newest = self.services.conversations.find(sent.place, sent.content)
        except ServiceError:  # reading all of the body tells where in it the error is
            return None
        return None if newest is None else Question(newest.request, newest=newest)

    def _read_all(self, operation: Operation[Any], sent: SentBody) -> Question:
        if sent.media == "text/plain" and operation.takes_text:
            value, warnings = read_plain_text(sent.content, sent.content_type, sent.query)
            return Question(operation.read(value, sent.params, warnings))
        check_is_no_file(sent.media)
        value, warnings = read_json(sent.content)
        return Question(operation.read(value, sent.params, warnings), None if warnings else value)

    def _answer(self, operation: Operation[Any], sent: SentBody, question: Question) -> Reply:
        reply: Reply = operation.answer(question.asked, self.services)
        if not operation.grows:
            return reply
        if question.newest is not None and not question.newest.has_same_notes(reply.counts[0]):
            return self._answer(operation, sent, self._read_all(operation, sent))
        try:
            self._learn(sent, question, reply.counts[0])
        except Exception:  # what was counted is right all the same
            LOG.exception("a conversation was not learnt")
        return reply

    def _learn(self, sent: SentBody, question: Question, counted: TokenCount) -> None:
        """Keep what helps to count the next version of a conversation."""
        conversations, record_lookup = self.services.conversations, self.services.metrics.record_lookup
        if question.newest is not None:
            record_lookup("conversation", "hit")
            conversations.learn_newer(sent.place, sent.content, question.newest, counted)
        elif question.value is not None and len(sent.content) >= MIN_CONVERSATION_BYTES:
            record_lookup("conversation", "miss")
            conversations.learn(sent.place, sent.content, question.value, question.asked, counted)


def _size_of_new(question: Question) -> int:
    """Bytes of the messages that are new."""
    return 0 if question.newest is None else question.newest.end - question.newest.start


def read_plain_text(body: bytes, content_type: str, query: bytes) -> tuple[Json, tuple[Warned, ...]]:
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
    return native.read_text(text, dict(parse_qsl(query.decode("latin-1")))), warnings


async def send_json(send: Send, reply: Reply) -> None:
    """Answer 200 with a reply."""
    headers = [
        (b"content-type", b"application/json"), (b"content-length", str(len(reply.content)).encode()), *reply.headers,
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": reply.content})


@lru_cache(4_096)
def _header_lines(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Headers as they are sent."""
    return b"".join([b"%b: %b\r\n" % row for row in headers])


_API_LINES = _header_lines(API_HEADERS)
