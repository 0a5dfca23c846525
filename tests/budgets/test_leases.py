"""Leases: never more than the budget under concurrency, given back on expiry, charged when late; day boundaries."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.budgets.leases import MemoryLeases, Reservation, to_dollars, to_nanodollars
from service.budgets.named import MAX_AMOUNT, NANOS, Budget, Span, find_budget, read_budgets
from service.catalog import CatalogFileError
from service.counting.counter import Counter
from service.errors import InvalidRequest, NotFound
from service.types import CountRequest
from tests.support.live import ROOT

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


class Clock:
    """A clock that only moves when it is set."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: int) -> None:
        self.now += timedelta(**by)


TOKENS = Budget("team", "tokens", 1_000, "day")


def _lease_id(reservation: Reservation) -> str:
    assert reservation.lease_id is not None
    return reservation.lease_id


def test_reserve_settle_release() -> None:
    leases = MemoryLeases(Clock())
    first, second = leases.reserve(TOKENS, 600), leases.reserve(TOKENS, 400)
    assert first.granted
    assert second.granted
    assert second.state.remaining == 0
    closed = leases.settle(TOKENS, _lease_id(first), 250)
    assert (closed.state.spent, closed.state.reserved, closed.state.remaining) == (250, 400, 350)
    closed = leases.release(TOKENS, _lease_id(second))
    assert (closed.state.spent, closed.state.reserved, closed.state.remaining) == (250, 0, 750)


def test_refusal_says_when_to_come_again() -> None:
    clock = Clock()
    leases = MemoryLeases(clock)
    assert leases.reserve(TOKENS, 700).granted
    refused = leases.reserve(TOKENS, 301)
    assert not refused.granted
    assert refused.retry_at == NOON + timedelta(seconds=600)
    assert leases.reserve(TOKENS, 1_001).retry_at is None
    assert leases.reserve(TOKENS, 300).granted


def test_hundred_parallel_reserves_one_wins() -> None:
    leases, start = MemoryLeases(), threading.Barrier(100)

    def reserve(_: int) -> Reservation:
        start.wait()
        return leases.reserve(TOKENS, 600)

    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(reserve, range(100)))
    assert sum(answer.granted for answer in answers) == 1
    assert leases.state(TOKENS).reserved == 600


def test_expired_lease_is_given_back_and_charged_when_settled_late() -> None:
    clock = Clock()
    leases = MemoryLeases(clock)
    lease_id = _lease_id(leases.reserve(TOKENS, 1_000))
    clock.move(seconds=599)
    assert not leases.reserve(TOKENS, 1).granted
    clock.move(seconds=1)
    assert leases.reserve(TOKENS, 900).granted
    closed = leases.settle(TOKENS, lease_id, 950)
    assert (closed.late, closed.state.spent, closed.state.remaining) == (True, 950, -850)


def test_closing_twice_changes_nothing() -> None:
    leases = MemoryLeases(Clock())
    lease_id = _lease_id(leases.reserve(TOKENS, 500))
    leases.settle(TOKENS, lease_id, 300)
    for again in (leases.settle(TOKENS, lease_id, 400), leases.release(TOKENS, lease_id)):
        assert (again.repeated, again.lease_state, again.billed, again.state.spent) == (True, "settled", 300, 300)


def test_unknown_lease_is_not_found() -> None:
    leases = MemoryLeases(Clock())
    lease_id = _lease_id(leases.reserve(TOKENS, 1))
    other = Budget("other", "tokens", 10)
    for budget, wrong in ((TOKENS, "nonsense"), (TOKENS, ""), (other, lease_id)):
        with pytest.raises(NotFound):
            leases.settle(budget, wrong, 1)


def test_settling_more_than_reserved_is_charged_in_full() -> None:
    leases = MemoryLeases(Clock())
    lease_id = _lease_id(leases.reserve(TOKENS, 10))
    assert leases.settle(TOKENS, lease_id, 5_000).state.remaining == -4_000
    assert not leases.reserve(TOKENS, 1).granted
    assert not leases.reserve(TOKENS, 0).granted


@pytest.mark.parametrize("amount", [-1, MAX_AMOUNT + 1])
def test_impossible_amount_is_refused(amount: int) -> None:
    with pytest.raises(InvalidRequest):
        MemoryLeases().reserve(TOKENS, amount)


def test_counting_touches_no_budget() -> None:
    leases, counter = MemoryLeases(), Counter.in_memory()
    for _ in range(1_000):
        counter.count(CountRequest(model_ref="gpt-4o", texts=("hello",)))
    assert leases.state(TOKENS).remaining == 1_000


