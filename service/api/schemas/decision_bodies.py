"""What the decision routes take, as pydantic models: they check bodies and describe them in OpenAPI."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.dialects.native_schema import CountBody
from service.errors import InvalidRequest
from service.pricing.prices import SERVICE_TIERS, ServiceTier

MOST_TOKENS = 10**9

Money = str | int | float
"""An amount in USD. A number is taken by its shortest decimal writing, which is what the caller wrote."""

_AMOUNT = re.compile(r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")
"""Narrower than what Decimal takes: no underscores, no blanks, no digits of other scripts, no NaN."""

_TIER_ALIASES: dict[str, ServiceTier] = {"default": "standard", "auto": "standard", "on_demand": "standard"}

_TIER = Field("standard", description="standard, batch, flex, priority or fast.")
_AT = Field(None, description="Prices of this instant or day (ISO 8601, UTC unless it says otherwise); now if absent.")


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class EstimateBody(_Body):
    """Usage to be priced, in disjoint buckets or as a provider returned it."""

    model: str = Field(description="A model by any of its names; its host's price list applies.")
    usage: dict[str, Any] = Field(description="Buckets (input, cache_read, output, ...) or a provider's usage object.")
    dialect: Literal["openai.chat", "openai.responses", "anthropic", "google"] | None = Field(
        None, description="Whose usage object it is; told from its field names when absent."
    )
    service_tier: str = _TIER
    at: str | None = _AT


class CheckBody(CountBody):
    """What to count, as in countTokens, and what it must fit."""

    max_input_tokens: int | None = Field(None, ge=0, le=MOST_TOKENS)
    max_output_tokens: int | None = Field(None, ge=0, le=MOST_TOKENS, description="What the request will ask for.")
    max_cost_usd: Money | None = Field(None, description="For input and max_output_tokens together.")
    service_tier: str = _TIER
    at: str | None = _AT


class CompareBody(CountBody):
    """What to count, as in countTokens, over several models."""

    models: list[str] = Field(min_length=1, max_length=50)
    output_tokens: int = Field(0, ge=0, le=MOST_TOKENS, description="Output priced along.")


class TruncateBody(_Body):
    """A text or a whole request to be cut to at most max_tokens."""

    model: str | None = None
    tokenizer: str | None = None
    text: str | None = None
    request: dict[str, Any] | None = Field(None, description="A whole request: its oldest turns are dropped.")
    dialect: str | None = None
    platform: Literal["gemini-api", "vertex"] | None = None
    max_tokens: int = Field(ge=1, le=MOST_TOKENS)
    cut_from: Literal["end", "start", "middle"] = Field("end", description="Where text is taken away.")
    marker: str = Field("", max_length=1000, description="Stands where text was taken away; counted in.")


class SplitBody(_Body):
    """A text to be split into pieces of at most max_tokens."""

    model: str | None = None
    tokenizer: str | None = None
    text: str
    max_tokens: int = Field(ge=1, le=MOST_TOKENS)
    overlap_tokens: int = Field(0, ge=0, le=MOST_TOKENS, description="How much of a piece the next one repeats.")
    split_at: Literal["character", "word", "sentence", "line", "paragraph"] = Field(
        "character", description="Where pieces end when one is in their second half."
    )


class ReserveBody(CountBody):
    """An amount to be leased: said, or counted from a request with max_output_tokens."""

    amount_usd: Money | None = None
    tokens: int | None = Field(None, ge=0, le=MOST_TOKENS)
    max_output_tokens: int | None = Field(None, ge=0, le=MOST_TOKENS)
    service_tier: str = _TIER


class SettleBody(_Body):
    """What was billed: an amount, tokens, or a provider's usage object with the model."""

    lease_id: str = Field(max_length=100)
    amount_usd: Money | None = None
    tokens: int | None = Field(None, ge=0, le=MOST_TOKENS)
    model: str | None = None
    usage: dict[str, Any] | None = None
    dialect: Literal["openai.chat", "openai.responses", "anthropic", "google"] | None = None
    service_tier: str = _TIER


class ReleaseBody(_Body):
    lease_id: str = Field(max_length=100)


BODIES: tuple[type[BaseModel], ...] = (
    EstimateBody, CheckBody, CompareBody, TruncateBody, SplitBody, ReserveBody, SettleBody, ReleaseBody,
)


def as_tier(value: str, path: str = "service_tier") -> ServiceTier:
    """A service tier by our name or a provider's."""
    tier = _TIER_ALIASES.get(value, value)
    if tier not in SERVICE_TIERS:
        raise InvalidRequest(f"{path} must be one of {', '.join(SERVICE_TIERS)}.", field=path)
    return tier


def as_instant(value: str | None, path: str = "at") -> datetime | None:
    """An instant in UTC; a day is its first."""
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value)
        at = at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidRequest(f"{path} must be a date or an instant such as 2026-12-01T00:00:00Z.", field=path) from None
    if not 2020 <= at.year < 2100:
        raise InvalidRequest(f"{path} must be from 2020 to 2099.", field=path)
    return at


def as_money(value: Money | None, path: str) -> Decimal | None:
    """USD from 0 to 9,000,000."""
    if value is None:
        return None
    text = str(value)
    amount = Decimal(text) if _AMOUNT.fullmatch(text) else None
    if amount is None or amount > 9_000_000:
        raise InvalidRequest(f'{path} must be an amount of USD from 0 to 9000000, such as "0.05".', field=path)
    return amount
