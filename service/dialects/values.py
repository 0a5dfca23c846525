"""Reading amounts of money, instants and service tiers."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal

from service.errors import InvalidRequest
from service.pricing.prices import SERVICE_TIERS, ServiceTier

MAX_TOKENS = 10**9
"""Largest number of tokens that a body may name as a limit or an amount."""

UsdAmount = str | int | float
"""An amount in US dollars. A number is taken by its shortest decimal form, which is what the caller wrote."""

_AMOUNT = re.compile(r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")
"""Less than Decimal accepts: no underscores, no blanks, no digits of other scripts, no NaN."""

_TIER_ALIASES: dict[str, ServiceTier] = {"default": "standard", "auto": "standard", "on_demand": "standard"}


def parse_tier(value: str, path: str = "service_tier") -> ServiceTier:
    """A service tier, from our name or from that of a provider."""
    tier = _TIER_ALIASES.get(value, value)
    if tier not in SERVICE_TIERS:
        raise InvalidRequest(f"{path} must be one of {', '.join(SERVICE_TIERS)}.", field=path)
    return tier


def parse_instant(value: str | None, path: str = "at") -> datetime | None:
    """An instant in UTC. A date stands for the first instant of its day."""
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


def parse_money(value: UsdAmount | None, path: str) -> Decimal | None:
    """An amount of US dollars from 0 to 9,000,000."""
    if value is None:
        return None
    text = str(value)
    amount = Decimal(text) if _AMOUNT.fullmatch(text) else None
    if amount is None or amount > 9_000_000:
        raise InvalidRequest(f'{path} must be an amount of USD from 0 to 9000000, such as "0.05".', field=path)
    return amount
