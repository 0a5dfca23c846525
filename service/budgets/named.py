"""Named budgets, as an operator sets them: an amount of money or of tokens per day, per month or in total.

    [budgets.team-a]                # in the catalog file, beside aliases and models, or in a file of its own
    limit_usd = "50"                # or limit_tokens = 2000000
    per = "day"                     # day, month (the default) or total
    zone = "Asia/Seoul"             # whose midnight ends a day; UTC by default
    lease_seconds = 600             # how long a reservation lasts
"""

from __future__ import annotations

import re
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
"""Money is kept in billionths of a dollar. The cheapest token in the price lists costs ten of them."""

MAX_AMOUNT = 9 * 10**15
"""The largest limit and amount: 9,000,000 USD. A Redis script compares doubles, which are exact up to here."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit for each `span`, by the calendar of `zone`. `limit` is in billionths of a dollar or in tokens."""

    name: str
    unit: Unit
    limit: int
    span: Span = "month"
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    lease_seconds: int = 600

    @property
    def account_key(self) -> str:
        """The key of its amounts. A budget with the same name in another unit is another budget."""
        return f"{self.unit} {self.name}"

    def period(self, at: datetime) -> tuple[datetime, datetime | None]:
        """The period [start, end) that `at` is in, in UTC. A `total` has a single period that never ends."""
        if self.span == "total":
            return datetime(1970, 1, 1, tzinfo=UTC), None
        day = at.astimezone(self.zone).date()
        first = day if self.span == "day" else day.replace(day=1)
        after = day + timedelta(days=1) if self.span == "day" else (first + timedelta(days=32)).replace(day=1)
        start, end = (datetime(d.year, d.month, d.day, tzinfo=self.zone).astimezone(UTC) for d in (first, after))
        return start, end


def find_budget(budgets: Mapping[str, Budget], name: str) -> Budget:
    """The budget with this name. Raises NotFound."""
    budget = budgets.get(name)
    if budget is None:
        raise NotFound("No budget has this name: /v1/budgets lists them, the operator's files set them.", field="name")
    return budget


# ---------------------------------------------------------------- from the files

_KEYS = ("limit_usd", "limit_tokens", "per", "zone", "lease_seconds")
_MAX_LEASE_SECONDS = 7 * 24 * 3600

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
"""What a budget's name looks like. It stands in the path of a URL without escaping."""


def read_budgets(catalog_file: Path | None, budgets_file: Path | None = None) -> dict[str, Budget]:
    """The budgets of the catalog file and of the budgets file, by name. Raises CatalogFileError."""
    found: dict[str, Budget] = {}
    for path in dict.fromkeys(path for path in (catalog_file, budgets_file) if path is not None):
        tables = _read_tables(path)
        unknown = next((key for key in tables if key != "budgets"), None)
        if unknown is not None and path != catalog_file:
            raise CatalogFileError(f"{path}: {unknown} does not belong here; known: budgets")
        for name, row in _read_rows(tables, path).items():
            place = f"{path}: budgets.{name}"
            if name in found:
                raise CatalogFileError(f"{place} is in {catalog_file}, too: leave one out")
            found[name] = _read_budget(name, row, place)
    return found


def _read_tables(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        raise CatalogFileError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise CatalogFileError(f"{path}: is not TOML: {error}") from None


def _read_rows(tables: Mapping[str, Any], path: Path) -> Mapping[str, Mapping[str, Any]]:
    rows = tables.get("budgets", {})
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise CatalogFileError(f"{path}: budgets must be a table of tables")
    return rows


def _read_budget(name: str, row: Mapping[str, Any], place: str) -> Budget:
    if not _NAME.fullmatch(name):
        raise CatalogFileError(f"{place}: a budget's name is up to 64 letters, digits, dots, dashes and underscores")
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
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 1 <= seconds <= _MAX_LEASE_SECONDS:
        raise CatalogFileError(f"{place}.lease_seconds must be a whole number from 1 to {_MAX_LEASE_SECONDS}")
    limit = _read_limit(row[f"limit_{unit}"], unit, f"{place}.limit_{unit}")
    return Budget(name, unit, limit, cast(Span, span), _read_zone(row.get("zone", "UTC"), f"{place}.zone"), seconds)


def _read_limit(value: object, unit: Unit, place: str) -> int:
    wanted = f'{place} must be an amount such as "50.00"' if unit == "usd" else f"{place} must be a whole number"
    if isinstance(value, bool) or not isinstance(value, (int, str, Decimal)):
        raise CatalogFileError(wanted)
    try:
        amount = Decimal(value) * (NANOS if unit == "usd" else 1)
    except InvalidOperation:
        raise CatalogFileError(wanted) from None
    if not amount.is_finite() or not 0 <= amount <= MAX_AMOUNT or amount != int(amount):
        raise CatalogFileError(wanted)
    return int(amount)


def _read_zone(value: object, place: str) -> ZoneInfo:
    try:
        return ZoneInfo(str(value))
    except (KeyError, ValueError, OSError):
        raise CatalogFileError(f"{place} must be a time zone such as Europe/Berlin") from None
