"""Parts that answers about several nouns have: which model it is, a count in brief, what usage costs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.api.schemas.base import (
    Absent,
    Answer,
    Bucket,
    Method,
    ModelMatch,
    PriceStatus,
    ServiceTier,
    UnknownUsd,
    Usd,
)

# ---------------------------------------------------------------- counts


class ErrorBand(Answer):
    """Billed tokens are expected from low to high, inclusive."""

    low: int
    high: int


class UncountedItem(Answer):
    """Something that could not be counted from the body; assumed_tokens are in the total all the same."""

    path: str
    kind: str
    reason: str
    assumed_tokens: int


class WarningItem(Answer):
    """A repair or a choice made on the caller's behalf."""

    code: str
    path: str


class CountSummary(Answer):
    """A count in brief. All numbers are tokens."""

    input_tokens: int
    method: Method
    error_band: ErrorBand
    tokenizer: str
    uncounted: list[UncountedItem]
    warnings: list[WarningItem]


# ---------------------------------------------------------------- models


class NamedModel(Answer):
    """What every answer says of the model it is for. rule says how the name was understood."""

    model: str = Field(description="The canonical id.")
    model_ref: str = Field(description="The name that was sent.")
    model_match: ModelMatch
    rule: str
    provider: str
    host: str = Field(description="Who serves the model: its price list applies.")


class MaybeModel(Answer):
    """The same where a tokenizer may be named in place of a model: then model is null, and the rest is not there."""

    model: str | None = Field(description="The canonical id. Null where a tokenizer was named.")
    model_ref: str | Absent = Field(None, description="The name that was sent. Only where a model was named.")
    model_match: ModelMatch | Absent = Field(None, description="Only where a model was named.")
    rule: str | Absent = Field(None, description="How the name was understood. Only where a model was named.")
    provider: str | Absent = Field(None, description="Only where a model was named.")
    host: str | Absent = Field(None, description="Who serves the model. Only where a model was named.")


# ---------------------------------------------------------------- prices


class PriceList(Answer):
    """The row of the price list that applies."""

    provider: str
    model: str


class LineItem(Answer):
    """A bucket's share of the cost: amount is quantity times unit_price, divided by per."""

    bucket: Bucket
    quantity: int
    unit_price: Usd
    per: int = Field(description="How many units the unit_price is for.")
    above_input_tokens: int | None = Field(
        description="The rate is the one for requests with more input tokens than this. Null for the lowest rate."
    )
    amount: Usd


class Quote(Answer):
    """What usage costs. An unknown price is null, never 0."""

    currency: Literal["USD"]
    total: UnknownUsd
    price_status: PriceStatus
    prices_version: str
    service_tier: ServiceTier
    price_list: PriceList | None = Field(description="Null where no price list has the model.")
    line_items: list[LineItem] = Field(description="Empty where the total is not known.")
    unpriced: list[Bucket] = Field(description="The buckets that the price list has no price for.")
    reason: str | None = Field(description="Why a price is unknown or inferred. Null where it is known.")
