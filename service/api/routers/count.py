"""Counting in the native dialect: one text, several texts or a whole request; and up to 1,000 of them in one call."""

from __future__ import annotations

from fastapi import APIRouter

from service.api.auth import needs
from service.api.operations import Count, CountBatch
from service.api.routing import RawRoute, raw
from service.api.schemas.count import BatchAnswer, BatchBody, CountAnswer
from service.api.schemas.errors import describe_errors
from service.dialects import native
from service.dialects.native_schema import CountBody

router = APIRouter(
    route_class=RawRoute, dependencies=[needs("count")], tags=["native"], responses=describe_errors(native.WIRE)
)


@router.post(
    "/v1/countTokens", operation_id="count_tokens", response_model=CountAnswer,
    summary="Count the input tokens of a text, several texts or a whole request",
)
@raw(Count(native.COUNT, takes_text=True))
def count_tokens(body: CountBody) -> None:
    """Give exactly one of `text`, `texts` and `request`, and say what to count for: `model`, `tokenizer` or `provider`.
    A `text/plain` body is the text itself; the other fields are then in the query."""


@router.post(
    "/v1/countTokens:batch", operation_id="count_tokens_batch", response_model=BatchAnswer,
    summary="Count up to 1,000 things in one call",
)
@raw(CountBatch())
def count_tokens_batch(body: BatchBody) -> None:
    """Results stand in the order of the items. An item that cannot be counted has its error in its place."""
