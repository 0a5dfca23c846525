"""Around every request: its context, who calls, headers of every answer, and an answer whatever happens inside."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.auth import check_scope, strip_query_key
from service.api.body import BodyRefused, ClientGone
from service.api.context import RequestContext, open_context
from service.api.errors import BodyRefusedResponse, ErrorResponse, make_no_route_response
from service.api.pipeline import API_HEADERS, Pipeline
from service.errors import Overloaded, ServiceError

LOG = logging.getLogger("tallystick")

CLIENT_CLOSED = 499
"""What the log says of a request whose client left before its body was complete (nginx's number for it)."""

API_HEADER_NAMES = frozenset(name for name, _ in API_HEADERS)


class RequestMiddleware:
    """The only middleware. While the process is stopping, every answer closes its connection."""

    def __init__(self, app: ASGIApp, pipeline: Pipeline) -> None:
        self.app = app
        self.pipeline = pipeline
        self.authenticator, self.limiter = pipeline.authenticator, pipeline.authenticator.limiter
        self.readiness = pipeline.services.readiness

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        context = open_context(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                message["headers"] = self._add_headers(scope, context, message.get("headers", ()))
            await send(message)

        with self.pipeline.log.open(context):
            await self._answer(scope, receive, send_with_headers, context)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, context: RequestContext) -> None:
        """Answer, and answer what is raised."""
        try:
            await self._let_in(scope, receive, send, context)
        except ClientGone:
            context.status = CLIENT_CLOSED
        except BodyRefused as refused:
            limit = self.pipeline.services.body_limits.max_bytes
            await BodyRefusedResponse(scope, refused, limit)(scope, receive, send)
        except ServiceError as error:
            await ErrorResponse(scope, error)(scope, receive, send)
        except asyncio.CancelledError:
            if context.status or not self.readiness.draining:
                raise
            stopping = Overloaded("The server is stopping; try another.", retry_after=1)
            await ErrorResponse(scope, stopping)(scope, receive, send)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a Rust panic is no Exception
            LOG.exception("request failed", extra={"fields": {"request_id": context.request_id}})
            if context.status:
                raise  # half an answer is out; the server closes the connection
            failed = ServiceError("Something failed inside; the log tells.")
            await ErrorResponse(scope, failed)(scope, receive, send)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send, context: RequestContext) -> None:
        """Ask for a key and take the caller's rate before anything else, then go to the route."""
        preflight = self.pipeline.cors.preflight(scope)
        if preflight is not None:
            await send({"type": "http.response.start", "status": 204, "headers": preflight})
            await send({"type": "http.response.body", "body": b""})
            return
        strip_query_key(scope)
        if self.authenticator.is_public(scope):
            await self._route(scope, receive, send, context)
            return
        try:
            rates, who = self.authenticator.authenticate(scope, context)
            if rates.requests or rates.tokens:
                await self.limiter.take(who, rates, context)
        except ServiceError:
            self._note_dialect(scope, context)
            raise
        await self._route(scope, receive, send, context)
        if rates.tokens and context.input_tokens:
            await self.limiter.charge(who, rates, context.input_tokens)

    async def _route(self, scope: Scope, receive: Receive, send: Send, context: RequestContext) -> None:
        found = self.pipeline.routes.find(scope)
        if found is None:
            self._note_dialect(scope, context, place=True)
            methods = self.pipeline.routes.find_methods(scope)
            await make_no_route_response(scope, methods)(scope, receive, send)
            return
        route, scope["path_params"] = found
        context.dialect = route.dialect
        check_scope(route, context)
        context.route = route.label
        await route.app(scope, receive, send)

    def _note_dialect(self, scope: Scope, context: RequestContext, *, place: bool = False) -> None:
        """A known path is refused in its own dialect, even where its method is wrong."""
        for route in self.pipeline.routes.find_all(scope)[:1]:
            context.dialect = route.dialect
            if place:
                context.route = route.label

    def _add_headers(self, scope: Scope, context: RequestContext, own: Iterable[tuple[bytes, bytes]]) -> list[Any]:
        headers = [*own]
        names = {name for name, _ in headers}
        headers.append((b"x-request-id", context.request_id.encode()))
        headers += context.headers
        if names.isdisjoint(API_HEADER_NAMES):
            headers += API_HEADERS
        else:
            headers += [row for row in API_HEADERS if row[0] not in names]
        headers += self.pipeline.cors.headers(scope)
        if self.readiness.draining and b"connection" not in names:
            headers.append((b"connection", b"close"))
        return headers
