"""The short way: a request whose small body is there already is answered in one call.

What a request meets on its way through `Edge`, `Guard`, `Directory`, `Scoped` and `JsonRoute` happens here in the same
order, by the same functions, without a coroutine and a message for each step: those take longer than counting. Only
what ends in a plain 200 ends here. Whatever has to be waited for, refused or explained goes the long way from its
beginning: nothing has happened yet that could not happen again.
"""

from __future__ import annotations

import logging
from functools import lru_cache

from starlette.types import Scope

from service.api.auth import Guard, Scoped, strip_query_key
from service.api.cors import Cors
from service.api.middleware import API_HEADERS, Stopping, request_id
from service.api.request_log import Books, Exchange
from service.api.routing import Directory
from service.auth.keys import Key
from service.errors import ServiceError

LOG = logging.getLogger("tallystick")


class Express:
    """Answers what can be answered at once."""

    def __init__(self, guard: Guard, directory: Directory, books: Books, stopping: Stopping, cors: Cors) -> None:
        self.guard = guard
        self.directory = directory
        self.books = books
        self.stopping = stopping
        self.cors = cors

    def __call__(self, scope: Scope, body: bytes) -> bytes | None:
        """Headers and body of the answer to a request that stays open for more; None where it must go the long way."""
        try:
            return self._answer(scope, body)
        except ServiceError:
            return None
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a Rust panic is no Exception
            LOG.exception("request failed on the short way")
            return None

    def _answer(self, scope: Scope, body: bytes) -> bytes | None:
        if self.stopping.draining or self.cors.active:
            return None
        strip_query_key(scope)
        found = self.directory.find(scope)
        if found is None:
            return None
        route, scope["path_params"] = found
        scoped = route.app
        if not isinstance(scoped, Scoped) or scoped.now is None:
            return None
        exchange = Exchange(request_id(scope), scope["method"], route.path)
        if not self.guard.is_public(scope["path"]):
            rates, _ = self.guard.admit(scope, exchange)
            if rates.requests or rates.tokens:
                return None
            key: Key | None = scope.get("tallystick.key")
            if key is not None and not key.allows(scoped.needs):
                return None
        reply = scoped.now(body, scope)
        if reply is None:
            return None
        exchange.status, exchange.body_bytes = 200, len(body)
        exchange.take(reply)
        self.books.note(exchange)
        return b"content-type: application/json\r\ncontent-length: %d\r\n%bx-request-id: %b\r\n%b\r\n%b" % (
            len(reply.content), lines_of(reply.headers), exchange.request_id.encode(), API_LINES, reply.content,
        )


@lru_cache(4_096)
def lines_of(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Headers as they are sent."""
    return b"".join([b"%b: %b\r\n" % row for row in headers])


API_LINES = lines_of(API_HEADERS)