@dataclass
class Row:
    """A lease of the slow twin."""

    lease_id: str
    amount: int
    expires: datetime
    billed: int = 0
    open: bool = True


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["reserve", "settle", "release", "wait"]), st.integers(0, 700)), max_size=40))
def test_spent_and_held_are_what_a_plain_book_says(steps: list[tuple[str, int]]) -> None:
    """Against a slow twin: a list of every lease, summed anew at each step."""
    clock = Clock(datetime(2026, 11, 15, 0, 0, 0, tzinfo=UTC))
    leases = MemoryLeases(clock)
    rows: list[Row] = []
    for what, number in steps:
        open_ = [row for row in rows if row.open]
        if what == "reserve":
            reserved = sum(row.amount for row in open_ if row.expires > clock.now)
            answer = leases.reserve(TOKENS, number)
            assert answer.granted == (number <= 1_000 - sum(row.billed for row in rows) - reserved)
            if answer.granted:
                rows.append(Row(_lease_id(answer), number, clock.now + timedelta(seconds=600)))
        elif what == "wait":
            clock.move(seconds=number)
        elif open_:
            row = open_[number % len(open_)]
            row.open, row.billed = False, number if what == "settle" else 0
            settle = what == "settle"
            closed = leases.settle(TOKENS, row.lease_id, number) if settle else leases.release(TOKENS, row.lease_id)
            assert closed.late == (row.expires <= clock.now)
        state = leases.state(TOKENS)
        assert state.spent == sum(row.billed for row in rows)
        assert state.reserved == sum(row.amount for row in rows if row.open and row.expires > clock.now)


# ---------------------------------------------------------------- periods


@pytest.mark.parametrize(("zone", "at", "start", "hours"), [
    ("UTC", "2026-11-15T23:59:59.900000+00:00", "2026-11-15T00:00:00+00:00", 24),
    ("UTC", "2026-11-16T00:00:00+00:00", "2026-11-16T00:00:00+00:00", 24),
    ("Asia/Kolkata", "2026-11-15T18:29:59+00:00", "2026-11-14T18:30:00+00:00", 24),
    ("Asia/Kolkata", "2026-11-15T18:30:00+00:00", "2026-11-15T18:30:00+00:00", 24),
    ("America/Los_Angeles", "2026-03-08T12:00:00+00:00", "2026-03-08T08:00:00+00:00", 23),
    ("America/Los_Angeles", "2026-11-01T12:00:00+00:00", "2026-11-01T07:00:00+00:00", 25),
    ("Africa/Cairo", "2026-04-24T12:00:00+00:00", "2026-04-23T22:00:00+00:00", 23),  # midnight does not exist
])
def test_day(zone: str, at: str, start: str, hours: int) -> None:
    first, after = Budget("b", "usd", 1, "day", ZoneInfo(zone)).period(datetime.fromisoformat(at))
    assert first == datetime.fromisoformat(start)
    assert after is not None
    assert after - first == timedelta(hours=hours)
    assert first <= datetime.fromisoformat(at) < after


@given(
    st.sampled_from(["UTC", "Asia/Kolkata", "America/Los_Angeles", "America/Sao_Paulo", "Africa/Cairo"]),
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)), st.sampled_from(["day", "month"]),  # noqa: DTZ001
)
def test_periods_tile_the_time(zone: str, naive: datetime, span: Span) -> None:
    """Half-open and without a gap: the end of each is the start of the next."""
    budget, at = Budget("b", "usd", 1, span, ZoneInfo(zone)), naive.replace(tzinfo=UTC)
    start, end = budget.period(at)
    assert end is not None
    assert start <= at < end
    assert budget.period(end)[0] == end
    assert budget.period(start) == (start, end)


def test_days_sum_to_the_month() -> None:
    zone = ZoneInfo("America/Los_Angeles")
    days, month = Budget("b", "usd", 1, "day", zone), Budget("b", "usd", 1, "month", zone)
    start, end = month.period(datetime(2026, 3, 15, tzinfo=UTC))
    assert end is not None
    at, total = start, timedelta()
    while at < end:
        first, after = days.period(at)
        assert after is not None
        at, total = after, total + (after - first)
    assert total == end - start == timedelta(days=31) - timedelta(hours=1)


def test_new_day_starts_afresh_and_old_leases_are_charged_to_their_own() -> None:
    clock = Clock(datetime(2026, 11, 15, 23, 59, 50, tzinfo=UTC))
    leases = MemoryLeases(clock)
    lease_id = _lease_id(leases.reserve(TOKENS, 1_000))
    clock.move(seconds=20)
    fresh = leases.reserve(TOKENS, 1_000)
    assert fresh.granted
    closed = leases.settle(TOKENS, lease_id, 900)
    assert (closed.late, closed.state.spent, closed.state.reserved) == (False, 0, 1_000)
    clock.move(hours=-1)
    assert leases.state(TOKENS).spent == 900


