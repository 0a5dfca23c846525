"""Named budgets: what there is, and reserving, settling and releasing a part of one."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Path, Query

from service import catalog
from service.answers.budgets import closing_json, reservation_json, state_json
from service.answers.cost import quote_json
from service.api.auth import needs
from service.api.routers.cost import count_body
from service.api.routing import Context, Shared, StoreRoute
from service.api.schemas.base import NoQuery
from service.api.schemas.budgets import (
    BudgetAnswer,
    BudgetsAnswer,
    ClosedLeaseAnswer,
    ReleaseBody,
    ReserveAnswer,
    ReserveBody,
    SettleBody,
)
from service.api.schemas.errors import describe_errors
from service.budgets.leases import to_nanodollars
from service.budgets.named import MAX_AMOUNT, Budget, find_budget
from service.catalog import CatalogModel
from service.dialects import native
from service.dialects.usage import read_usage
from service.dialects.values import parse_money, parse_tier
from service.errors import InvalidRequest
from service.pricing.prices import Quote, quote
from service.pricing.usage import make_usage
from service.types import Json, TokenCount

router = APIRouter(
    route_class=StoreRoute, dependencies=[needs("budgets")], tags=["native"], responses=describe_errors(native.WIRE)
)

BudgetName = Annotated[str, Path(description="A budget of the settings.")]


@router.get("/v1/budgets", operation_id="list_budgets", response_model=BudgetsAnswer, summary="Every named budget")
def list_budgets(_query: Annotated[NoQuery, Query()], services: Shared) -> Json:
    """Amounts are of the running period."""
    leases = services.leases
    states = [leases.state(budget) for budget in services.operator_files.budgets.values()]
    return {"budgets": [state_json(state, leases.where) for state in states], "kept_in": leases.where}


@router.get(
    "/v1/budgets/{name}", operation_id="get_budget", response_model=BudgetAnswer, summary="A named budget now"
)
def get_budget(name: BudgetName, _query: Annotated[NoQuery, Query()], services: Shared) -> Json:
    """Amounts are of the running period."""
    budget = find_budget(services.operator_files.budgets, name)
    return state_json(services.leases.state(budget), services.leases.where)


@router.post(
    "/v1/budgets/{name}/reserve", operation_id="reserve", response_model=ReserveAnswer,
    summary="Lease a part of a budget before a call",
)
def reserve(name: BudgetName, body: ReserveBody, services: Shared, context: Context) -> Json:
    """Gives a lease, or `granted: false`. What cannot be priced is not granted: a budget must not be passed unseen."""
    budget, leases = find_budget(services.operator_files.budgets, name), services.leases
    said = _said_amount(budget, body.amount_usd, body.tokens)
    if said is not None:
        _refuse_beside_amount(
            body, ("model", "tokenizer", "provider", "text", "texts", "request", "max_output_tokens")
        )
        return reservation_json(leases.reserve(budget, said), leases.where)
    count, model = count_body(body, services)
    context.counts = (count,)
    amount, quoted = _needed(budget, count, model, body)
    cost = None if quoted is None else quote_json(quoted, model.price if model else None)
    if amount is None:
        state = state_json(leases.state(budget), leases.where)
        refused = {"granted": False, "lease_id": None, "amount": None, "expires_at": None, "retry_at": None}
        return {**refused, "budget": state, "cost": cost, "input_tokens": count.input_tokens}
    answer = reservation_json(leases.reserve(budget, amount), leases.where)
    return {**answer, "cost": cost, "input_tokens": count.input_tokens}


@router.post(
    "/v1/budgets/{name}/settle", operation_id="settle", response_model=ClosedLeaseAnswer,
    summary="Charge what was billed and end the lease",
)
def settle(name: BudgetName, body: SettleBody, services: Shared) -> Json:
    """What was billed is an amount, tokens, or a provider's usage object with the model."""
    budget = find_budget(services.operator_files.budgets, name)
    billed = _said_amount(budget, body.amount_usd, body.tokens)
    if billed is None:
        billed = _billed(budget, body)
    else:
        _refuse_beside_amount(body, ("usage", "model"))
    return closing_json(services.leases.settle(budget, body.lease_id, billed), services.leases.where)


@router.post(
    "/v1/budgets/{name}/release", operation_id="release", response_model=ClosedLeaseAnswer,
    summary="Give a lease back unused",
)
def release(name: BudgetName, body: ReleaseBody, services: Shared) -> Json:
    """The whole lease is free again."""
    budget = find_budget(services.operator_files.budgets, name)
    return closing_json(services.leases.release(budget, body.lease_id), services.leases.where)


# ---------------------------------------------------------------- amounts


def _refuse_beside_amount(body: ReserveBody | SettleBody, others: tuple[str, ...]) -> None:
    """Raises InvalidRequest where one of the `others` was given beside an amount: it would go unread."""
    other = next((name for name in others if body.model_dump(include={name}).get(name) is not None), None)
    if other is not None:
        raise InvalidRequest(f"Give one of amount_usd and tokens, or {other}, not both.", field=other)


def _said_amount(budget: Budget, amount_usd: str | float | None, tokens: int | None) -> int | None:
    """The amount that the caller said, in the unit of the budget; None where it said none."""
    if amount_usd is not None and tokens is not None:
        raise InvalidRequest("Give one of amount_usd and tokens, not both.", field="tokens")
    usd = parse_money(amount_usd, "amount_usd")
    if (usd is not None and budget.unit == "tokens") or (tokens is not None and budget.unit == "usd"):
        field = "amount_usd" if usd is not None else "tokens"
        raise InvalidRequest(f"This budget is in {budget.unit}: {field} does not apply.", field=field)
    return to_nanodollars(usd, upwards=True) if usd is not None else tokens


def _needed(
    budget: Budget, count: TokenCount, model: CatalogModel | None, body: ReserveBody
) -> tuple[int | None, Quote | None]:
    """What a counted request needs at most, by the upper end of its band; None where its price is not known."""
    output = body.max_output_tokens or 0
    if budget.unit == "tokens":
        return count.high + output, None
    if model is None:
        raise InvalidRequest("A tokenizer has no price: name a model.", field="model")
    usage = make_usage({"input": count.high, "output": output, "requests": 1})
    quoted = quote(model, usage, parse_tier(body.service_tier))
    return (None if quoted.total is None else to_nanodollars(quoted.total, upwards=True)), quoted


def _billed(budget: Budget, body: SettleBody) -> int:
    """The billed usage in the unit of the budget. Raises InvalidRequest where it has no price: say the amount then."""
    if body.usage is None:
        raise InvalidRequest("Say what was billed: amount_usd, tokens, or model and usage.", field="usage")
    usage = read_usage(body.usage, "usage", body.dialect)
    if budget.unit == "tokens":
        return min(MAX_AMOUNT, usage.input_tokens + usage.output_tokens)
    if body.model is None:
        raise InvalidRequest("Usage is priced for a model: name it in model.", field="model")
    total = quote(catalog.resolve(body.model), usage, parse_tier(body.service_tier)).total
    if total is None:
        raise InvalidRequest("The price of this usage is not known: say the billed amount_usd.", field="usage")
    return to_nanodollars(min(total, Decimal(9_000_000)), upwards=False)
