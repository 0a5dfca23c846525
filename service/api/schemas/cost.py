"""What usage costs, whether a request fits, and the same input over several models."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.api.schemas.base import (
    Answer,
    Body,
    Bucket,
    PriceStatus,
    ServiceTierName,
    UnknownUsd,
    UsageDialect,
)
from service.api.schemas.counts import CountSummary, MaybeModel, NamedModel, Quote
from service.api.schemas.errors import ErrorDetail
from service.dialects.native_schema import CountBody, JsonObject
from service.dialects.values import MAX_TOKENS, UsdAmount
from service.pricing.compare import MAX_MODELS

PRICES_AT = "Prices of this instant or day (ISO 8601, UTC unless it says otherwise); now if absent."
USAGE = "Buckets (input, cache_read, output, ...) or a provider's usage object."
USAGE_DIALECT = "Whose usage object it is; told from its field names when absent."

# ---------------------------------------------------------------- POST /v1/estimateCost


class EstimateBody(Body):
    """Usage to be priced, in disjoint buckets or as a provider returned it."""

    model: str = Field(description="A model by any of its names; its host's price list applies.")
    usage: JsonObject = Field(description=USAGE)
    dialect: UsageDialect | None = Field(None, description=USAGE_DIALECT)
    service_tier: ServiceTierName = "standard"
    at: str | None = Field(None, description=PRICES_AT)


class _PricedUsage(NamedModel):
    usage: dict[Bucket, int] = Field(description="The usage in disjoint buckets, those without any left out.")
    at: str | None = Field(description="As asked, in UTC. Null where the prices are those of now.")


class EstimateAnswer(Quote, _PricedUsage):
    """What the usage costs."""


# ---------------------------------------------------------------- POST /v1/checkBudget


class CheckBody(CountBody):
    """What to count, as in countTokens, and what it must fit."""

    max_input_tokens: int | None = Field(None, ge=0, le=MAX_TOKENS)
    max_output_tokens: int | None = Field(None, ge=0, le=MAX_TOKENS, description="What the request will ask for.")
    max_cost_usd: UsdAmount | None = Field(None, description="For input and max_output_tokens together.")
    service_tier: ServiceTierName = "standard"
    at: str | None = Field(None, description=PRICES_AT)


class ConstraintCheck(Answer):
    """A limit that was looked at.

    allowed, needed and headroom are tokens, or US dollars as decimal strings for max_cost_usd. They are null where
    they are not known.
    """

    constraint: Literal["context_window", "max_input_tokens", "max_output_tokens", "max_cost_usd", "count"]
    fits: bool | None = Field(description="Null where it cannot be decided.")
    reason: str
    allowed: int | str | None
    needed: int | str | None
    headroom: int | str | None = Field(description="allowed less needed; negative where it does not fit.")


class _Verdict(Answer):
    decision: Literal["fits", "does_not_fit", "cannot_decide"]
    fits: bool | None = Field(description="Null where it cannot be decided.")
    reasons: list[str] = Field(description="Why it does not fit, or cannot be decided.")
    constraints: list[ConstraintCheck]
    largest_output_tokens: int | None = Field(
        description="The longest answer that still fits everything known. Null where nothing bounds it."
    )


class _CheckedCount(CountSummary, MaybeModel, _Verdict):
    """The fields of the last base come first."""


class CheckAnswer(_CheckedCount):
    """Whether a request fits. The upper end of the error band decides, so what is said to fit does."""

    cost: Quote | None = Field(description="Null where a tokenizer was named: it has no price.")


# ---------------------------------------------------------------- POST /v1/compare


class CompareBody(CountBody):
    """What to count, as in countTokens, over several models."""

    models: list[str] = Field(min_length=1, max_length=MAX_MODELS)
    output_tokens: int = Field(0, ge=0, le=MAX_TOKENS, description="Output priced along.")


class _CountedModel(CountSummary, NamedModel):
    """The fields of the last base come first."""


class ComparedModel(_CountedModel):
    """What the input is for one model."""

    context_window: int | None = Field(description="In tokens. Null where it is not known.")
    window_share: str | None = Field(
        description="Input tokens by the longest input allowed: a decimal string. Null where that is not known."
    )
    cost: UnknownUsd
    currency: Literal["USD"]
    price_status: PriceStatus
    prices_version: str


class ModelFailure(Answer):
    """A model that the input cannot be counted for."""

    model_ref: str
    error: ErrorDetail


class CompareAnswer(Answer):
    """Priced rows come first, the cheapest at the top; then those without a price, then failures."""

    rows: list[ComparedModel | ModelFailure]
    cheapest: str | None = Field(description="The model_ref of the cheapest. Null where no row has a price.")
