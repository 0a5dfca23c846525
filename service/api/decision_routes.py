"""Routes of the decisions, made of their rows; always in a worker thread, since a price list or a text may be large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from pydantic_core import to_json
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from service.api.decision_rows import DECISIONS, examples, schema_like
from service.api.middleware import exchange_of, send_error, send_json
from service.api.operations import Reply
from service.api.routers.decisions import Deciders, Decision
from service.api.routes import JsonRoute, ServiceParts
from service.dialects import native
from service.errors import InvalidRequest, ServiceError
from service.types import Json, Warned

if TYPE_CHECKING:
    from service.api.openapi import Described


@dataclass(frozen=True, slots=True)
class Decide:
    """An operation of a row that takes a body."""

    decision: Decision
    deciders: Deciders
    threaded: bool = True
    repeatable: bool = False

    def read(
        self, value: Json, params: Mapping[str, str], warnings: tuple[Warned, ...]
    ) -> tuple[Json, Mapping[str, str]]:
        return value, params

    def is_warm(self, question: tuple[Json, Mapping[str, str]]) -> bool:
        return False

    def answer(self, question: tuple[Json, Mapping[str, str]]) -> Reply:
        decided = self.decision.handle(*question, self.deciders)
        return Reply(to_json(decided.body), decided.counts)


@dataclass(frozen=True, slots=True)
class DecisionPage:
    """An ASGI app of a row without a body: its parameters are in path and query."""

    decision: Decision
    deciders: Deciders
    parts: ServiceParts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        exchange.route, exchange.wire = self.decision.path, native.WIRE
        try:
            params = {**self._query(scope), **scope["path_params"]}
            decided = await self.parts.workers.run(lambda: self.decision.handle(None, params, self.deciders))
        except ServiceError as error:
            await send_error(scope, send, error)
            return
        await send_json(send, decided.body)


    def _query(self, scope: Scope) -> Mapping[str, str]:
        """The parameters of the query. Raises InvalidRequest for one that nobody reads: it may be a misspelt filter."""
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        stray = next((name for name in query if name not in self.decision.query), None)
        if stray is None:
            return query
        known = ", ".join(self.decision.query) or "none"
        raise InvalidRequest(
            f"The query has a parameter that this path does not take. It takes: {known}.", field=stray[:64]
        )


def decision_routes(parts: ServiceParts, asking: ServiceParts, deciders: Deciders) -> Iterator[BaseRoute]:
    """A route for each row, in order: a path that takes anything comes after those it would swallow. `asking` has the
    threads that wait for Redis."""
    for row in DECISIONS:
        its = asking if row.asks_store else parts
        if row.body is None:
            yield Route(row.path, DecisionPage(row, deciders, its), methods=["GET"])
        else:
            yield Route(row.path, JsonRoute(row.path, native.WIRE, Decide(row, deciders), its), methods=["POST"])


def described_decisions() -> Iterator[Described]:
    """What the OpenAPI document says of them; their bodies are among `decision_bodies.BODIES`."""
    from service.api.openapi import Described  # noqa: PLC0415
    from service.dialects.native_schema import reference  # noqa: PLC0415 - not needed to serve

    for row in DECISIONS:
        example = examples()[row.name]
        answer = schema_like(example["response"])
        if row.body is None:
            yield Described(
                row.path, "get", row.name, row.summary, "native", answer, example["response"], query=row.query
            )
        else:
            yield Described(
                row.path, "post", row.name, row.summary, "native", answer, example["response"],
                reference(row.body), example["request"],
            )
