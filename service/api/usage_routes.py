"""The ledger over HTTP: what was counted, what was billed, and how far the two were apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import pydantic_core
from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from service import catalog
from service.api.middleware import exchange_of, send_error
from service.api.operations import Reply
from service.api.routes import JsonRoute, ServiceParts
from service.api.schemas.decision_bodies import as_instant, as_tier
from service.api.schemas.usage_exposition import usage_exposition
from service.api.schemas.usage_wire import (
    MOST_TOKENS,
    QUERY,
    UsageBody,
    check_time,
    drift_json,
    read_question,
    usage_csv,
    usage_json,
)
from service.counting.counter import Counter
from service.dialects import native
from service.dialects.endpoints import Wire
from service.dialects.model_validation import validate_model
from service.dialects.native_schema import CountBody, reference
from service.dialects.usage import read_usage
from service.errors import InvalidRequest, Overloaded, ServiceError
from service.ledger.drift import DRIFT_COLUMNS, Drift
from service.ledger.ledger import Billed, Ledger
from service.ledger.report import report
from service.pricing.prices import plain, quote
from service.types import Json, TokenCount, Warned

if TYPE_CHECKING:
    from service.api.openapi import Described

PATH, DRIFT_PATH = "/v1/usage", "/v1/usage/drift"


def utc_now() -> datetime:
    return datetime.now(UTC)


# ---------------------------------------------------------------- POST: what was billed


@dataclass(frozen=True, slots=True)
class TakeUsage:
    """Takes the bill of a call already made; counts its request where that is sent along."""

    counter: Counter
    keep_seconds: int
    where: str
    threaded: bool = True
    repeatable: bool = False

    def read(self, value: Json, params: Mapping[str, str], warnings: tuple[Warned, ...]) -> tuple[UsageBody, Json]:
        return validate_model(UsageBody, value), value

    def is_warm(self, question: tuple[UsageBody, Json]) -> bool:
        return False

    def answer(self, question: tuple[UsageBody, Json]) -> Reply:
        body, value = question
        if body.model is None:
            raise InvalidRequest("model is needed.", field="model")
        model, at = catalog.resolve(body.model), as_instant(body.at)
        if at is not None:
            check_time(at, utc_now(), self.keep_seconds)
        usage = read_usage(body.usage, "usage", body.usage_dialect)
        if max(usage.input_tokens, usage.output_tokens) > MOST_TOKENS:
            raise InvalidRequest(f"usage must not have more than {MOST_TOKENS} tokens.", field="usage")
        count = self._count(body, value)
        counted, method = body.counted_tokens, "reported"
        if count is not None:
            counted, method = count.input_tokens, count.method
        quoted = quote(model, usage, as_tier(body.service_tier), at)
        billed = Billed(model, usage.input_tokens, usage.output_tokens, quoted.total, counted, method,
                        None if at is None else at.timestamp())
        return Reply(pydantic_core.to_json({
            "recorded": True, "kept_in": self.where, "model": model.model_id, "model_ref": model.model_ref,
            "usage": dict(usage.buckets), "billed_input_tokens": usage.input_tokens,
            "billed_output_tokens": usage.output_tokens,
            "billed_cost_usd": None if quoted.total is None else plain(quoted.total),
            "counted_tokens": counted, "difference": None if counted is None else counted - usage.input_tokens,
        }), billed=billed)

    def _count(self, body: UsageBody, value: Json) -> TokenCount | None:
        """The count of the request sent along, if there is one."""
        given = [name for name in ("request", "text", "texts") if getattr(body, name) is not None]
        if not given:
            return None
        if body.counted_tokens is not None:
            raise InvalidRequest(f"Give one of counted_tokens and {given[0]}, not both.", field=given[0])
        own = UsageBody.model_fields.keys() - CountBody.model_fields.keys()
        return self.counter.count(native.read({key: part for key, part in value.items() if key not in own}))


# ---------------------------------------------------------------- GET


Answer = tuple[bytes, bytes]
"""Content type and content."""


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """An ASGI app that answers a query, in a thread, for the ledger may have to ask Redis."""

    path: str
    respond: Callable[[Mapping[str, str], str], Answer]
    parts: ServiceParts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        exchange.route, exchange.wire = self.path, native.WIRE
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        accept = Headers(scope=scope).get("accept", "")
        try:
            media, content = await self.parts.workers.run(lambda: self.respond(query, accept))
        except ServiceError as error:
            await send_error(scope, send, error)
            return
        headers = [(b"content-type", media), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


def usage_page(ledger: Ledger, clock: Callable[[], datetime] = utc_now) -> Callable[[Mapping[str, str], str], Answer]:
    def respond(query: Mapping[str, str], accept: str) -> Answer:
        question = read_question(query, accept, clock())
        rows, failure = ledger.read("usage", question.span.start, question.span.end)
        wanted = [
            (account, sums) for account, sums in rows
            if question.project in (None, account.who) and question.model in (None, account.what)
        ]
        shown = report(wanted, question.span, question.groups)
        if question.shape == "csv":
            return b"text/csv; charset=utf-8", usage_csv(question, shown).encode()
        if question.shape == "prometheus":
            if failure is not None:
                raise Overloaded("The ledger cannot be read at the moment: no number is better than a part of it.")
            return usage_exposition(question.groups, shown)
        return _json(usage_json(question, shown, ledger.store.where, failure, alone=ledger.alone))

    return respond


def drift_page(ledger: Ledger, clock: Callable[[], datetime] = utc_now) -> Callable[[Mapping[str, str], str], Answer]:
    def respond(query: Mapping[str, str], accept: str) -> Answer:
        span = read_question(query, "", clock()).span
        rows, failure = ledger.read("drift", span.start, span.end)
        sums: dict[tuple[str, str], list[int]] = {}
        for account, amounts in rows:
            total = sums.setdefault((account.who, account.what), [0] * len(DRIFT_COLUMNS))
            for column, amount in enumerate(amounts):
                total[column] += amount
        drifts = [Drift(*key, dict(zip(DRIFT_COLUMNS, sums[key], strict=True))) for key in sorted(sums)]
        return _json(drift_json(span, drifts, ledger.store.where, failure, alone=ledger.alone))

    return respond


def _json(body: Json) -> Answer:
    return b"application/json", pydantic_core.to_json(body)


# ---------------------------------------------------------------- routes


@dataclass(frozen=True, slots=True)
class Usage:
    """The ASGI app of the path that takes both methods: one route, so that a third is told of both."""

    reading: LedgerPage
    taking: JsonRoute
    wire: Wire = native.WIRE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.taking if scope["method"] == "POST" else self.reading)(scope, receive, send)


def usage_routes(parts: ServiceParts, asking: ServiceParts) -> Iterator[BaseRoute]:
    """`asking` has the threads that wait for Redis."""
    ledger = parts.ledger
    take = TakeUsage(parts.counter, ledger.keep_seconds, ledger.store.where)
    taking = JsonRoute(PATH, native.WIRE, take, parts)
    yield Route(PATH, Usage(LedgerPage(PATH, usage_page(ledger), asking), taking), methods=["GET", "POST"])
    yield Route(DRIFT_PATH, LedgerPage(DRIFT_PATH, drift_page(ledger), asking), methods=["GET"])


def described_usage() -> Iterator[Described]:
    """What the OpenAPI document says of them."""
    from service.api.decision_rows import schema_like  # noqa: PLC0415 - not needed to serve
    from service.api.openapi import Described  # noqa: PLC0415

    yield Described(
        PATH, "post", "take_usage", "Report what a call already made was billed", "native",
        schema_like(EXAMPLES["taken"]), EXAMPLES["taken"], reference(UsageBody), EXAMPLES["bill"],
    )
    yield Described(
        PATH, "get", "usage", "What was counted and billed, by time, model and project", "native",
        schema_like(EXAMPLES["usage"]), EXAMPLES["usage"], query=QUERY, texts=("text/csv", "text/plain"),
    )
    yield Described(
        DRIFT_PATH, "get", "usage_drift", "Counted against billed tokens, by family", "native",
        schema_like(EXAMPLES["drift"]), EXAMPLES["drift"],
        query={name: QUERY[name] for name in ("from", "to", "time_zone")},
    )


_AMOUNTS: dict[str, Json] = {
    "calls": 2, "input_tokens": 120, "cost_usd": "0.0003", "unpriced_calls": 0, "billed_calls": 1,
    "billed_input_tokens": 61, "billed_output_tokens": 9, "billed_cost_usd": "0.0002425", "billed_unpriced_calls": 0,
}
_DAY: dict[str, Json] = {"from": "2026-12-01T00:00:00+05:30", "to": "2026-12-02T00:00:00+05:30"}

EXAMPLES: Mapping[str, Json] = {
    "bill": {
        "model": "gpt-4o", "counted_tokens": 61,
        "usage": {"prompt_tokens": 61, "completion_tokens": 9, "total_tokens": 70},
    },
    "taken": {
        "recorded": True, "kept_in": "redis", "model": "gpt-4o", "model_ref": "gpt-4o",
        "usage": {"input": 61, "output": 9, "requests": 1}, "billed_input_tokens": 61, "billed_output_tokens": 9,
        "billed_cost_usd": "0.0002425", "counted_tokens": 61, "difference": 0,
    },
    "usage": {
        **_DAY, "time_zone": "Asia/Kolkata", "group_by": ["day", "model", "project"],
        "rows": [{"start": _DAY["from"], "end": _DAY["to"], "project": "team-a", "model": "gpt-4o", **_AMOUNTS}],
        "total": _AMOUNTS, "kept_in": "redis", "complete": True, "note": None,
    },
    "drift": {
        **_DAY, "families": [{
            "family": "gpt-4o", "method": "reported", "calls": 1, "counted_tokens": 61, "billed_tokens": 61, "under": 0,
            "over": 0, "exact": 1, "within_1_percent": 0, "within_5_percent": 0, "within_15_percent": 0,
            "beyond_15_percent": 0, "ratio": 1.0,
        }], "kept_in": "redis", "complete": True,
    },
}
