"""The two kinds of routes, and the way from a path to its route.

A `ServiceRoute` is an ordinary FastAPI route: pydantic models in its signature, a plain function as its endpoint. It
differs in two things. Its body is read within our limits, whatever its Content-Type says. And a plain `def` endpoint
runs in the service's own bounded threads, where its answer is made into JSON, too.

A `RawRoute` counts. FastAPI describes it by its endpoint's signature, but a request goes from bytes to bytes through
the pipeline (service.api.pipeline), because FastAPI's way takes longer than counting a short text.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import update_wrapper
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import solve_dependencies
from fastapi.routing import APIRoute, iter_route_contexts
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from service.api.auth import find_needed_scope
from service.api.body import receive_body
from service.api.context import RequestContext, get_context
from service.api.errors import translate_parameter_error
from service.api.operations import Operation
from service.dialects import native
from service.dialects.endpoints import Wire
from service.dialects.json import read_json
from service.dialects.model_validation import validate_model
from service.errors import UnsupportedMedia
from service.services import Services
from service.types import Json, Warned

WARNINGS = "tallystick.warnings"
"""In the scope of a request: what was repaired in its body."""

# ---------------------------------------------------------------- what an endpoint may ask for


async def _get_services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


async def _get_context(request: Request) -> RequestContext:
    return get_context(request.scope)


async def _get_warnings(request: Request) -> Sequence[Warned]:
    warnings: Sequence[Warned] = request.scope[WARNINGS]
    return warnings


Shared = Annotated[Services, Depends(_get_services)]
"""What all requests share."""

Context = Annotated[RequestContext, Depends(_get_context)]
"""The context of this request: an endpoint that counts notes its counts there."""

BodyWarnings = Annotated[Sequence[Warned], Depends(_get_warnings)]
"""What was repaired in the JSON of the body. Known once the endpoint is called, since the body is read last."""

# ---------------------------------------------------------------- routes


class KeyedRoute(APIRoute):
    """A route with the scope that a key needs for it, and the dialect that its errors are written in.

    The models of its answers only serve OpenAPI. FastAPI takes a fifth of the start to read them, so the route does
    without, and `describe` gives one that has them.

    `label` names the route in metrics and logs. It is the template of the path; all files of a folder have one label.
    """

    dialect: Wire = native.WIRE

    def __init__(self, path: str, endpoint: Callable[..., Any], **described: Any) -> None:
        super().__init__(path, endpoint, **{**described, "response_model": None, "responses": None})
        self.response_model, self.responses = described["response_model"], described["responses"]
        self.needs = find_needed_scope(self.dependencies)
        self.label = path.removesuffix("/{path:path}")
        self._described = described

    def describe(self) -> APIRoute:
        """The route as OpenAPI needs it."""
        return APIRoute(self.path, self.endpoint, **self._described)


class RawEndpoint:
    """The endpoint of a RawRoute: an operation, described by the signature and docstring of a function."""

    def __init__(self, function: Callable[..., Any], operation: Operation[Any]) -> None:
        update_wrapper(self, function)
        self.operation = operation

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("A raw endpoint is never called: the pipeline runs its operation.")


def raw(operation: Operation[Any]) -> Callable[[Callable[..., Any]], RawEndpoint]:
    """Decorates a function that has a signature and a docstring, but no body of its own."""
    return lambda function: RawEndpoint(function, operation)


class RawRoute(KeyedRoute):
    """A count route: the pipeline answers it."""

    endpoint: RawEndpoint

    def __init__(self, path: str, endpoint: Callable[..., Any], **described: Any) -> None:
        if not isinstance(endpoint, RawEndpoint):
            raise TypeError(f"{path}: decorate the endpoint of a RawRoute with @raw(...)")
        super().__init__(path, endpoint, **described)
        self.operation, self.dialect = endpoint.operation, endpoint.operation.wire
        self.app = self._run

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["app"].state.pipeline.run(self, scope, receive, send)


class ServiceRoute(KeyedRoute):
    """Any other route. A plain `def` endpoint runs in a thread of the service's pool, an `async def` one on the event
    loop: only what answers at once may be one."""

    waits_for_redis = False
    """Whether its endpoints may have to wait for Redis: those have threads of their own."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **described: Any) -> None:
        super().__init__(path, endpoint, **described)
        self.query_names = tuple(_find_query_names(self.dependant))
        self._without_body = replace(self.dependant, body_params=[])
        self._body: tuple[str, type[BaseModel]] | None = None
        for param in self.dependant.body_params:
            model: Any = param.field_info.annotation
            self._body = param.name, model

    def get_route_handler(self) -> Callable[[Request], Any]:
        return self._respond

    async def _respond(self, request: Request) -> Response:
        services: Services = request.app.state.services
        run = (services.store_pool if self.waits_for_redis else services.pool).run
        with services.body_budget.reserve() as reservation:
            content, content_type = b"", ""
            if self._body is not None:
                content, content_type = await receive_body(
                    request.scope, request.receive, services.body_limits, reservation
                )
                get_context(request.scope).body_bytes = len(content)
            warnings: list[Warned] = []
            request.scope[WARNINGS] = warnings
            arguments = await self._solve(request)
            if inspect.iscoroutinefunction(self.endpoint):
                return make_response(await self.endpoint(**arguments))
            return await run(lambda: self._call(arguments, content, content_type, warnings))

    def _call(
        self, arguments: dict[str, Any], content: bytes, content_type: str, warnings: list[Warned]
    ) -> Response:
        """Read the body and call the endpoint: in a thread, and in one go, so that one deadline holds for both."""
        if self._body is not None:
            name, model = self._body
            check_is_no_file(content_type)
            value, repaired = read_json(content)
            warnings += repaired
            arguments[name] = validate_model(model, value)
        return make_response(self.endpoint(**arguments))

    async def _solve(self, request: Request) -> dict[str, Any]:
        """The other arguments of the endpoint, as FastAPI finds them. Raises InvalidRequest."""
        solved = await solve_dependencies(
            request=request, dependant=self._without_body,
            async_exit_stack=request.scope["fastapi_inner_astack"], embed_body_fields=False,
        )
        if solved.errors:
            raise translate_parameter_error(solved.errors[0], self.query_names)
        return solved.values


