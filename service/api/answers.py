"""Quotes, verdicts, models and leases as JSON. Money is a decimal string, an instant ISO 8601 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from service.budgets.budget import Finding, Verdict
from service.budgets.leases import BudgetState, Closing, Reservation, to_dollars
from service.budgets.named import Budget
from service.catalog import CatalogModel, PriceRow
from service.counting import accuracy
from service.errors import UnknownModel
from service.families.base import Family
from service.pricing.compare import Row
from service.pricing.prices import Quote, find_rate, plain, prices_version
from service.pricing.usage import Bucket
from service.types import Json, TokenCount


def money(amount: Decimal | None) -> str | None:
    return None if amount is None else plain(amount)


def instant(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def model_json(model: CatalogModel) -> dict[str, Json]:
    """What every answer says of the model it is for."""
    return {
        "model": model.model_id, "model_ref": model.model_ref, "model_match": model.match, "rule": model.rule,
        "provider": model.provider_id, "host": model.host_id,
    }


def count_json(count: TokenCount) -> dict[str, Json]:
    """A count in brief."""
    return {
        "input_tokens": count.input_tokens, "method": count.method,
        "error_band": {"low": count.low, "high": count.high}, "tokenizer": count.tokenizer,
        "uncounted": [
            {"path": item.path, "kind": item.kind, "reason": item.reason, "assumed_tokens": item.assumed_tokens}
            for item in count.uncounted
        ],
        "warnings": [{"code": warned.code, "path": warned.path} for warned in count.warnings],
    }


# ---------------------------------------------------------------- prices


def quote_json(quote: Quote, row: PriceRow | None) -> dict[str, Json]:
    return {
        "currency": quote.currency, "total": money(quote.total), "price_status": quote.price_status,
        "prices_version": quote.prices_version, "service_tier": quote.service_tier,
        "price_list": None if row is None else {"provider": row.provider_id, "model": row.row_id},
        "line_items": [
            {
                "bucket": item.bucket, "quantity": item.quantity, "unit_price": plain(item.unit_price), "per": item.per,
                "above_input_tokens": item.above, "amount": plain(item.amount),
            }
            for item in quote.line_items
        ],
        "unpriced": list(quote.unpriced), "reason": quote.reason,
    }


_LISTED_RATES: tuple[Bucket, ...] = (
    "input", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h", "output", "reasoning", "input_audio",
    "output_audio", "input_image", "web_searches",
)


def prices_json(model: CatalogModel) -> Json:
    """Today's standard rates in USD with their steps; a bucket without one of its own costs what `input` or `output`
    costs. Null where no list has the model."""
    row = model.price
    if row is None:
        return None
    rates = {bucket: find_rate(model, bucket) for bucket in _LISTED_RATES}
    base = (rates["input"], rates["output"])
    return {
        "currency": "USD", "provider": row.provider_id, "model": row.row_id,
        "price_status": "inferred" if row.inferred else "known", "prices_version": prices_version(row),
        "rates": {
            bucket: {
                "per": rate.per,
                "steps": [{"above_input_tokens": max(0, start), "price": plain(price)} for start, price in rate.steps],
            }
            for bucket, rate in rates.items()
            if rate is not None and (bucket in ("input", "output") or rate not in base)
        },
    }


def catalog_json(model: CatalogModel, *, prices: bool = True) -> dict[str, Json]:
    """A row of the catalog."""
    limits = model.limits
    return {
        "id": model.model_id, **model_json(model), "family": model.family.name, "tokenizer": model.family.tokenizer,
        "context_window": limits.window, "max_input_tokens": limits.longest_input,
        "max_output_tokens": limits.max_output, "window_shared_with_output": limits.shared,
        "methods": methods_json(model.family), **({"prices": prices_json(model)} if prices else {}),
    }


def methods_json(family: Family) -> dict[str, Any]:
    """How far counts of the family can be trusted, by rule set and feature, as measured; `text` is a bare text."""
    rules = family.rules
    names = {getattr(each, "name", "") for each in (rules, *vars_of(rules))} | {f"openai-{getattr(rules, 'line', '')}"}
    found: dict[str, Any] = {"text": accuracy.find_text_trust(family.tokenizer).method}
    for (rule_set, feature), trust in accuracy.class_table().items():
        if rule_set.partition("/")[0] in names or rule_set in names:
            found.setdefault(rule_set, {})[feature] = trust.method
    return found


def vars_of(rules: object) -> tuple[object, ...]:
    """The rule sets inside one that holds one a platform."""
    return tuple(getattr(rules, name) for name in ("gemini_api", "vertex") if hasattr(rules, name))


# ---------------------------------------------------------------- budget checks and comparisons


def finding_json(finding: Finding) -> dict[str, Json]:
    def number(value: int | Decimal | None) -> Json:
        return money(value) if isinstance(value, Decimal) else value

    return {
        "constraint": finding.constraint, "fits": finding.fits, "reason": finding.reason,
        "allowed": number(finding.allowed), "needed": number(finding.needed), "headroom": number(finding.headroom),
    }


def verdict_json(verdict: Verdict, count: TokenCount, model: CatalogModel | None) -> dict[str, Json]:
    quoted = verdict.quote
    return {
        "decision": verdict.decision, "fits": verdict.fits,
        "reasons": [finding.reason for finding in verdict.findings if not finding.fits],
        "constraints": [finding_json(finding) for finding in verdict.findings],
        "largest_output_tokens": verdict.largest_output,
        **(model_json(model) if model else {"model": None}), **count_json(count),
        "cost": None if quoted is None else quote_json(quoted, model.price if model else None),
    }


def row_json(row: Row) -> dict[str, Json]:
    if row.error is not None:
        near = list(row.error.suggestions) if isinstance(row.error, UnknownModel) else []
        error = {"code": row.error.code, "message": row.error.message, "field": row.error.field, "near": near}
        return {"model_ref": row.model_ref, "error": error}
    assert row.count is not None
    assert row.model is not None
    assert row.quote is not None
    return {
        **model_json(row.model), **count_json(row.count), "context_window": row.model.window,
        "window_share": money(row.window_share), "cost": money(row.quote.total), "currency": row.quote.currency,
        "price_status": row.quote.price_status, "prices_version": row.quote.prices_version,
    }


# ---------------------------------------------------------------- named budgets


def amount_json(budget: Budget, amount: int) -> Json:
    """Tokens as a number, money as a decimal string."""
    return amount if budget.unit == "tokens" else plain(to_dollars(amount))


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
