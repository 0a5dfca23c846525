"""The ledger: what was counted, what was billed, and how far the two were apart."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import Response

from service import catalog
from service.answers.usage import (
    check_time,
    drift_json,
    read_question,
    usage_csv,
    usage_json,
)
from service.answers.usage_prometheus import usage_exposition
from service.api.auth import needs
from service.api.routing import Context, Shared, StoreRoute
from service.api.schemas.errors import describe_errors
from service.api.schemas.usage import (
    MAX_BILLED_TOKENS,
    DriftAnswer,
    DriftQuery,
    UsageAnswer,
    UsageBody,
    UsageQuery,
    UsageTakenAnswer,
)
from service.dialects import native
from service.dialects.usage import read_usage
from service.dialects.values import parse_instant, parse_tier
from service.errors import InvalidRequest, Overloaded
from service.ledger.drift import DRIFT_COLUMNS, Drift
from service.ledger.ledger import Billed
from service.ledger.report import report
from service.pricing.prices import format_decimal, quote
from service.services import Services
from service.types import Json, TokenCount

router = APIRouter(
    route_class=StoreRoute, dependencies=[needs("usage")], tags=["native"], responses=describe_errors(native.WIRE)
)


async def get_now() -> datetime:
    """The time of the request, UTC. Tests give another."""
    return datetime.now(UTC)


Now = Annotated[datetime, Depends(get_now)]

# ---------------------------------------------------------------- POST: what was billed

@router.post(
    "/v1/usage", operation_id="take_usage", response_model=UsageTakenAnswer,
    summary="Report what a call already made was billed",
)
def take_usage(body: UsageBody, services: Shared, context: Context, now: Now) -> Json:
    """Send the provider's usage object and, to see how far counts and bills are apart, either the tokens that had been
    counted or the request, which is counted then."""
    ledger = services.ledger
    if body.model is None:
        raise InvalidRequest("model is needed.", field="model")
    model, at = catalog.resolve(body.model), parse_instant(body.at)
    if at is not None:
        check_time(at, now, ledger.keep_seconds)
    usage = read_usage(body.usage, "usage", body.usage_dialect)
    if max(usage.input_tokens, usage.output_tokens) > MAX_BILLED_TOKENS:
        raise InvalidRequest(f"usage must not have more than {MAX_BILLED_TOKENS} tokens.", field="usage")
    count = _count(body, services)
    counted, method = body.counted_tokens, "reported"
    if count is not None:
        counted, method = count.input_tokens, count.method
    quoted = quote(model, usage, parse_tier(body.service_tier), at)
    context.billed = Billed(
        model, usage.input_tokens, usage.output_tokens, quoted.total, counted, method,
        None if at is None else at.timestamp(),
    )
    return {
        "recorded": True, "kept_in": ledger.store.where, "model": model.model_id, "model_ref": model.model_ref,
        "usage": dict(usage.buckets), "billed_input_tokens": usage.input_tokens,
        "billed_output_tokens": usage.output_tokens,
        "billed_cost_usd": None if quoted.total is None else format_decimal(quoted.total),
        "counted_tokens": counted, "difference": None if counted is None else counted - usage.input_tokens,
    }


def _count(body: UsageBody, services: Services) -> TokenCount | None:
    """The count of the request sent along, if there is one."""
    given = [name for name in ("request", "text", "texts") if body.model_dump(include={name})[name] is not None]
    if not given:
        return None
    if body.counted_tokens is not None:
        raise InvalidRequest(f"Give one of counted_tokens and {given[0]}, not both.", field=given[0])
    return services.counter.count(native.read_body(body))


# ---------------------------------------------------------------- GET

@router.get(
    "/v1/usage", operation_id="usage", response_model=UsageAnswer,
    summary="What was counted and billed, by time, model and project",
    responses={200: {"content": {media: {"schema": {"type": "string"}} for media in ("text/csv", "text/plain")}}},
)
def get_usage(
    query: Annotated[UsageQuery, Query()], services: Shared, now: Now,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Json:
    """JSON, CSV, or gauges for Prometheus. `complete` is false where another process may know more."""
    question = read_question(query.model_dump(by_alias=True, exclude_none=True), accept, now)
    ledger = services.ledger
    rows, failure = ledger.read("usage", question.span.start, question.span.end)
    wanted = [
        (account, sums) for account, sums in rows
        if question.project in (None, account.who) and question.model in (None, account.what)
    ]
    shown = report(wanted, question.span, question.groups)
    if question.shape == "csv":
        return _text("text/csv; charset=utf-8", usage_csv(question, shown).encode())
    if question.shape == "prometheus":
        if failure is not None:
            raise Overloaded("The ledger cannot be read at the moment: no number is better than a part of it.")
        media, content = usage_exposition(question.groups, shown)
        return _text(media.decode(), content)
    return usage_json(question, shown, ledger.store.where, failure, alone=ledger.alone)


def _text(content_type: str, content: bytes) -> Response:
    return Response(content, headers={"content-type": content_type})


@router.get(
    "/v1/usage/drift", operation_id="usage_drift", response_model=DriftAnswer,
    summary="Counted against billed tokens, by family",
)
def get_drift(query: Annotated[DriftQuery, Query()], services: Shared, now: Now) -> Json:
    """Only calls whose bill was reported, with what had been counted for them."""
    span = read_question(query.model_dump(by_alias=True, exclude_none=True), "", now).span
    ledger = services.ledger
    rows, failure = ledger.read("drift", span.start, span.end)
    sums: dict[tuple[str, str], list[int]] = {}
    for account, amounts in rows:
        total = sums.setdefault((account.who, account.what), [0] * len(DRIFT_COLUMNS))
        for column, amount in enumerate(amounts):
            total[column] += amount
    drifts = [Drift(*key, dict(zip(DRIFT_COLUMNS, sums[key], strict=True))) for key in sorted(sums)]
    return drift_json(span, drifts, ledger.store.where, failure, alone=ledger.alone)
