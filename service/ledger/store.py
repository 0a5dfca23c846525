"""Where the sums of the ledger are kept: accounts, what a store does, and the store in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol

from service.ledger.drift import DRIFT_COLUMNS

QUARTER_SECONDS = 900

Table = Literal["usage", "drift"]

USAGE_COLUMNS = (
    "calls", "input_tokens", "usd", "picodollars", "unpriced_calls",
    "billed_calls", "billed_input_tokens", "billed_output_tokens", "billed_usd", "billed_picodollars",
    "billed_unpriced_calls",
)
"""What was counted, and what was reported as billed with `POST /v1/usage`.

Money is in two columns, whole dollars and 10^-12 dollars. Both are integers, because a store can only add integers of
64 bits. So sums are exact.
"""

COLUMNS: Mapping[Table, tuple[str, ...]] = {"usage": USAGE_COLUMNS, "drift": DRIFT_COLUMNS}

PICO = 10**12

MAX_ROWS = 50_000
"""Rows of a store in memory: about 20 MB."""

@dataclass(frozen=True, slots=True)
class Account:
    """What sums belong to. In the table of usage `who` is a project and `what` a model. In the table of drift they are
    a family and a method of counting."""

    table: Table
    quarter: int
    who: str
    what: str


Sums = list[int]
"""Numbers in the order of the columns of the account's table."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Sums to be added once. When it is not known whether they were, the same batch is sent again."""

    name: str
    rows: Mapping[Account, Sums]


class StoreFailed(Exception):
    """A store failed. `reason` is from a closed set."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LedgerStore(Protocol):
    """Where sums are kept. Synchronous; may block. Raises StoreFailed."""

    where: Literal["memory", "redis"]

    def add(self, batch: Batch) -> None: ...

    def read(self, table: Table, start: int, end: int) -> Iterator[tuple[Account, Sums]]:
        """The rows of quarters from `start` to before `end`."""
        ...


def money(sums: Mapping[str, int], name: str) -> Decimal:
    """US dollars, from the column `name` and its column of 10^-12 dollars."""
    return sums[name] + Decimal(sums[picodollar_column(name)]) / PICO


def picodollar_column(name: str) -> str:
    return name.replace("usd", "picodollars")


class MemoryLedger:
    """Rows of this process only: each worker has its own. They are lost at a restart.

    When there are more than `max_rows` rows, the oldest quarters are dropped.
    """

    where: Literal["memory", "redis"] = "memory"

    def __init__(self, keep_seconds: int, max_rows: int = MAX_ROWS, clock: Callable[[], float] = time.time) -> None:
        self._keep_quarters = keep_seconds // QUARTER_SECONDS
        self._max_rows = max_rows
        self._clock = clock
        self._quarters: dict[int, dict[Account, Sums]] = {}
        self._rows = 0
        self._lock = threading.Lock()

    def add(self, batch: Batch) -> None:
        with self._lock:
            for account, amounts in batch.rows.items():
                rows = self._quarters.setdefault(account.quarter, {})
                before = rows.get(account)
                if before is None:
                    self._rows += 1
                    before = [0] * len(amounts)
                rows[account] = [a + b for a, b in zip(before, amounts, strict=True)]
            self._drop_old()

    def _drop_old(self) -> None:
        oldest_kept = int(self._clock()) // QUARTER_SECONDS - self._keep_quarters
        for quarter in sorted(self._quarters):
            if quarter >= oldest_kept and self._rows <= self._max_rows:
                break
            self._rows -= len(self._quarters.pop(quarter))

    def read(self, table: Table, start: int, end: int) -> Iterator[tuple[Account, Sums]]:
        with self._lock:
            found = [
                (account, list(sums)) for quarter, rows in self._quarters.items() if start <= quarter < end
                for account, sums in rows.items() if account.table == table
            ]
        yield from found