def test_budget_in_all_never_starts_afresh() -> None:
    clock, budget = Clock(), Budget("b", "tokens", 100, "total")
    leases = MemoryLeases(clock)
    leases.settle(budget, _lease_id(leases.reserve(budget, 60)), 60)
    clock.move(days=400)
    assert not leases.reserve(budget, 41).granted
    assert leases.state(budget).period_end is None


# ---------------------------------------------------------------- money


def test_money_is_billionths_reserved_upwards() -> None:
    assert to_nanodollars(Decimal("0.0000000001"), upwards=True) == 1
    assert to_nanodollars(Decimal("0.0000000001"), upwards=False) == 0
    assert to_dollars(to_nanodollars(Decimal("12.345678901"), upwards=False)) == Decimal("12.345678901")


# ---------------------------------------------------------------- the file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "catalog.toml"


def test_budgets_are_read_from_the_file(file: Path) -> None:
    file.write_text(
        '[budgets.team-a]\nlimit_usd = "12.5"\nper = "day"\nzone = "Asia/Seoul"\nlease_seconds = 60\n'
        "[budgets.ci]\nlimit_tokens = 2000000\n", encoding="utf-8",
    )
    budgets = read_budgets(file)
    assert budgets == {
        "team-a": Budget("team-a", "usd", 12_500_000_000, "day", ZoneInfo("Asia/Seoul"), 60),
        "ci": Budget("ci", "tokens", 2_000_000, "month", ZoneInfo("UTC"), 600),
    }
    assert find_budget(budgets, "ci").limit == 2_000_000
    assert budgets["team-a"].limit == to_nanodollars(Decimal("12.5"), upwards=True) == Decimal("12.5") * NANOS
    with pytest.raises(NotFound):
        find_budget(budgets, "team-b")


def test_no_file_has_no_budgets() -> None:
    assert read_budgets(None) == {}


@pytest.mark.parametrize(("row", "place"), [
    ("", "limit_usd"),
    ('limit_usd = "1"\nlimit_tokens = 1', "limit_usd"),
    ('limit_usd = "much"', "limit_usd"),
    ('limit_usd = "-1"', "limit_usd"),
    ('limit_usd = "NaN"', "limit_usd"),
    ('limit_usd = "1e30"', "limit_usd"),
    ("limit_usd = true", "limit_usd"),
    ("limit_tokens = 1.5", "limit_tokens"),
    ('limit_tokens = 1\nper = "week"', "per"),
    ('limit_tokens = 1\nzone = "Mars/Olympus"', "zone"),
    ('limit_tokens = 1\nzone = "../../etc/passwd"', "zone"),
    ("limit_tokens = 1\nlease_seconds = 0", "lease_seconds"),
    ("limit_tokens = 1\nlimit = 1", "limit"),
])
def test_mistake_is_named(file: Path, row: str, place: str) -> None:
    file.write_text(f"[budgets.a]\n{row}\n", encoding="utf-8")
    with pytest.raises(CatalogFileError) as caught:
        read_budgets(file)
    assert "budgets.a" in str(caught.value)
    assert place in str(caught.value)


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "x" * 65, "팀", "a?b", "-a", "a\\nb"])
def test_name_that_no_path_could_hold_is_refused(file: Path, name: str) -> None:
    file.write_text(f'[budgets."{name}"]\nlimit_tokens = 1\n', encoding="utf-8")
    with pytest.raises(CatalogFileError, match="name is up to 64"):
        read_budgets(file)


def test_file_that_is_no_toml_is_named(file: Path) -> None:
    for text in ("[budgets", "a = " + "[" * 100_000, "\x00"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(CatalogFileError, match="is not TOML"):
            read_budgets(file)


def test_amounts_in_another_unit_are_kept_apart() -> None:
    leases = MemoryLeases()
    tokens, money = Budget("a", "tokens", 1_000), Budget("a", "usd", 1_000)
    leases.reserve(tokens, 600)
    assert (leases.state(tokens).reserved, leases.state(money).reserved) == (600, 0)


def test_zones_are_known_on_a_machine_without_any(file: Path) -> None:
    file.write_text('[budgets.a]\nlimit_tokens = 1\nzone = "Asia/Seoul"\n', encoding="utf-8")
    code = "import sys; from pathlib import Path; from service.budgets.named import read_budgets as read; "
    code += "print(read(Path(sys.argv[1])))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], env={"PYTHONTZPATH": "", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )
    assert "Asia/Seoul" in done.stdout
