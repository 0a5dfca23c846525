"""What usage costs, in Decimal US dollars by the bundled price lists. Never a float, and never 0 for an unknown price.

This is a thin layer over genai-prices. Its data has price tiers (above a threshold of input tokens the whole request
costs the tier's rate), dated and time-of-day prices, and variants for batch and service tiers. What it leaves open is
unknown here, not free: usage that a row does not price, and service tiers that it does not list.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Literal, get_args

from service.catalog import CatalogModel, PriceRow, PriceStatus, version
from service.pricing.usage import Bucket, Usage
from service.types import InputCost

ServiceTier = Literal["standard", "batch", "flex", "priority", "fast"]
SERVICE_TIERS: tuple[ServiceTier, ...] = get_args(ServiceTier)

_CONTEXTS: Mapping[ServiceTier, Mapping[str, str]] = {
    "standard": {},
    "batch": {"processing": "batch"},
    "flex": {"service_tier": "flex"},
    "priority": {"service_tier": "priority"},
    "fast": {"service_tier": "fast", "speed": "fast"},
}

_USAGE_KEYS: Mapping[Bucket, str] = {
    "input": "input_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "cache_write_5m": "cache_write_5m_tokens",
    "cache_write_1h": "cache_write_1h_tokens",
    "input_audio": "input_audio_tokens",
    "input_image": "input_image_tokens",
    "input_video": "input_video_tokens",
    "cache_read_audio": "cache_audio_read_tokens",
    "cache_read_image": "cache_image_read_tokens",
    "cache_read_video": "cache_video_read_tokens",
    "output": "output_tokens",
    "reasoning": "output_reasoning_tokens",
    "output_audio": "output_audio_tokens",
    "output_image": "output_image_tokens",
    "output_video": "output_video_tokens",
    "web_searches": "web_searches",
    "storage_searches": "storage_searches",
    "requests": "requests",
}
"""Bucket -> unit of genai-prices. A unit without a price of its own costs what its parent unit costs."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The price of a bucket: USD for `per` units. `steps` are (start, price): the last start that the input passes
    applies."""

    per: int
    steps: tuple[tuple[int, Decimal], ...]

    def at(self, input_tokens: int) -> tuple[int | None, Decimal]:
        """(threshold that was passed or None, USD for `per` units) for a request of `input_tokens`."""
        start, price = self.steps[0]
        for step in self.steps[1:]:
            if input_tokens > step[0]:
                start, price = step
        return (None if start < 0 else start), price


@dataclass(frozen=True, slots=True)
class LineItem:
    """The cost of one bucket: `amount` = quantity * unit_price / per, in USD. `above` is the tier's threshold or
    None."""

    bucket: Bucket
    quantity: int
    unit_price: Decimal
    per: int
    amount: Decimal
    above: int | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """What usage costs. `total` is the sum of the line items in USD; None when `price_status` is `unknown`.

    `unpriced` names the buckets without a price. `reason` says why a price is unknown or only inferred.
    """

    total: Decimal | None
    line_items: tuple[LineItem, ...]
    price_status: PriceStatus
    prices_version: str
    service_tier: ServiceTier = "standard"
    unpriced: tuple[Bucket, ...] = ()
    reason: str | None = None
    currency: Literal["USD"] = "USD"


def price_input(model: CatalogModel, input_tokens: int, at_minute: int | None = None) -> InputCost | None:
    """What `input_tokens` cost, uncached and at the standard tier. None when the price is not known.

    `at_minute` counts minutes since 1970; None means now. This runs for every count: it takes 2 us of processor time
    when the rate is remembered (2-core machine, 2026-11).
    """
    row = model.price
    at_minute = to_minute() if at_minute is None else at_minute
    rate = None if row is None else _read_rates(row, "standard", at_minute).get("input")
    if row is None or rate is None:
        return None
    _, price = rate.at(input_tokens)
    return InputCost(input_tokens * price / rate.per, "inferred" if row.inferred else "known", prices_version(row))


def quote(model: CatalogModel, usage: Usage, tier: ServiceTier = "standard", at: datetime | None = None) -> Quote:
    """What `usage` costs at `tier` and time `at` (UTC if it has no zone; None means now)."""
    row = model.price
    if row is None:
        return _make_unknown_quote(model, _NO_ROW, tier)
    rates = _read_rates(row, tier, to_minute(at))
    if not rates:
        return _make_unknown_quote(model, f"The price list has no {tier} price for this model at this date.", tier)
    input_tokens = usage.input_tokens
    items: list[LineItem] = []
    unpriced: list[Bucket] = []
    for bucket, quantity in usage.buckets.items():
        rate = rates.get(bucket)
        if rate is not None:
            above, price = rate.at(input_tokens)
            items.append(LineItem(bucket, quantity, price, rate.per, quantity * price / rate.per, above))
        elif bucket != "requests":
            unpriced.append(bucket)
    if unpriced:
        return _make_unknown_quote(model, _NO_RATE, tier, tuple(unpriced))
    total = sum((item.amount for item in items), start=Decimal(0))
    status: PriceStatus = "inferred" if row.inferred else "known"
    reason = _INFERRED if row.inferred else None
    return Quote(total, tuple(items), status, prices_version(row), tier, reason=reason)


def find_rate(
    model: CatalogModel, bucket: Bucket, tier: ServiceTier = "standard", at: datetime | None = None
) -> Rate | None:
    """The rate of one bucket. None when it is not known."""
    return _read_rates(model.price, tier, to_minute(at)).get(bucket) if model.price else None


def prices_version(row: PriceRow | None) -> str:
    """The version of the price list that `row` is from. None means the bundled lists."""
    return (row and row.revision) or version()


def to_minute(at: datetime | None = None) -> int:
    """Minutes since 1970 of `at` (UTC if it has no zone), or of now."""
    return int((at.replace(tzinfo=at.tzinfo or UTC).timestamp() if at else time.time()) // 60)


@lru_cache(1024)
def format_decimal(amount: Decimal) -> str:
    """A Decimal as a string for JSON, without exponent and trailing zeros."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


