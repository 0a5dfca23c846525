"""The catalog as JSON: models, their limits, prices and methods."""

from __future__ import annotations

from typing import Any

from service.answers.cost import model_json
from service.catalog import CatalogModel
from service.counting import accuracy
from service.families.base import Family
from service.pricing.prices import find_rate, format_decimal, prices_version
from service.pricing.usage import Bucket
from service.types import Json

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
                "steps": [
                    {"above_input_tokens": max(0, start), "price": format_decimal(price)} for start, price in rate.steps
                ],
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
    for (rule_set, feature), trust in accuracy.read_class_table().items():
        if rule_set.partition("/")[0] in names or rule_set in names:
            found.setdefault(rule_set, {})[feature] = trust.method
    return found


def vars_of(rules: object) -> tuple[object, ...]:
    """The rule sets inside one that holds one a platform."""
    return tuple(getattr(rules, name) for name in ("gemini_api", "vertex") if hasattr(rules, name))


