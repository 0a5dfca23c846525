"""Days and hours are those of the zone: whatever its offset and its clocks do, days sum to the range."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.ledger.report import Group, Range, ReportRow, find_day_start, find_quarter, report, sum_rows, to_instant
from service.ledger.store import USAGE_COLUMNS, Account, Sums

ZONES = (
    "UTC", "Asia/Kolkata", "America/Los_Angeles", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu",
    "America/St_Johns", "Africa/Cairo", "Pacific/Apia", "America/Sao_Paulo",
)


def row(quarter: int, who: str = "p", what: str = "m", calls: int = 1) -> tuple[Account, Sums]:
    return Account("usage", quarter, who, what), [calls, 10 * calls, *([0] * (len(USAGE_COLUMNS) - 2))]


def whole(zone: str) -> Range:
    return Range(0, 1 << 40, ZoneInfo(zone))


def at(text: str) -> int:
    return find_quarter(datetime.fromisoformat(text))


def shown(rows: list[ReportRow]) -> list[tuple[str, int]]:
    return [(found.start.isoformat() if found.start else "", found.sums["calls"]) for found in rows]


quarters = st.integers(at("2018-10-01T00:00:00+00:00"), at("2019-04-30T00:00:00+00:00"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(quarters, st.sampled_from("ab"), st.sampled_from("xy"), st.integers(1, 9)), max_size=60),
       st.sampled_from(ZONES), st.sampled_from(["day", "hour"]))
def test_days_and_hours_sum_to_the_range(
    events: list[tuple[int, str, str, int]], zone: str, group: Group
) -> None:
    rows = [row(*event) for event in events]
    by_time = report(rows, whole(zone), (group,))
    assert sum(found.sums["calls"] for found in by_time) == sum(event[3] for event in events)
    starts = [found.start for found in by_time]
    assert all(one is not None for one in starts)
    instants = [one.timestamp() for one in starts if one]
    assert instants == sorted(set(instants)), "no hour and no day is shown twice"
    for groups in ((group, "model"), (group, "project"), (group, "model", "project"), ("model",), ()):
        assert sum_rows(report(rows, whole(zone), groups)) == sum_rows(by_time)


@settings(max_examples=80, deadline=None)
@given(quarters, st.sampled_from(ZONES), st.sampled_from(["day", "hour"]))
def test_a_quarter_lies_within_what_it_is_booked_in(quarter: int, zone: str, group: Group) -> None:
    (found,) = report([row(quarter)], whole(zone), (group,))
    assert found.start is not None
    assert found.end is not None
    instant = to_instant(quarter, ZoneInfo(zone))
    assert found.start.timestamp() <= instant.timestamp() < found.end.timestamp()
    assert found.start.date() == instant.date()
    if group == "hour":
        assert found.start.hour == instant.hour


@pytest.mark.parametrize(("zone", "day", "hours"), [
    ("Europe/Berlin", "2026-03-29", 23), ("Europe/Berlin", "2026-10-25", 25), ("Europe/Berlin", "2026-07-01", 24),
    ("America/Los_Angeles", "2026-11-01", 25), ("Asia/Kolkata", "2026-03-29", 24),
    ("Australia/Lord_Howe", "2026-04-05", 24.5), ("Africa/Cairo", "2026-04-24", 23),
])
def test_how_long_days_are(zone: str, day: str, hours: float) -> None:
    start = find_quarter(find_day_start(date.fromisoformat(day), ZoneInfo(zone)))
    (found,) = report([row(start)], whole(zone), ("day",))
    assert found.start is not None
    assert found.end is not None
    assert (found.end.timestamp() - found.start.timestamp()) / 3600 == hours
    rows = [row(quarter) for quarter in range(start, start + round(4 * hours))]
    assert shown(report([row(start - 1), *rows, row(start + len(rows))], whole(zone), ("day",)))[1] == (
        found.start.isoformat(), len(rows)
    )


def test_the_hour_that_comes_twice_is_two() -> None:
    events = [row(at("2026-10-25T00:30:00+00:00")), row(at("2026-10-25T01:30:00+00:00"))]
    assert shown(report(events, whole("Europe/Berlin"), ("hour",))) == [
        ("2026-10-25T02:00:00+02:00", 1), ("2026-10-25T02:00:00+01:00", 1),
    ]


def test_a_day_that_has_no_midnight_begins_after_it() -> None:
    start = find_day_start(date(2018, 11, 4), ZoneInfo("America/Sao_Paulo"))
    assert start.isoformat() == "2018-11-04T01:00:00-02:00"
    assert start.astimezone(UTC) == datetime(2018, 11, 4, 3, tzinfo=UTC)


def test_india_has_its_own_midnight() -> None:
    before, after = at("2026-12-01T18:15:00+00:00"), at("2026-12-01T18:30:00+00:00")
    assert shown(report([row(before), row(after)], whole("Asia/Kolkata"), ("day",))) == [
        ("2026-12-01T00:00:00+05:30", 1), ("2026-12-02T00:00:00+05:30", 1),
    ]
    last = at("2026-12-01T18:29:59.999999+00:00")
    assert last == before, "a call in the last microsecond belongs to the day"


def test_ranges_side_by_side_share_nothing() -> None:
    """Wherever a range is cut, the two parts sum to the whole."""
    instants = [datetime(2026, 12, 1, tzinfo=UTC) + timedelta(minutes=7 * i) for i in range(100)]
    events = [row(find_quarter(instant)) for instant in instants]
    for cut in instants:
        left = [event for event in events if event[0].quarter < find_quarter(cut)]
        right = [event for event in events if event[0].quarter >= find_quarter(cut)]
        assert len(left) + len(right) == len(events)


def test_groups_and_order() -> None:
    events = [row(5, "b", "m"), row(5, "a", "n"), row(5, "a", "m"), row(1, "z", "z")]
    found = report(events, whole("UTC"), ("project", "model"))
    assert [(one.start, one.project, one.model) for one in found] == [
        (None, "a", "m"), (None, "a", "n"), (None, "b", "m"), (None, "z", "z"),
    ]
    assert [one.project for one in report(events, whole("UTC"), ("hour", "project"))] == ["z", "a", "b"]
    assert [(one.project, one.model) for one in report(events, whole("UTC"), ())] == [(None, None)]
    assert report([], whole("UTC"), ()) == []
