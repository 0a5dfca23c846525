"""The ledger: the bill of a call already made, the report of what was counted and billed, and the drift of both."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from service.api.schemas.base import (
    Absent,
    Answer,
    Bucket,
    Method,
    ServiceTierName,
    StoredIn,
    UnknownUsd,
    UsageDialect,
)
from service.api.schemas.cost import USAGE, USAGE_DIALECT
from service.dialects.native_schema import CountBody, JsonObject

MAX_BILLED_TOKENS = 10**12
"""Of one call: more is a mistake, and sums of the ledger must fit into 64 bits."""

# ---------------------------------------------------------------- POST /v1/usage


class UsageBody(CountBody):
    """What a call already made was billed, and what had been counted for it.

    That is a number, or the request to be counted now (request, text or texts, as in countTokens).
    """

    usage: JsonObject = Field(description=USAGE)
    usage_dialect: UsageDialect | None = Field(None, description=USAGE_DIALECT)
    counted_tokens: int | None = Field(
        None, ge=0, le=MAX_BILLED_TOKENS, description="Input tokens counted before the call."
    )
    service_tier: ServiceTierName = "standard"
    at: str | None = Field(None, description="When the call was made (ISO 8601, UTC unless it says); now if absent.")


class UsageTakenAnswer(Answer):
    """What was recorded."""

    recorded: Literal[True]
    kept_in: StoredIn
    model: str = Field(description="The canonical id.")
    model_ref: str = Field(description="The name that was sent.")
    usage: dict[Bucket, int] = Field(description="The usage in disjoint buckets, those without any left out.")
    billed_input_tokens: int
    billed_output_tokens: int
    billed_cost_usd: UnknownUsd
    counted_tokens: int | None = Field(description="Null where nothing was counted for the call.")
    difference: int | None = Field(description="counted_tokens less billed_input_tokens. Null where one is missing.")


# ---------------------------------------------------------------- GET /v1/usage


class _Period(BaseModel):
    """Unknown parameters are ignored."""

    model_config = ConfigDict(frozen=True, validate_by_name=True, validate_by_alias=True)

    start: str | Absent = Field(
        None, alias="from",
        description="Begin, a date or an instant (ISO 8601); in time_zone unless it says. The day's begin when absent.",
    )
    end: str | Absent = Field(
        None, alias="to",
        description="End, which is not part of it; in time_zone unless it says. Now when absent.",
    )
    time_zone: str = Field(
        "UTC", description="Whose days and hours: an IANA name such as Asia/Kolkata. UTC when absent."
    )


class UsageQuery(_Period):
    """Which part of the ledger, and how it is summed."""

    group_by: str | Absent = Field(
        None,
        description="Any of hour or day, model, project, separated by commas. day when absent (for prometheus, model "
        "and project); empty for one sum.",
    )
    project: str | Absent = Field(None, description="Of this project alone.")
    model: str | Absent = Field(None, description="Of this model alone (its canonical id).")
    format: str | Absent = Field(
        None, json_schema_extra={"enum": ["json", "csv", "prometheus"]},
        description="json, csv or prometheus (gauges to be scraped); json, or csv where Accept says so, when absent.",
    )


class UsageAmounts(Answer):
    """Sums. A cost is that of the calls whose price is known."""

    calls: int
    input_tokens: int
    cost_usd: str | None = Field(description="A decimal string. Null where there are only calls without a known price.")
    unpriced_calls: int
    billed_calls: int
    billed_input_tokens: int
    billed_output_tokens: int
    billed_cost_usd: str | None = Field(
        description="A decimal string. Null where there are only bills without a known price."
    )
    billed_unpriced_calls: int


class _UsageGroup(Answer):
    start: str | Absent = Field(None, description="Only where grouped by hour or day.")
    end: str | Absent = Field(None, description="Only where grouped by hour or day.")
    project: str | Absent = Field(None, description="Only where grouped by project.")
    model: str | Absent = Field(None, description="Only where grouped by model.")


class UsageRow(UsageAmounts, _UsageGroup):
    """The sums of one group."""


class _Ledger(Answer):
    start: str = Field(alias="from", description="ISO 8601, in the time zone asked for.")
    end: str = Field(alias="to", description="ISO 8601, in the time zone asked for.")


class UsageAnswer(_Ledger):
    """What was counted and billed from `from` to before `to`."""

    time_zone: str
    group_by: list[Literal["hour", "day", "model", "project"]]
    rows: list[UsageRow]
    total: UsageAmounts
    kept_in: StoredIn
    complete: bool = Field(description="False where other processes have counts that are not in it.")
    note: str | None = Field(description="Why it may be less than all. Null where the ledger is kept for all.")


# ---------------------------------------------------------------- GET /v1/usage/drift


class DriftQuery(_Period):
    """Which part of the ledger. Parameters of a report are checked, though they change nothing."""

    model_config = ConfigDict(extra="allow")


class FamilyDrift(Answer):
    """Calls of a model family whose bill was reported, by how far the count was from it."""

    family: str
    method: Method | Literal["reported"] = Field(
        description="reported: the caller sent the count."
    )
    calls: int
    counted_tokens: int
    billed_tokens: int
    under: int = Field(description="Calls counted lower than they were billed.")
    over: int = Field(description="Calls counted higher than they were billed.")
    exact: int
    within_1_percent: int = Field(description="Calls in this band and in no narrower one, as the next ones.")
    within_5_percent: int
    within_15_percent: int
    beyond_15_percent: int
    ratio: float | None = Field(description="Counted to billed tokens. Null where nothing was billed.")


class DriftAnswer(_Ledger):
    """Counted against billed tokens."""

    families: list[FamilyDrift]
    kept_in: StoredIn
    complete: bool = Field(description="False where other processes have bills that are not in it.")
