"""What was counted and what was billed: tokens, cost and calls by time, project and model.

A request leaves a note and goes on. Every second a background thread adds the notes up and gives the sums to a store.
After a failure the store gets the same batch again. Each batch has a name, so that it is added only once. Time is in
quarters of an hour (UTC), because the days and hours of every time zone begin at one.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple, Protocol

from service.catalog import CatalogModel
from service.concurrency.periodic import PeriodicTask
from service.ledger.drift import drift_sums
from service.ledger.store import (
    COLUMNS,
    PICO,
    QUARTER_SECONDS,
    Account,
    Batch,
    LedgerStore,
    StoreFailed,
    Sums,
    Table,
    picodollar_column,
)
from service.types import TokenCount

LOG = logging.getLogger("tallystick")

FLUSH_SECONDS = 1.0
MAX_NOTES = 100_000
MAX_WAITING_ROWS = 50_000
"""Notes, and rows of sums that wait while a store fails: about 20 MB. More are dropped and counted as dropped."""

OTHER = "other"
"""The label of models that the catalog knows only by their family, or not at all. Callers can write anything there."""


class LedgerEvents(Protocol):
    """What happens in the ledger, for metrics."""

    def record_ledger_rows(self, outcome: str, number: int) -> None:
        """`outcome` is written (rows), failed (batches) or dropped (notes or rows)."""
        ...

    def record_drift(self, family: str, counted: int, billed: int) -> None:
        """A call that had been counted was billed."""
        ...


@dataclass(frozen=True, slots=True)
class Billed:
    """What a provider billed for a call. `counted` is the count that was made for it; None when there was none.

    `cost` is in USD; None when the price is not known. `at` is the time of the call in seconds since 1970; None is now.
    """

    model: CatalogModel
    input_tokens: int
    output_tokens: int
    cost: Decimal | None
    counted: int | None = None
    method: str = OTHER
    at: float | None = None


class _Counted(NamedTuple):
    """A note of one count. `whose` is (quarter, project, label of the model)."""

    whose: tuple[int, str, str]
    tokens: int
    cost: Decimal | None


@dataclass(slots=True)
class _AccountSums:
    """The sums of one account. Thousands of notes a second belong to only a few accounts."""

    calls: int = 0
    tokens: int = 0
    unpriced: int = 0
    cost: Decimal = Decimal(0)

    def add(self, note: _Counted) -> None:
        self.calls += 1
        self.tokens += note.tokens
        if note.cost is None:
            self.unpriced += 1
        else:
            self.cost += note.cost


@dataclass(slots=True)
class Ledger:
    """Each app has one. `keep_seconds` is how long the store keeps sums.

    `alone` says that no other process counts for the same callers, so that sums in memory are complete.
    """

    store: LedgerStore
    events: LedgerEvents
    keep_seconds: int
    alone: bool = True
    clock: Callable[[], float] = time.time
    _notes: deque[_Counted | tuple[str, Billed, int]] = field(default_factory=deque)
    _rows: dict[Account, Sums] = field(default_factory=dict)
    _unsent: deque[Batch] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _task: PeriodicTask | None = None
    _failing: bool = False

    def start(self) -> None:
        self._task = PeriodicTask("ledger", FLUSH_SECONDS, self.flush)
        self._task.start()

    def stop(self) -> None:
        """Write the notes that wait, or give up after five seconds."""
        if self._task is not None:
            self._task.stop(5.0)

    # ------------------------------------------------------------ noting: from any thread, returns at once

    def counted(self, project: str, counts: Iterable[TokenCount]) -> None:
        """Note counts that callers got."""
        quarter = int(self.clock()) // QUARTER_SECONDS
        for count in counts:
            cost = None if count.cost is None else count.cost.usd
            self._note(_Counted((quarter, project, _make_label(count)), count.input_tokens, cost))

    def billed(self, project: str, billed: Billed) -> None:
        """Note what a provider billed."""
        at = self.clock() if billed.at is None else billed.at
        self._note((project, billed, int(at) // QUARTER_SECONDS))
        if billed.counted is not None:
            self.events.record_drift(billed.model.family.name, billed.counted, billed.input_tokens)

    def _note(self, note: _Counted | tuple[str, Billed, int]) -> None:
        if len(self._notes) >= MAX_NOTES:
            self.events.record_ledger_rows("dropped", 1)
            return
        self._notes.append(note)
        if self._task is not None and len(self._notes) == MAX_NOTES // 2:
            self._task.wake()

    # ------------------------------------------------------------ adding up and writing

    def flush(self) -> bool:
        """Give all notes to the store. False when it failed. One thread at a time."""
        with self._lock:
            self._add_up()
            while self._rows or self._unsent:
                if self._rows:
                    self._unsent.append(Batch(secrets.token_hex(8), self._rows))
                    self._rows = {}
                batch = self._unsent[0]
                try:
                    self.store.add(batch)
                except StoreFailed as failure:
                    self._failed(failure)
                    return False
                self._unsent.popleft()
                self.events.record_ledger_rows("written", len(batch.rows))
                self._failing = False
            return True

    def _failed(self, failure: StoreFailed) -> None:
        self.events.record_ledger_rows("failed", 1)
        if not self._failing:
            self._failing = True
            LOG.warning("ledger not written; it waits", extra={"fields": {"reason": failure.reason}})
        while self._unsent and sum(len(batch.rows) for batch in self._unsent) > MAX_WAITING_ROWS:
            self.events.record_ledger_rows("dropped", len(self._unsent.popleft().rows))

    def _add_up(self) -> None:
        costs: dict[tuple[Account, str], Decimal] = {}
        counted: defaultdict[tuple[int, str, str], _AccountSums] = defaultdict(_AccountSums)
        for _ in range(len(self._notes)):
            note = self._notes.popleft()
            if isinstance(note, _Counted):
                counted[note.whose].add(note)
                continue
            account, cost = self._add_billed(*note), note[1].cost
            if cost:
                costs[account, "billed_usd"] = costs.get((account, "billed_usd"), Decimal(0)) + cost
        for whose, sums in counted.items():
            account = Account("usage", *whose)
            self._add(account, calls=sums.calls, input_tokens=sums.tokens, unpriced_calls=sums.unpriced)
            costs[account, "usd"] = sums.cost
        for (account, name), cost in costs.items():
            dollars, rest = divmod(cost, 1)
            self._add(account, **{name: int(dollars), picodollar_column(name): round(rest * PICO)})

    def _add(self, account: Account, **amounts: int) -> None:
        columns = COLUMNS[account.table]
        sums = self._rows.setdefault(account, [0] * len(columns))
        for name, amount in amounts.items():
            sums[columns.index(name)] += amount

    def _add_billed(self, project: str, billed: Billed, quarter: int) -> Account:
        if billed.counted is not None:
            drift = drift_sums(billed.counted, billed.input_tokens)
            self._add(Account("drift", quarter, billed.model.family.name, billed.method), **drift)
        account = Account("usage", quarter, project, model_label(billed.model.model_id, billed.model.match))
        self._add(
            account, billed_calls=1, billed_input_tokens=billed.input_tokens,
            billed_output_tokens=billed.output_tokens, billed_unpriced_calls=int(billed.cost is None),
        )
        return account

    # ------------------------------------------------------------ reading

    def read(self, table: Table, start: int, end: int) -> tuple[list[tuple[Account, Sums]], str | None]:
        """(the rows of quarters from `start` to before `end`, None). Blocks.

        When the store cannot be read: (the rows that wait in this process, the reason).
        """
        self.flush()
        try:
            return list(self.store.read(table, start, end)), None
        except StoreFailed as failure:
            with self._lock:
                waiting = [row for batch in self._unsent for row in batch.rows.items()]
            return [row for row in waiting if row[0].table == table and start <= row[0].quarter < end], failure.reason


def model_label(model_id: str, match: str | None) -> str:
    """The label of a model: a canonical id of the catalog, never a name that a caller made up."""
    return OTHER if match == "inferred" else model_id


def _make_label(count: TokenCount) -> str:
    return f"tokenizer:{count.tokenizer}" if count.model is None else model_label(count.model, count.model_match)
