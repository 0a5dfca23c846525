"""The totals of a corpus: sums by model and failures, in limited memory, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from service.pricing.prices import format_decimal
from service.types import Json, TokenCount

FIRST_FAILURES = 10
"""Failures that the summary shows. The output has all of them."""

MAX_MODELS = 1_000
"""Names of models that have sums of their own. Whole requests name their models, and each may name another one."""

OTHERS = "(others)"
NO_MODEL = "(none)"
"""Stands for the model of a record that failed before its model was known."""


@dataclass(slots=True)
class Sums:
    """The sums of one model. `usd` is the cost of the records whose price is known, `unpriced` the number of others."""

    records: int = 0
    failed: int = 0
    input_tokens: int = 0
    low: int = 0
    high: int = 0
    bytes: int = 0
    usd: Decimal = Decimal(0)
    unpriced: int = 0
    methods: dict[str, int] = field(default_factory=dict)

    @property
    def cost(self) -> Decimal | None:
        """US dollars, or None where the price of a record is not known."""
        return None if self.unpriced else self.usd

    def add(self, other: Sums) -> None:
        self.records += other.records
        self.failed += other.failed
        self.input_tokens += other.input_tokens
        self.low += other.low
        self.high += other.high
        self.bytes += other.bytes
        self.usd += other.usd
        self.unpriced += other.unpriced
        for method, number in other.methods.items():
            self.methods[method] = self.methods.get(method, 0) + number


@dataclass(frozen=True, slots=True)
class Failure:
    """Where and why something was not counted, never its text. Without a row it is a file."""

    file: str
    row: int | None
    code: str
    reason: str


@dataclass(slots=True)
class Totals:
    """All sums of a corpus. `failed_files` are the files that could not be read to their end, `codes` the number of
    failed records and files by error code."""

    by_model: dict[str, Sums] = field(default_factory=dict)
    failed_files: int = 0
    codes: dict[str, int] = field(default_factory=dict)
    first: list[Failure] = field(default_factory=list)

    def count(self, name: str, count: TokenCount, size: int) -> None:
        sums = self._sums(name)
        sums.records += 1
        sums.bytes += size
        sums.input_tokens += count.input_tokens
        sums.low += count.low
        sums.high += count.high
        sums.methods[count.method] = sums.methods.get(count.method, 0) + 1
        if count.cost is None:
            sums.unpriced += 1
        else:
            sums.usd += count.cost.usd

    def fail(self, name: str, failure: Failure, size: int) -> None:
        if failure.row is None:
            self.failed_files += 1
        else:
            sums = self._sums(name)
            sums.records += 1
            sums.failed += 1
            sums.bytes += size
        self.codes[failure.code] = self.codes.get(failure.code, 0) + 1
        if len(self.first) < FIRST_FAILURES:
            self.first.append(failure)

    def add(self, other: Totals) -> None:
        """Add the totals of the records that follow."""
        for name, sums in other.by_model.items():
            self._sums(name).add(sums)
        self.failed_files += other.failed_files
        for code, number in other.codes.items():
            self.codes[code] = self.codes.get(code, 0) + number
        self.first = [*self.first, *other.first][:FIRST_FAILURES]

    def _sums(self, name: str) -> Sums:
        if name not in self.by_model and len(self.by_model) >= MAX_MODELS:
            name = OTHERS
        return self.by_model.setdefault(name, Sums())

    @property
    def all(self) -> Sums:
        """The sums of all models together."""
        total = Sums()
        for sums in self.by_model.values():
            total.add(sums)
        return total

    @property
    def is_clean(self) -> bool:
        return not self.codes


def as_json(totals: Totals) -> dict[str, Json]:
    """The totals as JSON, for the summary. `from_json` reads it."""
    return {
        **_sums_json(totals.all), "failed_files": totals.failed_files,
        "models": {name: _sums_json(sums) for name, sums in totals.by_model.items()},
        "errors": totals.codes,
        "first_errors": [
            {"file": f.file, "row": f.row, "error": f.code, "reason": f.reason} for f in totals.first
        ],
    }


def _sums_json(sums: Sums) -> dict[str, Json]:
    return {
        "records": sums.records, "failed": sums.failed, "input_tokens": sums.input_tokens,
        "error_band": {"low": sums.low, "high": sums.high}, "methods": sums.methods, "bytes": sums.bytes,
        "cost": {
            "currency": "USD", "input": None if sums.cost is None else format_decimal(sums.cost),
            "known": format_decimal(sums.usd), "unpriced": sums.unpriced,
        },
    }


def from_json(value: Mapping[str, Json]) -> Totals:
    """The totals in JSON. Raises KeyError, TypeError or ValueError for JSON that `as_json` did not write."""
    return Totals(
        {name: _sums_from(sums) for name, sums in value["models"].items()}, int(value["failed_files"]),
        dict(value["errors"]),
        [Failure(row["file"], row["row"], row["error"], row["reason"]) for row in value["first_errors"]],
    )


def _sums_from(value: Mapping[str, Json]) -> Sums:
    band, cost = value["error_band"], value["cost"]
    return Sums(
        value["records"], value["failed"], value["input_tokens"], band["low"], band["high"], value["bytes"],
        Decimal(cost["known"]), cost["unpriced"], dict(value["methods"]),
    )