class StoreRoute(ServiceRoute):
    """A ServiceRoute whose endpoints may have to wait for Redis."""

    waits_for_redis = True


def _find_query_names(dependant: Dependant) -> Iterator[str]:
    """The parameters that a query may have."""
    for param in dependant.query_params:
        model = param.field_info.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            yield from model.model_fields
        else:
            yield param.alias


def check_is_no_file(content_type: str) -> None:
    """Raises UnsupportedMedia for the type of a file, which a body must not be. Any other type may hold JSON: curl -d
    says form-urlencoded, some SDKs say nothing."""
    media = content_type.partition(";")[0].strip().lower()
    if media.startswith(("multipart/", "image/", "audio/", "video/")) or media == "application/octet-stream":
        raise UnsupportedMedia("Send JSON (Content-Type: application/json).")


def make_response(answer: Json) -> Response:
    """What an endpoint returned as a response: a response as it is, anything else as JSON."""
    if isinstance(answer, Response):
        return answer
    return Response(to_json(answer), media_type="application/json")


# ---------------------------------------------------------------- from a path to its route

MAX_REMEMBERED = 1_024
"""Paths; a path may hold a model's name, so callers can make up any number of them."""


class RouteCache:
    """Finds the route of a path and remembers it: trying one route after the other takes longer than a count.

    HEAD finds the route of GET.
    """

    def __init__(self, app: FastAPI) -> None:
        """Raises TypeError for a kind of route that could not be closed to callers without a key."""
        self._app = app
        self.read()

    def read(self) -> None:
        """Read the routes of the app again: some may have been added. Raises TypeError likewise."""
        self.routes = [_as_keyed(context.original_route) for context in iter_route_contexts(self._app.routes)]
        self._known: dict[tuple[str, str, str], tuple[KeyedRoute, dict[str, Json]]] = {}

    def find(self, scope: Scope) -> tuple[KeyedRoute, dict[str, Json]] | None:
        """The route that takes the method at this path, and the parameters in the path; None where there is none."""
        place = (scope["method"], scope["path"], scope.get("root_path", ""))
        return self._known.get(place) or self._find(place, scope)

    def find_all(self, scope: Scope) -> list[KeyedRoute]:
        """The routes at this path, whatever methods they take."""
        return [route for route in self.routes if route.matches(scope)[0] is not Match.NONE]

    def find_methods(self, scope: Scope) -> set[str]:
        """The methods that this path takes, by the first template that it fits."""
        routes = self.find_all(scope)
        methods = {method for route in routes if route.path == routes[0].path for method in route.methods or ()}
        return methods | {"HEAD"} if "GET" in methods else methods

    def _find(self, place: tuple[str, str, str], scope: Scope) -> tuple[KeyedRoute, dict[str, Json]] | None:
        asked = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        for route in self.routes:
            match, child = route.matches(asked)
            if match is Match.FULL:
                if len(self._known) >= MAX_REMEMBERED:
                    self._known.clear()
                self._known[place] = route, child["path_params"]
                return self._known[place]
        return None

    @property
    def labels(self) -> Iterable[str]:
        """The labels of all routes."""
        return [route.label for route in self.routes]


def _as_keyed(route: BaseRoute) -> KeyedRoute:
    if not isinstance(route, KeyedRoute):
        raise TypeError(f"{type(route).__name__} is no route that a key could be asked for")
    return route
