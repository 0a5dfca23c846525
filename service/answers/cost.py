"""Counts, quotes, budget checks and comparisons as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from service.budgets.budget import Finding, Verdict
from service.catalog import CatalogModel, PriceRow
from service.errors import UnknownModel
from service.pricing.compare import Row
from service.pricing.prices import Quote, format_decimal
from service.types import Json, TokenCount


def money(amount: Decimal | None) -> str | None:
    return None if amount is None else format_decimal(amount)


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


def quote_json(quote: Quote, row: PriceRow | None) -> dict[str, Json]:
    return {
        "currency": quote.currency, "total": money(quote.total), "price_status": quote.price_status,
        "prices_version": quote.prices_version, "service_tier": quote.service_tier,
        "price_list": None if row is None else {"provider": row.provider_id, "model": row.row_id},
        "line_items": [
            {
                "bucket": item.bucket, "quantity": item.quantity, "unit_price": format_decimal(item.unit_price),
                "per": item.per, "above_input_tokens": item.above, "amount": format_decimal(item.amount),
            }
            for item in quote.line_items
        ],
        "unpriced": list(quote.unpriced), "reason": quote.reason,
    }


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


