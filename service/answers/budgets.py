"""Named budgets and their leases as JSON."""

from __future__ import annotations

from service.answers.cost import instant
from service.budgets.leases import BudgetState, Closing, Reservation, to_dollars
from service.budgets.named import Budget
from service.pricing.prices import format_decimal
from service.types import Json


def amount_json(budget: Budget, amount: int) -> Json:
    """Tokens as a number, money as a decimal string."""
    return amount if budget.unit == "tokens" else format_decimal(to_dollars(amount))


def state_json(state: BudgetState, where: str) -> dict[str, Json]:
    budget = state.budget
    return {
        "name": budget.name, "unit": budget.unit, "limit": amount_json(budget, budget.limit),
        "spent": amount_json(budget, state.spent), "held": amount_json(budget, state.reserved),
        "remaining": amount_json(budget, state.remaining), "per": budget.span, "zone": budget.zone.key,
        "period_start": instant(state.period_start) if state.period_end else None,
        "period_end": instant(state.period_end), "kept_in": where,
    }


def reservation_json(reservation: Reservation, where: str) -> dict[str, Json]:
    return {
        "granted": reservation.granted, "lease_id": reservation.lease_id,
        "amount": amount_json(reservation.state.budget, reservation.amount),
        "expires_at": instant(reservation.expires_at), "retry_at": instant(reservation.retry_at),
        "budget": state_json(reservation.state, where),
    }


def closing_json(closing: Closing, where: str) -> dict[str, Json]:
    budget = closing.state.budget
    return {
        "lease_id": closing.lease_id, "state": closing.lease_state, "reserved": amount_json(budget, closing.reserved),
        "billed": amount_json(budget, closing.billed), "late": closing.late, "repeated": closing.repeated,
        "budget": state_json(closing.state, where),
    }
