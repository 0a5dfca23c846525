"""Named budgets: what there is, and reserve, settle, release."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.api.schemas.base import (
    Absent,
    Amount,
    Answer,
    Body,
    ServiceTierName,
    StoredIn,
    UsageDialect,
)
from service.api.schemas.cost import USAGE, USAGE_DIALECT
from service.api.schemas.counts import Quote
from service.dialects.native_schema import CountBody, JsonObject
from service.dialects.values import MAX_TOKENS, UsdAmount

MAX_LEASE_ID = 100
"""Characters."""

# ---------------------------------------------------------------- GET /v1/budgets, /v1/budgets/{name}


class BudgetAnswer(Answer):
    """A named budget now. spent was billed and held is leased in this period; limit less both is remaining."""

    name: str
    unit: Literal["usd", "tokens"]
    limit: Amount
    spent: Amount
    held: Amount
    remaining: Amount = Field(description="Negative where more was billed than the limit allows.")
    per: Literal["day", "month", "total"]
    zone: str = Field(description="The time zone whose midnight ends a period: an IANA name.")
    period_start: str | None = Field(description="ISO 8601, UTC. Null where per is total.")
    period_end: str | None = Field(description="ISO 8601, UTC. Null where per is total.")
    kept_in: StoredIn


class BudgetsAnswer(Answer):
    """Every named budget."""

    budgets: list[BudgetAnswer]
    kept_in: StoredIn


# ---------------------------------------------------------------- POST /v1/budgets/{name}/reserve


class ReserveBody(CountBody):
    """An amount to be leased: said, or counted from a request with max_output_tokens."""

    amount_usd: UsdAmount | None = Field(None, description="For a budget in US dollars.")
    tokens: int | None = Field(None, ge=0, le=MAX_TOKENS, description="For a budget in tokens.")
    max_output_tokens: int | None = Field(None, ge=0, le=MAX_TOKENS)
    service_tier: ServiceTierName = "standard"


class ReserveAnswer(Answer):
    """A lease, or granted false with the reason to be seen in budget and cost."""

    granted: bool
    lease_id: str | None = Field(description="Null where nothing was granted.")
    amount: Amount | None = Field(description="Null where what was asked has no known price.")
    expires_at: str | None = Field(description="ISO 8601, UTC. Null where nothing was granted.")
    retry_at: str | None = Field(
        description="When room may come free (ISO 8601, UTC). Null where the lease was granted or never will be."
    )
    budget: BudgetAnswer
    cost: Quote | None = Field(
        None, description="Only where a request was counted. Null where the budget is in tokens."
    )
    input_tokens: int | Absent = Field(None, description="Only where a request was counted.")


# ---------------------------------------------------------------- POST /v1/budgets/{name}/settle, /release


class SettleBody(Body):
    """What was billed: an amount, tokens, or a provider's usage object with the model."""

    lease_id: str = Field(max_length=MAX_LEASE_ID)
    amount_usd: UsdAmount | None = Field(None, description="For a budget in US dollars.")
    tokens: int | None = Field(None, ge=0, le=MAX_TOKENS, description="For a budget in tokens.")
    model: str | None = Field(None, description="Whose price list applies to usage.")
    usage: JsonObject | None = Field(None, description=USAGE)
    dialect: UsageDialect | None = Field(None, description=USAGE_DIALECT)
    service_tier: ServiceTierName = "standard"


class ReleaseBody(Body):
    """A lease that is given back unused."""

    lease_id: str = Field(max_length=MAX_LEASE_ID)


class ClosedLeaseAnswer(Answer):
    """How a lease was closed."""

    lease_id: str
    state: Literal["settled", "released"]
    reserved: Amount
    billed: Amount
    late: bool = Field(description="The lease had expired before.")
    repeated: bool = Field(description="It was closed before, and nothing changed now.")
    budget: BudgetAnswer
