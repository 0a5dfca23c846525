"""The ledger adds up exactly, whoever writes and whatever fails, and keeps nothing that a caller made up."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service import catalog
from service.catalog import CatalogModel
from service.counting.counter import Counter as TokenCounter
from service.ledger.drift import BEYOND, DRIFT_COLUMNS, drift_sums
from service.ledger.ledger import MAX_NOTES, MAX_WAITING_ROWS, Billed, Ledger
from service.ledger.store import (
    QUARTER_SECONDS,
    USAGE_COLUMNS,
    Account,
    Batch,
    MemoryLedger,
    StoreFailed,
    Sums,
    Table,
    money,
)
from service.types import CountRequest, InputCost, TokenCount

NOW = 1_796_000_000.0
QUARTER = int(NOW) // QUARTER_SECONDS
KEEP = 90 * 86_400


class Events:
    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.drift: list[tuple[str, int, int]] = []

    def record_ledger_rows(self, outcome: str, number: int) -> None:
        self.outcomes[outcome] += number

    def record_drift(self, family: str, counted: int, billed: int) -> None:
        self.drift.append((family, counted, billed))


def make_ledger() -> tuple[Ledger, Events]:
    events = Events()
    return Ledger(MemoryLedger(KEEP, clock=lambda: NOW), events, KEEP, clock=lambda: NOW), events


def count(tokens: int, usd: str | None = None, model: str | None = "gpt-4o", match: str = "known") -> TokenCount:
    cost = None if usd is None else InputCost(Decimal(usd), "known", "1")
    return TokenCount(
        tokens, "exact", tokens, tokens, "o200k_base", "446a9538", {}, model=model, cost=cost,
        model_match=match,  # type: ignore[arg-type]
    )


def read_rows(ledger: Ledger, table: Table = "usage") -> dict[tuple[str, str], dict[str, int]]:
    rows, failure = ledger.read(table, 0, QUARTER * 2)
    assert failure is None
    columns = USAGE_COLUMNS if table == "usage" else DRIFT_COLUMNS
    return {
        (account.who, account.what): {name: n for name, n in zip(columns, sums, strict=True) if n}
        for account, sums in rows
    }


def model(name: str) -> CatalogModel:
    return catalog.resolve(name)


def test_counts_are_added_up_by_project_and_model() -> None:
    ledger, events = make_ledger()
    ledger.counted("a", [count(10, "0.000025"), count(20, "0.00005")])
    ledger.counted("a", [count(5, None)])
    ledger.counted("b", [count(7, "1.5", model="claude-opus-4-1")])
    assert read_rows(ledger) == {
        ("a", "gpt-4o"): {"calls": 3, "input_tokens": 35, "picodollars": 75_000_000, "unpriced_calls": 1},
        ("b", "claude-opus-4-1"): {"calls": 1, "input_tokens": 7, "usd": 1, "picodollars": 500_000_000_000},
    }
    assert events.outcomes == {"written": 2}


def test_what_a_caller_may_write_is_no_label() -> None:
    ledger, _ = make_ledger()
    ledger.counted("a", [count(1, model="gpt-4o-hunter2", match="inferred"), count(2, model=None)])
    assert read_rows(ledger) == {
        ("a", "other"): {"calls": 1, "input_tokens": 1, "unpriced_calls": 1},
        ("a", "tokenizer:o200k_base"): {"calls": 1, "input_tokens": 2, "unpriced_calls": 1},
    }


def test_real_counts_have_a_real_price() -> None:
    ledger, _ = make_ledger()
    counted = TokenCounter.in_memory(0).count(CountRequest(model_ref="gpt-4o", texts=("hello, world",)))
    ledger.counted("default", [counted])
    assert read_rows(ledger) == {("default", "gpt-4o"): {"calls": 1, "input_tokens": 3, "picodollars": 7_500_000}}


@given(st.lists(st.tuples(st.integers(0, 10**9), st.decimals(0, 5000, places=12)), max_size=30))
def test_money_is_exact_to_a_billionth_of_a_thousandth(calls: list[tuple[int, Decimal]]) -> None:
    ledger, _ = make_ledger()
    for tokens, usd in calls:
        ledger.counted("a", [count(tokens, str(usd))])
        if tokens % 3 == 0:
            ledger.flush()
    rows, _ = ledger.read("usage", 0, QUARTER * 2)
    total = sum((money(dict(zip(USAGE_COLUMNS, sums, strict=True)), "usd") for _, sums in rows), Decimal(0))
    assert total == sum((usd for _, usd in calls), Decimal(0))


def test_many_threads_lose_nothing() -> None:
    ledger, events = make_ledger()
    ledger.start()

    def work(project: str) -> None:
        for _ in range(2_000):
            ledger.counted(project, [count(3, "0.001")])

    threads = [threading.Thread(target=work, args=(f"p{i % 2}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.stop()
    expected = {"calls": 8_000, "input_tokens": 24_000, "usd": 8}
    assert read_rows(ledger) == {("p0", "gpt-4o"): expected, ("p1", "gpt-4o"): expected}
    assert events.outcomes["dropped"] == 0


def test_bills_and_drift() -> None:
    ledger, events = make_ledger()
    ledger.billed("a", Billed(model("gpt-4o"), 100, 20, Decimal("0.00045"), counted=100, method="exact"))
    ledger.billed("a", Billed(model("gpt-4o"), 100, 20, None, counted=90, method="exact"))
    ledger.billed("a", Billed(model("gpt-4o"), 100, 0, Decimal(2)))
    family = model("gpt-4o").family.name
    assert read_rows(ledger) == {("a", "gpt-4o"): {
        "billed_calls": 3, "billed_input_tokens": 300, "billed_output_tokens": 40, "billed_usd": 2,
        "billed_picodollars": 450_000_000, "billed_unpriced_calls": 1,
    }}
    assert read_rows(ledger, "drift") == {(family, "exact"): {
        "calls": 2, "counted_tokens": 190, "billed_tokens": 200, "under": 1, "exact": 1, "within_15_percent": 1,
    }}
    assert events.drift == [(family, 100, 100), (family, 90, 100)]


def test_a_bill_is_booked_when_its_call_was_made() -> None:
    ledger, _ = make_ledger()
    ledger.billed("a", Billed(model("gpt-4o"), 1, 1, None, at=NOW - 86_400))
    rows, _ = ledger.read("usage", QUARTER - 96, QUARTER - 95)
    assert [account.quarter for account, _ in rows] == [QUARTER - 96]
    assert ledger.read("usage", QUARTER - 95, QUARTER + 1)[0] == []


@pytest.mark.parametrize(("counted", "billed", "band"), [
    (100, 100, "exact"), (101, 100, "within_1_percent"), (99, 100, "within_1_percent"), (102, 100, "within_5_percent"),
    (95, 100, "within_5_percent"), (115, 100, "within_15_percent"), (116, 100, BEYOND), (0, 100, BEYOND),
    (0, 0, "exact"), (1, 0, BEYOND),
])
def test_bands_of_drift(counted: int, billed: int, band: str) -> None:
    sums = drift_sums(counted, billed)
    assert sums[band] == 1
    assert sums.get("under", 0) == (counted < billed)
    assert sums.get("over", 0) == (counted > billed)
    assert set(sums) <= set(DRIFT_COLUMNS)
    assert sum(sums.get(name, 0) for name in DRIFT_COLUMNS[5:]) == 1


# ---------------------------------------------------------------- bounds and failures


class BadStore:
    """A store that fails a given number of times, before or after it added the batch."""

    where = "redis"

    def __init__(self, failures: int, after: bool = False) -> None:
        self.inside = MemoryLedger(KEEP, clock=lambda: NOW)
        self.failures = failures
        self.after = after
        self.seen: list[str] = []

    def add(self, batch: Batch) -> None:
        self.seen.append(batch.name)
        fails, self.failures = self.failures > 0, max(0, self.failures - 1)
        if fails and not self.after:
            raise StoreFailed("refused")
        if batch.name not in self.seen[:-1] or not self.after:
            self.inside.add(batch)
        if fails:
            raise StoreFailed("timeout")

    def read(self, table: Table, start: int, end: int) -> Iterator[tuple[Account, Sums]]:
        if self.failures:
            raise StoreFailed("refused")
        return self.inside.read(table, start, end)


@pytest.mark.parametrize("after", [False, True])
def test_what_failed_is_added_later_and_once(after: bool) -> None:
    events, store = Events(), BadStore(2, after)
    ledger = Ledger(store, events, KEEP, clock=lambda: NOW)  # type: ignore[arg-type]
    ledger.counted("a", [count(1)])
    assert not ledger.flush()
    ledger.counted("a", [count(2)])
    assert not ledger.flush()
    assert ledger.flush()
    assert read_rows(ledger) == {("a", "gpt-4o"): {"calls": 2, "input_tokens": 3, "unpriced_calls": 2}}
    assert store.seen[0] == store.seen[1] == store.seen[2], "the same batch is sent again under its name"
    assert events.outcomes == {"failed": 2, "written": 2}


def test_a_store_that_cannot_be_read_leaves_what_waits_here() -> None:
    ledger = Ledger(BadStore(10), Events(), KEEP, clock=lambda: NOW)  # type: ignore[arg-type]
    ledger.counted("a", [count(5)])
    rows, failure = ledger.read("usage", 0, QUARTER * 2)
    assert failure == "refused"
    assert [(account.who, sums[1]) for account, sums in rows] == [("a", 5)]
    assert ledger.read("usage", 0, 5) == ([], "refused")


def test_notes_and_waiting_sums_are_bounded() -> None:
    events = Events()
    ledger = Ledger(BadStore(10**6), events, KEEP, clock=lambda: NOW)  # type: ignore[arg-type]
    ledger.counted("a", [count(1)] * (MAX_NOTES + 3))
    assert events.outcomes == {"dropped": 3}
    for i in range(3):
        for k in range(MAX_WAITING_ROWS // 2):
            ledger.billed(f"{i}:{k}", Billed(model("gpt-4o"), 1, 1, None))
        ledger.flush()
    assert events.outcomes["dropped"] >= MAX_WAITING_ROWS // 2
    assert sum(len(batch.rows) for batch in ledger._unsent) <= MAX_WAITING_ROWS


def test_memory_forgets_what_is_old_and_what_is_too_much() -> None:
    now = NOW
    store = MemoryLedger(keep_seconds=86_400, max_rows=10, clock=lambda: now)
    row = [1] * len(USAGE_COLUMNS)
    store.add(Batch("1", {Account("usage", QUARTER - 200, "a", "m"): row, Account("usage", QUARTER, "a", "m"): row}))
    assert [account.quarter for account, _ in store.read("usage", 0, QUARTER + 1)] == [QUARTER]
    store.add(Batch("2", {Account("usage", QUARTER + 1, str(i), "m"): row for i in range(10)}))
    assert {account.quarter for account, _ in store.read("usage", 0, QUARTER + 9)} == {QUARTER + 1}
