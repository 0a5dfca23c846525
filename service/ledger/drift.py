"""Drift: how far counts were from bills, per family. Only calls whose bill was reported are in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BANDS = (("exact", 0), ("within_1_percent", 1), ("within_5_percent", 5), ("within_15_percent", 15))
"""(name, percent): a call is in the first band for which its count is off by at most that percentage of the bill."""

BEYOND = "beyond_15_percent"

DRIFT_COLUMNS = ("calls", "counted_tokens", "billed_tokens", "under", "over", *(name for name, _ in BANDS), BEYOND)
"""`under` and `over` are the calls that were counted lower, and higher, than they were billed."""


def drift_sums(counted: int, billed: int) -> dict[str, int]:
    """What one call adds to the columns, without the zeros."""
    band = next((name for name, percent in BANDS if 100 * abs(counted - billed) <= percent * billed), BEYOND)
    side = {"under": 1} if counted < billed else {"over": 1} if counted > billed else {}
    return {"calls": 1, "counted_tokens": counted, "billed_tokens": billed, **side, band: 1}


@dataclass(frozen=True, slots=True)
class Drift:
    """The drift of a family and a method. `ratio` is counted divided by billed tokens; None when nothing was billed."""

    family: str
    method: str
    sums: Mapping[str, int]

    @property
    def ratio(self) -> float | None:
        billed = self.sums["billed_tokens"]
        return self.sums["counted_tokens"] / billed if billed else None
