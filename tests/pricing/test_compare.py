"""Comparing models: cheapest first, unknown prices after known ones, errors last."""

from __future__ import annotations

from decimal import Decimal

from service.catalog import resolve
from service.counting.counter import Counter
from service.pricing.compare import compare
from service.types import CountRequest, TokenCount

COUNTER = Counter.in_memory()


def _count(model_ref: str) -> TokenCount:
    return COUNTER.count(CountRequest(model_ref=model_ref, texts=("Hello, world! 안녕하세요.",)))


def test_rows_are_sorted_by_cost_then_tokens_then_errors() -> None:
    rows = compare(["grok-4", "gpt-4o", "gpt-5.9-nova", "gpt-4o-mini", "gpt-4o"], _count, resolve)
    assert [row.model_ref for row in rows] == ["gpt-4o-mini", "gpt-4o", "gpt-5.9-nova", "grok-4"]
    mini, four, nova, grok = rows
    assert mini.quote is not None
    assert mini.quote.total == 7 * Decimal("0.00000015")
    assert four.count is not None
    assert four.count.input_tokens == 7
    assert four.window_share == Decimal("0.000055")
    assert nova.quote is not None
    assert (nova.quote.total, nova.window_share) == (None, None)
    assert grok.error is not None
    assert grok.count is None


def test_output_is_priced_along() -> None:
    (row,) = compare(["gpt-4o"], _count, resolve, output_tokens=1_000)
    assert row.quote is not None
    assert row.quote.total == 7 * Decimal("0.0000025") + Decimal("0.01")


def test_same_text_has_other_counts_elsewhere() -> None:
    rows = compare(["gpt-4o", "gpt-4", "gemini-2.5-flash"], _count, resolve)
    assert {row.model_ref: row.count.input_tokens for row in rows if row.count} == {
        "gpt-4o": 7, "gpt-4": 9, "gemini-2.5-flash": 6,
    }
