"""Who calls, and what they may do. Every path needs a key unless the settings list it as public.

A router or route says with `needs(...)` which scope a key must have. The middleware asks `Authenticator` before the
body is read, and before the router is asked, so that unknown paths are closed, too. A route that says nothing opens
to admin keys alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from fastapi import Request, Security, params
from starlette.types import Scope

from service.api.context import RequestContext, get_context
from service.api.cors import Cors
from service.auth.key_store import Keys
from service.auth.keys import ADMIN, Key
from service.auth.keys import Scope as KeyScope
from service.auth.rate_limits import RateLimiter, Rates, name_client
from service.errors import Forbidden, KeysUnavailable, Unauthorized

PROJECT_HEADER = b"x-tallystick-project"


# ---------------------------------------------------------------- what a route needs


async def find_caller(request: Request) -> Key | None:
    """The key that the middleware found. How a key may be sent stands in service.api.docs."""
    return get_context(request.scope).key


def needs(scope: KeyScope) -> params.Security:
    """A dependency for a router or a route: a key must have this scope. The middleware enforces it."""
    needed: params.Security = Security(find_caller, scopes=[scope])
    return needed


def find_needed_scope(dependencies: Sequence[params.Depends]) -> KeyScope:
    """The scope that `needs` names among the dependencies of a route, the last one first; else admin."""
    for dependency in reversed(dependencies):
        if isinstance(dependency, params.Security) and dependency.dependency is find_caller:
            scope: KeyScope
            (scope,) = dependency.scopes or ()  # type: ignore[assignment]
            return scope
    return ADMIN


class NeedsScope(Protocol):
    """A route that needs a scope."""

    @property
    def needs(self) -> KeyScope: ...


def check_scope(route: NeedsScope, context: RequestContext) -> None:
    """Raises Forbidden where the caller's key does not open the route."""
    key = context.key
    if key is not None and not key.allows(route.needs):
        raise Forbidden(f"This needs a key with the scope {route.needs}.")


# ---------------------------------------------------------------- the key of a request


def find_sent_keys(scope: Scope) -> Iterator[str]:
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


def find_project(scope: Scope, projects: frozenset[str], default: str) -> str:
    """What X-Tallystick-Project says, where that is one of `projects`."""
    if projects:
        for name, value in scope["headers"]:
            if name == PROJECT_HEADER:
                said: str = value.decode("utf-8", "replace")
                return said if said in projects else default
    return default


# ---------------------------------------------------------------- who calls


class Authenticator:
    """Lets in who may call. `keys` is None where no keys are asked for."""

    def __init__(
        self, keys: Keys | None, limiter: RateLimiter, cors: Cors, public: Sequence[str], projects: Sequence[str]
    ) -> None:
        self.keys = keys
        self.limiter = limiter
        self.cors = cors
        self.projects = frozenset(projects)
        self._public = frozenset(public)
        self._public_below = tuple(f"{path.rstrip('/')}/" for path in public if path != "/")

    def is_public(self, scope: Scope) -> bool:
        """Whether the settings say that this path needs no key. A prefix under which the app is mounted is no part of
        the path."""
        path: str = scope["path"]
        if root := scope.get("root_path", ""):
            path = path.removeprefix(root)
        return path in self._public or path.startswith(self._public_below)

    def authenticate(self, scope: Scope, context: RequestContext) -> tuple[Rates, str]:
        """Note the caller's key and project. Gives the rates of the caller, and the name under which they are kept.

        Raises Unauthorized, KeysUnavailable, and Forbidden for a page of another origin that makes its reader's browser
        call: without keys that would do.
        """
        if self.keys is None:
            if scope["method"] == "POST" and self.cors.is_foreign(scope):
                raise Forbidden("Pages of other origins may not call; TALLYSTICK_CORS_ORIGINS lists those that may.")
            context.project = find_project(scope, self.projects, context.project)
            client = scope.get("client")
            return self.limiter.rates, name_client(client[0] if client else None)
        key = _find_key(scope, self.keys)
        context.key, context.project = key, key.name
        return self.limiter.rates.override(key.requests_per_minute, key.tokens_per_minute), f"key:{key.id}"


def _find_key(scope: Scope, keys: Keys) -> Key:
    ring = keys.ring
    if ring is None:
        raise KeysUnavailable("The API keys cannot be read at the moment; try again soon.", retry_after=5)
    any_sent = False
    for text in find_sent_keys(scope):
        any_sent = True
        key = ring.find(text)
        if key is not None:
            return key
    if any_sent:
        raise Unauthorized("The API key is not known, or has expired.")
    raise Unauthorized("An API key is needed: send it as Authorization: Bearer, x-api-key or x-goog-api-key.")
