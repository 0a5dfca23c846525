"""Sums of the ledger over a range of time: by day or hour of a time zone, by model and by project.

A range begins and ends at a quarter of an hour and does not include its end. So two ranges side by side share nothing
and miss nothing. Days and hours are those of the zone's calendar, with any offset and on days when its clocks change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from service.ledger.store import QUARTER_SECONDS, USAGE_COLUMNS, Account, Sums

Group = Literal["hour", "day", "model", "project"]
GROUPS: tuple[Group, ...] = ("hour", "day", "model", "project")


@dataclass(frozen=True, slots=True)
class Range:
    """Quarters of an hour from `start` to before `end`, shown in `zone`."""

    start: int
    end: int
    zone: ZoneInfo


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One row of a report. `sums` are by the names of USAGE_COLUMNS.

    `start` and `end` are those of the hour or day, in the zone; None when rows are grouped by neither. `end` is the end
    in the calendar, even when the range ends earlier. `project` and `model` are None when rows are not grouped by them.
    """

    start: datetime | None
    end: datetime | None
    project: str | None
    model: str | None
    sums: Mapping[str, int]


def find_quarter(instant: datetime) -> int:
    """The quarter of an hour that `instant` is in. It must have a zone."""
    return int(instant.timestamp() // QUARTER_SECONDS)


def to_instant(quarter: int, zone: ZoneInfo) -> datetime:
    """The begin of a quarter, in `zone`."""
    return datetime.fromtimestamp(quarter * QUARTER_SECONDS, UTC).astimezone(zone)


def find_day_start(day: date, zone: ZoneInfo) -> datetime:
    """The first instant of a day. When clocks skip midnight, it is the first one after that."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
    return midnight.astimezone(UTC).astimezone(zone)


def report(rows: Iterable[tuple[Account, Sums]], span: Range, groups: tuple[Group, ...]) -> list[ReportRow]:
    """The rows, summed by `groups`, in the order of time, project and model."""
    place = _INTERVALS[next((group for group in groups if group in _INTERVALS), None)]
    places: dict[int, Interval] = {}
    sums: dict[tuple[Interval, str | None, str | None], list[int]] = {}
    for account, amounts in rows:
        if account.quarter not in places:
            places[account.quarter] = place(account.quarter, span.zone)
        project = account.who if "project" in groups else None
        model = account.what if "model" in groups else None
        total = sums.setdefault((places[account.quarter], project, model), [0] * len(USAGE_COLUMNS))
        for column, amount in enumerate(amounts):
            total[column] += amount
    in_order = sorted(sums, key=lambda key: (key[0], key[1] or "", key[2] or ""))
    return [ReportRow(*_to_instants(key[0], span.zone), key[1], key[2], name_sums(sums[key])) for key in in_order]


def _to_instants(place: Interval, zone: ZoneInfo) -> tuple[datetime | None, datetime | None]:
    start, end = place
    return (None, None) if start == end else (to_instant(start, zone), to_instant(end, zone))


def name_sums(amounts: Iterable[int]) -> dict[str, int]:
    return dict(zip(USAGE_COLUMNS, amounts, strict=True))


def sum_rows(rows: Iterable[ReportRow]) -> dict[str, int]:
    """The sums of all rows."""
    total = [0] * len(USAGE_COLUMNS)
    for row in rows:
        for column, amount in enumerate(row.sums.values()):
            total[column] += amount
    return name_sums(total)


# ---------------------------------------------------------------- the hour or day of a quarter

Interval = tuple[int, int]
"""(the first quarter of an hour or day, the first one after it). They are numbers, because Python takes the two hours
for equal that a clock shows twice when it is set back."""


def _find_day(quarter: int, zone: ZoneInfo) -> Interval:
    day = to_instant(quarter, zone).date()
    return find_quarter(find_day_start(day, zone)), find_quarter(find_day_start(day + timedelta(days=1), zone))


def _find_hour(quarter: int, zone: ZoneInfo) -> Interval:
    """An hour of the clock at one UTC offset. An hour that the clock shows twice is two hours."""
    shown, first, last = _read_clock(quarter, zone), quarter, quarter
    while _read_clock(first - 1, zone) == shown:
        first -= 1
    while _read_clock(last + 1, zone) == shown:
        last += 1
    return first, last + 1


def _read_clock(quarter: int, zone: ZoneInfo) -> tuple[date, int, timedelta | None]:
    instant = to_instant(quarter, zone)
    return instant.date(), instant.hour, instant.utcoffset()


def _find_none(_quarter: int, _zone: ZoneInfo) -> Interval:
    return 0, 0


_INTERVALS: Mapping[Group | None, Callable[[int, ZoneInfo], Interval]] = {
    "day": _find_day, "hour": _find_hour, None: _find_none,
}