_NO_ROW = "No price list has this model: put its prices into the catalog file, or name a host that lists it."
_NO_RATE = "The price list prices this model, but not this kind of usage."
_INFERRED = "The price is that of a wider name or of the maker, not of exactly this model and host."


def _make_unknown_quote(
    model: CatalogModel, reason: str, tier: ServiceTier = "standard", unpriced: tuple[Bucket, ...] = ()
) -> Quote:
    return Quote(None, (), "unknown", prices_version(model.price), tier, unpriced, reason)


# ---------------------------------------------------------------- rows -> rates

_FREE = Rate(1_000_000, ((-1, Decimal(0)),))
"""The rate of OpenRouter's `:free` routes, which the list has by name but without prices."""

@lru_cache(4096)
def _read_rates(row: PriceRow, tier: ServiceTier, at_minute: int) -> Mapping[Bucket, Rate]:
    """The rate of each bucket at a minute since 1970. Empty when the row has no prices for the tier then.

    No list changes a price within a minute. So rates remembered by minute stay right for dated and time-of-day prices.
    """
    at = datetime.fromtimestamp(at_minute * 60, UTC)
    context = dict(_CONTEXTS[tier])
    if context and not any(
        all(context.get(key) == value for key, value in variant.when.items())
        and (variant.constraint is None or variant.constraint.active(at))
        for variant in row.info.price_variants or ()
    ):
        return MappingProxyType({})
    prices = row.info.get_prices(at, context or None)
    if row.row_id.endswith(":free") and not vars(prices):
        return MappingProxyType(dict.fromkeys(_USAGE_KEYS, _FREE))
    rates: dict[Bucket, Rate] = {}
    for bucket, usage_key in _USAGE_KEYS.items():
        for price_key, per in _find_price_keys(usage_key):
            price = getattr(prices, price_key)
            if price is not None:
                rates[bucket] = Rate(per, _read_steps(price))
                break
    return MappingProxyType(rates)


def _read_steps(price: object) -> tuple[tuple[int, Decimal], ...]:
    if isinstance(price, Decimal):
        return ((-1, price),)
    tiers = sorted((tier.start, tier.price) for tier in price.tiers)  # type: ignore[attr-defined]
    return ((-1, price.base), *tiers)  # type: ignore[attr-defined]


@cache
def _find_price_keys(usage_key: str) -> tuple[tuple[str, int], ...]:
    """(price key, units that the price is for) of a unit and its parents, the most specific first."""
    from genai_prices.data_units import unit_data

    own = unit_data[usage_key]["dimensions"].items()
    covering = [unit for unit in unit_data.values() if unit["dimensions"].items() <= own]
    covering.sort(key=lambda unit: -len(unit["dimensions"]))
    return tuple((unit["price_key"], unit["per"]) for unit in covering)
