"""Who calls, and what they may do: every path needs a key unless it is listed as public.

`Guard` stands before the router, so that a path nobody thought of is closed, too. A key opens the routes of its
scopes; a route that no row of NEEDS names opens to admin keys alone.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence

from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from service.api.cors import Cors
from service.api.middleware import exchange_of, send_error
from service.api.request_log import Exchange
from service.auth.key_store import Keys
from service.auth.keys import ADMIN, Key
from service.auth.keys import Scope as KeyScope
from service.auth.rate_limits import RateLimiter, Rates, name_client
from service.errors import Forbidden, KeysUnavailable, ServiceError, Unauthorized

LOG = logging.getLogger("tallystick")

NEEDS: tuple[tuple[str, KeyScope], ...] = (
    (r"/v1/(countTokens(:batch)?|compare|estimateCost|checkBudget|truncate|split)", "count"),
    (r"/.*(:countTokens|/count_tokens|/input_tokens|/token_counter)", "count"),
    (r"(/v1)?/(de)?tokenize|/v1/explain|/v1/bpe/.*", "tokenize"),
    (r"/v1/models(/.*)?|/v1/tokenizers|/openapi\.json|/|/web", "models"),
    (r"/v1/usage(/.*)?", "usage"),
    (r"/v1/budgets(/.*)?", "budgets"),
    (r"/metrics|/readyz|/livez", "metrics"),
)
"""Template of a path -> scope that a key needs for it; the first row that matches."""

PROJECT_HEADER = b"x-tallystick-project"

CHALLENGE = {"www-authenticate": 'Bearer realm="tallystick"'}


def scope_of(template: str) -> KeyScope:
    """The scope that the route with this path template needs."""
    return next((scope for pattern, scope in NEEDS if re.fullmatch(pattern, template)), ADMIN)


# ---------------------------------------------------------------- the key of a request


def sent_keys(scope: Scope) -> Iterator[str]:
    """Every key that a request carries, in any of the ways that SDKs send one."""
    for name, value in scope["headers"]:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            yield value[7:].strip().decode("latin-1")
        elif name in (b"x-api-key", b"x-goog-api-key"):
            yield value.strip().decode("latin-1")
    yield from scope.get("tallystick.query_keys", ())


def strip_query_key(scope: Scope) -> None:
    """Take `key=` out of the query, so that nothing after this can log it or hand it on."""
    query: bytes = scope["query_string"]
    if not query or b"key=" not in query:
        return
    kept, keys = [], []
    for part in query.split(b"&"):
        name, _, value = part.partition(b"=")
        if name == b"key":
            keys.append(value.decode("latin-1"))
        else:
            kept.append(part)
    if keys:  # a second look finds none, and forgets none
        scope["query_string"], scope["tallystick.query_keys"] = b"&".join(kept), keys


def project_of(scope: Scope, projects: frozenset[str], default: str) -> str:
    """What X-Tallystick-Project says, where that is one of `projects`."""
    if projects:
        for name, value in scope["headers"]:
            if name == PROJECT_HEADER:
                said: str = value.decode("utf-8", "replace")
                return said if said in projects else default
    return default


# ---------------------------------------------------------------- the guard


class Guard:
    """Wraps the router: lets in who may, at a rate they may. `keys` is None where no keys are asked for."""

    def __init__(
        self, app: ASGIApp, routes: Sequence[BaseRoute], keys: Keys | None, *, limiter: RateLimiter,
        public: Sequence[str], projects: Sequence[str], cors: Cors,
    ) -> None:
        self.app = app
        self.routes = routes
        self.keys = keys
        self.limiter = limiter
        self.public = frozenset(public)
        self.below = tuple(f"{path.rstrip('/')}/" for path in public if path != "/")
        self.projects = frozenset(projects)
        self.cors = cors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        strip_query_key(scope)
        exchange = exchange_of(scope)
        if self.is_public(scope["path"]):
            await self.app(scope, receive, send)
            return
        try:
            rates, who = self.admit(scope, exchange)
            if rates.requests or rates.tokens:
                await self.limiter.take(who, rates, exchange)
        except ServiceError as error:
            await self._refuse(scope, send, exchange, error)
            return
        await self.app(scope, receive, send)
        if rates.tokens and exchange.input_tokens:
            await self.limiter.charge(who, rates, exchange.input_tokens)

    def is_public(self, path: str) -> bool:
        return path in self.public or path.startswith(self.below)

    def admit(self, scope: Scope, exchange: Exchange) -> tuple[Rates, str]:
        """The rates of the caller and the name under which they are kept. Raises Unauthorized, KeysUnavailable, and
        Forbidden for a page that makes its reader's browser call: without keys that would do."""
        if self.keys is None:
            if scope["method"] == "POST" and self.cors.is_strange(scope):
                raise Forbidden("Pages of other origins may not call; TALLYSTICK_CORS_ORIGINS lists those that may.")
            exchange.project = project_of(scope, self.projects, exchange.project)
            return self.limiter.rates, name_client((scope.get("client") or (None,))[0])
        key = self._key_of(scope, self.keys)
        scope["tallystick.key"] = key
        exchange.project = key.name
        return self.limiter.rates.override(key.requests_per_minute, key.tokens_per_minute), f"key:{key.id}"

    @staticmethod
    def _key_of(scope: Scope, keys: Keys) -> Key:
        ring = keys.ring
        if ring is None:
            raise KeysUnavailable("The API keys cannot be read at the moment; try again soon.", retry_after=5)
        any_sent = False
        for text in sent_keys(scope):
            any_sent = True
            key = ring.find(text)
            if key is not None:
                return key
        if any_sent:
            raise Unauthorized("The API key is not known, or has expired.")
        raise Unauthorized("An API key is needed: send it as Authorization: Bearer, x-api-key or x-goog-api-key.")

    async def _refuse(self, scope: Scope, send: Send, exchange: Exchange, error: ServiceError) -> None:
        """Without having read the body, in the wire of the route that was asked for."""
        for route in self.routes:
            match, _ = route.matches(scope)
            if match is not Match.NONE:
                exchange.wire = getattr(getattr(route, "app", None), "wire", None)
                break
        await send_error(scope, send, error, CHALLENGE if isinstance(error, Unauthorized) else None)


class Scoped:
    """Wraps what a route leads to: a key must have the scope that the route needs."""

    def __init__(self, app: ASGIApp, needs: KeyScope) -> None:
        self.app = app
        self.needs = needs
        self.wire = getattr(app, "wire", None)
        self.now = getattr(app, "now", None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key: Key | None = scope.get("tallystick.key")
        if key is not None and not key.allows(self.needs):
            exchange = exchange_of(scope)
            exchange.wire = self.wire
            error = Forbidden(f"This needs a key with the scope {self.needs}.")
            await send_error(scope, send, error)
            return
        await self.app(scope, receive, send)


def guard_routes(routes: Sequence[BaseRoute]) -> None:
    """Let every route ask for its scope. Raises TypeError for a kind of route that it cannot close."""
    for route in routes:
        if not isinstance(route, (Route, Mount)):
            raise TypeError(f"{type(route).__name__} is no route that a key could be asked for")
        route.app = Scoped(route.app, scope_of(route.path))
