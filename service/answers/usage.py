"""Reports of the ledger: what `GET /v1/usage` is asked by its query, and its answers as JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from service.errors import InvalidRequest
from service.ledger.drift import Drift
from service.ledger.report import GROUPS, Group, Range, ReportRow, find_day_start, find_quarter, sum_rows, to_instant
from service.ledger.store import QUARTER_SECONDS, money
from service.pricing.prices import format_decimal
from service.types import Json

MAX_TOKENS = 10**12
"""Of one call: more is a mistake, and sums of the ledger must fit into 64 bits."""

MAX_DAYS = 400
"""In one report."""

Shape = Literal["json", "csv", "prometheus"]
SHAPES: tuple[Shape, ...] = ("json", "csv", "prometheus")


# ---------------------------------------------------------------- what a report is asked


@dataclass(frozen=True, slots=True)
class Question:
    """Of `GET /v1/usage`; `project` and `model` None are all."""

    span: Range
    groups: tuple[Group, ...]
    project: str | None
    model: str | None
    shape: Shape


def read_question(params: Mapping[str, str], accept: str, now: datetime) -> Question:
    """Raises InvalidRequest naming the parameter."""
    zone = _zone(params.get("time_zone", "UTC"))
    start = _instant(params.get("from"), zone, "from") or find_day_start(now.astimezone(zone).date(), zone)
    end = _instant(params.get("to"), zone, "to")
    last = find_quarter(now) + 1 if end is None else find_quarter(end)
    span = Range(find_quarter(start), last, zone)
    if span.end < span.start:
        raise InvalidRequest("to must not be before from.", field="to")
    if span.end - span.start > MAX_DAYS * 86_400 // QUARTER_SECONDS:
        raise InvalidRequest(f"from and to must not be more than {MAX_DAYS} days apart.", field="from")
    shape = _shape(params.get("format"), accept)
    groups = _groups(params.get("group_by", "model,project" if shape == "prometheus" else "day"))
    if shape == "prometheus" and {"hour", "day"}.intersection(groups):
        raise InvalidRequest("group_by takes no hour or day for prometheus: a gauge is of now.", field="group_by")
    return Question(span, groups, params.get("project"), params.get("model"), shape)


def _shape(name: str | None, accept: str) -> Shape:
    if name is None:
        return "csv" if accept.partition(";")[0].strip().lower() == "text/csv" else "json"
    if name not in SHAPES:
        raise InvalidRequest(f"format must be one of {', '.join(SHAPES)}.", field="format")
    return name


def _groups(text: str) -> tuple[Group, ...]:
    groups = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if any(name not in GROUPS for name in groups) or {"hour", "day"} <= set(groups):
        raise InvalidRequest("group_by takes one of hour and day, and model and project.", field="group_by")
    return cast(tuple[Group, ...], groups)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name[:64])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidRequest("time_zone must be an IANA name such as Europe/Berlin.", field="time_zone") from None


def _instant(text: str | None, zone: ZoneInfo, field: str) -> datetime | None:
    """A day is its first instant; a plus sign may have become a blank on its way through a query."""
    if not text:
        return None
    try:
        if len(text) == len("2026-12-01"):
            at = find_day_start(date.fromisoformat(text), zone)
        else:
            at = datetime.fromisoformat(text.replace(" ", "+"))
            at = (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        example = "2026-12-01 or 2026-12-01T09:30:00+01:00"
        raise InvalidRequest(f"{field} must be a date or an instant such as {example}.", field=field) from None
    if not 2020 <= at.year < 2100:
        raise InvalidRequest(f"{field} must be from 2020 to 2099.", field=field)
    return at


def check_time(at: datetime, now: datetime, keep_seconds: int) -> None:
    """Raises InvalidRequest for a call that is not yet made, or too long ago to be kept."""
    if at > now + timedelta(minutes=5) or at < now - timedelta(seconds=keep_seconds):
        days = keep_seconds // 86_400
        raise InvalidRequest(f"at must be within the last {days} days.", field="at")


# ---------------------------------------------------------------- answers

NOTE_MEMORY = "Kept in the memory of this process alone; set TALLYSTICK_REDIS_URL to keep it for all."
NOTE_UNREAD = "Redis cannot be read at the moment: this is only what still waits in this process to be written."

SHOWN = (
    "calls", "input_tokens", "cost_usd", "unpriced_calls", "billed_calls", "billed_input_tokens",
    "billed_output_tokens", "billed_cost_usd", "billed_unpriced_calls",
)


def amounts(sums: Mapping[str, int]) -> dict[str, Json]:
    """What is shown of a row. A cost is that of the calls whose price is known; null where there are only others."""
    shown: dict[str, Json] = {name: sums.get(name, 0) for name in SHOWN}
    for name, column, calls, unpriced in (
        ("cost_usd", "usd", "calls", "unpriced_calls"),
        ("billed_cost_usd", "billed_usd", "billed_calls", "billed_unpriced_calls"),
    ):
        unknown = sums[calls] > 0 and sums[calls] == sums[unpriced]
        shown[name] = None if unknown else format_decimal(money(sums, column))
    return shown


def usage_json(
    question: Question, rows: list[ReportRow], where: str, failure: str | None, *, alone: bool = True
) -> Json:
    """`alone`: no other process counts as well. Where one does, what is in the memory of this one is a part."""
    span = question.span
    note = NOTE_UNREAD if failure else NOTE_MEMORY if where == "memory" else None
    return {
        "from": to_instant(span.start, span.zone).isoformat(), "to": to_instant(span.end, span.zone).isoformat(),
        "time_zone": span.zone.key, "group_by": list(question.groups),
        "rows": [{**_keys(row, question.groups), **amounts(row.sums)} for row in rows],
        "total": amounts(sum_rows(rows)),
        "kept_in": where, "complete": _is_complete(where, failure, alone=alone), "note": note,
    }


def _is_complete(where: str, failure: str | None, *, alone: bool) -> bool:
    return failure is None and (alone or where != "memory")


def _keys(row: ReportRow, groups: tuple[Group, ...]) -> dict[str, Json]:
    keys: dict[str, Json] = {}
    if row.start is not None and row.end is not None:
        keys |= {"start": row.start.isoformat(), "end": row.end.isoformat()}
    keys |= {"project": row.project} if "project" in groups else {}
    keys |= {"model": row.model} if "model" in groups else {}
    return keys


def usage_csv(question: Question, rows: list[ReportRow]) -> str:
    """A heading and a line a row."""
    out = io.StringIO()
    timed = {"start", "end"} if {"hour", "day"} & set(question.groups) else set()
    names = [name for name in ("start", "end", "project", "model") if name in timed or name in question.groups]
    writer = csv.DictWriter(out, [*names, *SHOWN], lineterminator="\r\n")
    writer.writeheader()
    for row in rows:
        line = {**_keys(row, question.groups), **amounts(row.sums)}
        writer.writerow({name: _cell(value) for name, value in line.items()})
    return out.getvalue()


def _cell(value: Json) -> Json:
    """What a spreadsheet would take for a formula is made text: a key's name is a project's, and may be anything."""
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def drift_json(
    span: Range, drifts: Iterable[Drift], where: str, failure: str | None, *, alone: bool = True
) -> Json:
    return {
        "from": to_instant(span.start, span.zone).isoformat(), "to": to_instant(span.end, span.zone).isoformat(),
        "families": [
            {"family": drift.family, "method": drift.method, **drift.sums,
             "ratio": None if drift.ratio is None else round(drift.ratio, 6)}
            for drift in drifts
        ],
        "kept_in": where, "complete": _is_complete(where, failure, alone=alone),
    }
