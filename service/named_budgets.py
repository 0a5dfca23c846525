"""Named budgets as an operator sets them: so much money or so many tokens a day, a month or in all.

    [budgets.team-a]                # in the catalog file, beside aliases and models
    limit_usd = "50"                # or limit_tokens = 2000000
    per = "day"                     # day, month (the default) or total
    zone = "Asia/Seoul"             # whose midnight ends a day; UTC by default
    lease_seconds = 600             # how long a reservation holds
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, cast
from zoneinfo import ZoneInfo

from service.catalog import CatalogFileError
from service.errors import NotFound

Unit = Literal["usd", "tokens"]
Span = Literal["day", "month", "total"]

NANOS = 10**9
"""Money is kept in billionths of a dollar: the cheapest token listed costs ten of them."""

MOST = 9 * 10**15
"""Largest limit and amount: 9,000,000 USD. Integers up to here are exact where a Redis script compares doubles."""


@dataclass(frozen=True, slots=True)
class Budget:
    """`limit` in nano-dollars or tokens for each `span` by the calendar of `zone`."""

    name: str
    unit: Unit
    limit: int
    span: Span = "month"
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    lease_seconds: int = 600

    def period(self, at: datetime) -> tuple[datetime, datetime | None]:
        """The half-open period [start, end) that `at` is in, as UTC instants; a `total` has one that never ends."""
        if self.span == "total":
            return datetime(1970, 1, 1, tzinfo=UTC), None
        day = at.astimezone(self.zone).date()
        first = day if self.span == "day" else day.replace(day=1)
        after = day + timedelta(days=1) if self.span == "day" else (first + timedelta(days=32)).replace(day=1)
        start, end = (datetime(d.year, d.month, d.day, tzinfo=self.zone).astimezone(UTC) for d in (first, after))
        return start, end


def find_budget(budgets: Mapping[str, Budget], name: str) -> Budget:
    """The budget of that name; raises NotFound."""
    budget = budgets.get(name)
    if budget is None:
        raise NotFound("No budget has this name: budgets are listed at /v1/budgets and set in the catalog file.")
    return budget


# ---------------------------------------------------------------- from the file

_KEYS = ("limit_usd", "limit_tokens", "per", "zone", "lease_seconds")
_LONGEST_LEASE = 7 * 24 * 3600


def read_budgets(path: Path | None) -> dict[str, Budget]:
    """The budgets of a catalog file, none where there is no file. Raises CatalogFileError naming place and want."""
    if path is None:
        return {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogFileError(f"{path}: cannot be read: {error}") from None
    rows = tables.get("budgets", {})
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise CatalogFileError(f"{path}: budgets must be a table of tables")
    return {name: _read_budget(name, row, f"{path}: budgets.{name}") for name, row in rows.items()}


def _read_budget(name: str, row: Mapping[str, Any], place: str) -> Budget:
    unknown = next((key for key in row if key not in _KEYS), None)
    if unknown is not None:
        raise CatalogFileError(f"{place}.{unknown} is not known; known: {', '.join(_KEYS)}")
    if ("limit_usd" in row) == ("limit_tokens" in row):
        raise CatalogFileError(f"{place} needs one of limit_usd and limit_tokens")
    unit: Unit = "usd" if "limit_usd" in row else "tokens"
    span = row.get("per", "month")
    if span not in ("day", "month", "total"):
        raise CatalogFileError(f"{place}.per must be day, month or total")
    seconds = row.get("lease_seconds", 600)
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 1 <= seconds <= _LONGEST_LEASE:
        raise CatalogFileError(f"{place}.lease_seconds must be a whole number from 1 to {_LONGEST_LEASE}")
    limit = _limit(row[f"limit_{unit}"], unit, f"{place}.limit_{unit}")
    return Budget(name, unit, limit, cast(Span, span), _zone(row.get("zone", "UTC"), f"{place}.zone"), seconds)


def _limit(value: object, unit: Unit, place: str) -> int:
    wanted = f'{place} must be an amount such as "50.00"' if unit == "usd" else f"{place} must be a whole number"
    if isinstance(value, bool) or not isinstance(value, (int, str, Decimal)):
        raise CatalogFileError(wanted)
    try:
        amount = Decimal(value) * (NANOS if unit == "usd" else 1)
    except InvalidOperation:
        raise CatalogFileError(wanted) from None
    if not amount.is_finite() or not 0 <= amount <= MOST or amount != int(amount):
        raise CatalogFileError(wanted)
    return int(amount)


def _zone(value: object, place: str) -> ZoneInfo:
    try:
        return ZoneInfo(str(value))
    except (KeyError, ValueError, OSError):
        raise CatalogFileError(f"{place} must be a time zone such as Europe/Berlin") from None
