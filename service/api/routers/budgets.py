"""Named budgets over HTTP: what there is, and reserve, settle, release."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from service import catalog
from service.api.routers.decisions import Decided, Deciders, counted
from service.api.schemas.decision_answers import closing_json, quote_json, reservation_json, state_json
from service.api.schemas.decision_bodies import (
    ReleaseBody,
    ReserveBody,
    SettleBody,
    as_money,
    as_tier,
)
from service.budgets.leases import nanos
from service.budgets.named import MOST, Budget, find_budget
from service.catalog import CatalogModel
from service.dialects.model_validation import validate_model
from service.dialects.usage import read_usage
from service.errors import InvalidRequest
from service.pricing.prices import Quote, quote
from service.pricing.usage import usage_of
from service.types import Json, TokenCount


def list_budgets(_value: Json, _params: Mapping[str, str], deciders: Deciders) -> Decided:
    where = deciders.leases.where
    states = [deciders.leases.state(budget) for budget in deciders.budgets().values()]
    return Decided({"budgets": [state_json(state, where) for state in states], "kept_in": where})


def get_budget(_value: Json, params: Mapping[str, str], deciders: Deciders) -> Decided:
    budget = find_budget(deciders.budgets(), params["name"])
    return Decided(state_json(deciders.leases.state(budget), deciders.leases.where))


def reserve(value: Json, params: Mapping[str, str], deciders: Deciders) -> Decided:
    """A lease, or `granted: false`. What cannot be priced is not granted: a budget must not be passed unseen."""
    body = validate_model(ReserveBody, value)
    budget = find_budget(deciders.budgets(), params["name"])
    said = _said_amount(budget, body.amount_usd, body.tokens)
    if said is not None:
        _only(value, _AMOUNT, ("model", "tokenizer", "provider", "text", "texts", "request", "max_output_tokens"))
        reservation = deciders.leases.reserve(budget, said)
        return Decided(reservation_json(reservation, deciders.leases.where))
    count, model = counted(value, body, deciders)
    amount, quoted = _needed(budget, count, model, body)
    cost = None if quoted is None else quote_json(quoted, model.price if model else None)
    if amount is None:
        state = state_json(deciders.leases.state(budget), deciders.leases.where)
        refused = {"granted": False, "lease_id": None, "amount": None, "expires_at": None, "retry_at": None}
        return Decided({**refused, "budget": state, "cost": cost, "input_tokens": count.input_tokens}, (count,))
    answer = reservation_json(deciders.leases.reserve(budget, amount), deciders.leases.where)
    return Decided({**answer, "cost": cost, "input_tokens": count.input_tokens}, (count,))


_AMOUNT = ("amount_usd", "tokens")


def _only(value: Mapping[str, Json], said: tuple[str, ...], others: tuple[str, ...]) -> None:
    """Raises InvalidRequest where one of the `others` was given beside an amount, which would go unread."""
    other = next((name for name in others if value.get(name) is not None), None)
    if other is not None:
        raise InvalidRequest(f"Give one of {' and '.join(said)}, or {other}, not both.", field=other)


def _said_amount(budget: Budget, amount_usd: str | float | None, tokens: int | None) -> int | None:
    """The amount that the caller said, in the unit of the budget; None where it said none."""
    if amount_usd is not None and tokens is not None:
        raise InvalidRequest("Give one of amount_usd and tokens, not both.", field="tokens")
    usd = as_money(amount_usd, "amount_usd")
    if (usd is not None and budget.unit == "tokens") or (tokens is not None and budget.unit == "usd"):
        field = "amount_usd" if usd is not None else "tokens"
        raise InvalidRequest(f"This budget is in {budget.unit}: {field} does not apply.", field=field)
    return nanos(usd, upwards=True) if usd is not None else tokens


def _needed(
    budget: Budget, count: TokenCount, model: CatalogModel | None, body: ReserveBody
) -> tuple[int | None, Quote | None]:
    """What a counted request needs at most, by the upper end of its band; None where its price is not known."""
    output = body.max_output_tokens or 0
    if budget.unit == "tokens":
        return count.high + output, None
    if model is None:
        raise InvalidRequest("A tokenizer has no price: name a model.", field="model")
    usage = usage_of({"input": count.high, "output": output, "requests": 1})
    quoted = quote(model, usage, as_tier(body.service_tier))
    return (None if quoted.total is None else nanos(quoted.total, upwards=True)), quoted


def settle(value: Json, params: Mapping[str, str], deciders: Deciders) -> Decided:
    body = validate_model(SettleBody, value)
    budget = find_budget(deciders.budgets(), params["name"])
    billed = _said_amount(budget, body.amount_usd, body.tokens)
    if billed is None:
        billed = _billed(budget, body)
    else:
        _only(value, _AMOUNT, ("usage", "model"))
    closing = deciders.leases.settle(budget, body.lease_id, billed)
    return Decided(closing_json(closing, deciders.leases.where))


def _billed(budget: Budget, body: SettleBody) -> int:
    """The billed usage in the unit of the budget. Raises InvalidRequest where it has no price: say the amount then."""
    if body.usage is None:
        raise InvalidRequest("Say what was billed: amount_usd, tokens, or model and usage.", field="usage")
    usage = read_usage(body.usage, "usage", body.dialect)
    if budget.unit == "tokens":
        return min(MOST, usage.input_tokens + usage.output_tokens)
    if body.model is None:
        raise InvalidRequest("Usage is priced for a model: name it in model.", field="model")
    total = quote(catalog.resolve(body.model), usage, as_tier(body.service_tier)).total
    if total is None:
        raise InvalidRequest("The price of this usage is not known: say the billed amount_usd.", field="usage")
    return nanos(min(total, Decimal(9_000_000)), upwards=False)


def release(value: Json, params: Mapping[str, str], deciders: Deciders) -> Decided:
    body = validate_model(ReleaseBody, value)
    budget = find_budget(deciders.budgets(), params["name"])
    return Decided(closing_json(deciders.leases.release(budget, body.lease_id), deciders.leases.where))
