"""Prices: worked examples of providers' pages, parity with genai-prices, sums, tiers, dates, no float anywhere."""

from __future__ import annotations

import ast
import random
import warnings
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.budgets import budget
from service.catalog import CatalogModel, listing, overrides, resolve
from service.catalog.listing import PriceRow, providers
from service.dialects import usage as usage_dialects
from service.pricing import compare, prices, usage
from service.pricing.prices import SERVICE_TIERS, ServiceTier, find_rate, format_decimal, price_input, quote
from service.pricing.usage import BUCKETS, INPUT_BUCKETS, OUTPUT_BUCKETS, Bucket, Usage, make_usage

CLAUDE = "platform.claude.com/docs/en/about-claude/pricing, 2026-09-26"
HAIKU = "platform.claude.com/docs/en/models/haiku-5-5/overview, 2026-10-24"
OPENAI = "developers.openai.com/api/docs/pricing, 2026-11-05"
SOL = "developers.openai.com/api/docs/models/gpt-6.1-sol, 2026-10-01"
GOOGLE = "ai.google.dev/gemini-api/docs/pricing, 2026-10"
AT = datetime(2026, 11, 15, 12, tzinfo=UTC)

WORKED: list[tuple[str, str, dict[Bucket, int], ServiceTier, str]] = [
    (CLAUDE, "claude-opus-4-8", {"input": 50_000, "output": 15_000}, "standard", "0.625"),
    (CLAUDE, "claude-opus-4-8", {"input": 10_000, "cache_read": 40_000, "output": 15_000}, "standard", "0.445"),
    (CLAUDE, "claude-opus-4-8", {"input": 50_000, "output": 15_000}, "batch", "0.3125"),
    (CLAUDE, "claude-opus-4-8", {"input": 50_000, "output": 15_000}, "fast", "1.25"),
    (CLAUDE, "claude-sonnet-4-5", {"input": 3_000, "cache_write_5m": 100_000, "output": 1_000}, "standard", "0.399"),
    (CLAUDE, "claude-sonnet-4-5", {"input": 3_000, "cache_write_1h": 100_000, "output": 1_000}, "standard", "0.624"),
    (CLAUDE, "claude-sonnet-4-5", {"input": 3_000, "cache_read": 100_000, "output": 1_000}, "standard", "0.054"),
    (CLAUDE, "claude-fable-5-1", {"input": 1_000, "cache_read": 1_000_000, "output": 1_000}, "standard", "0.31"),
    (CLAUDE, "claude-opus-4-7", {"input": 1_000_000, "output": 0}, "standard", "5"),
    (CLAUDE, "claude-opus-4-1", {"input": 1_000, "web_searches": 3, "output": 1_000}, "standard", "0.12"),
    (HAIKU, "claude-haiku-5-5", {"input": 60_000, "cache_read": 40_000, "output": 1_000}, "standard", "0.0069"),
    (HAIKU, "claude-haiku-5-5", {"input": 60_001, "cache_read": 40_000, "output": 1_000}, "standard", "0.0345005"),
    (OPENAI, "gpt-4o-mini", {"input": 1_000, "cache_read": 1_000, "output": 500}, "standard", "0.000525"),
    (OPENAI, "gpt-4.1", {"input": 10_000, "cache_read": 30_000, "output": 2_000}, "standard", "0.051"),
    (OPENAI, "gpt-5-mini", {"input": 10_000, "output": 400, "reasoning": 600}, "standard", "0.0045"),
    (SOL, "gpt-6.1-sol", {"input": 200_000, "cache_read": 72_000, "output": 10_000}, "standard", "0.5072"),
    (SOL, "gpt-6.1-sol", {"input": 200_000, "cache_read": 72_001, "output": 10_000}, "standard", "0.9644002"),
    (SOL, "gpt-6.1-sol", {"input": 200_000, "cache_read": 72_000, "output": 10_000}, "fast", "1.0144"),
    (SOL, "gpt-6.1-sol", {"input": 200_000, "cache_read": 72_000, "output": 10_000}, "flex", "0.2536"),
    (SOL, "gpt-6.1-sol", {"input": 1_000, "cache_write": 10_000, "output": 100}, "standard", "0.028"),
    (GOOGLE, "gemini-2.5-pro", {"input": 200_000, "output": 1_000}, "standard", "0.26"),
    (GOOGLE, "gemini-2.5-pro", {"input": 200_001, "output": 1_000}, "standard", "0.5150025"),
    (GOOGLE, "gemini-2.5-pro", {"input": 200_000, "output": 1_000}, "batch", "0.13"),
    (GOOGLE, "gemini-2.5-flash", {"input": 1_000, "input_audio": 1_000, "output": 100}, "standard", "0.00155"),
]


@pytest.mark.parametrize(("source", "model", "buckets", "tier", "total"), WORKED)
def test_worked_example(source: str, model: str, buckets: dict[Bucket, int], tier: ServiceTier, total: str) -> None:
    """Rates as the page named in `source` had them on that day."""
    quoted = quote(resolve(model), make_usage(buckets), tier, AT)
    assert quoted.total == Decimal(total), source
    assert quoted.price_status == "known"


@pytest.mark.parametrize(("tokens", "above", "total"), [
    (199_999, None, "0.24999875"), (200_000, None, "0.25"), (200_001, 200_000, "0.5000025"),
])
def test_threshold_of_google(tokens: int, above: int | None, total: str) -> None:
    (item,) = quote(resolve("gemini-2.5-pro"), Usage({"input": tokens}), at=AT).line_items
    assert (item.above, item.amount) == (above, Decimal(total))


@pytest.mark.parametrize(("tokens", "above", "rate"), [
    (271_999, None, "2.5"), (272_000, None, "2.5"), (272_001, 272_000, "5"),
])
def test_threshold_of_openai(tokens: int, above: int | None, rate: str) -> None:
    quoted = quote(resolve("gpt-5.4"), Usage({"input": tokens - 1_000, "cache_read": 1_000, "output": 1}), at=AT)
    assert [(item.above, item.unit_price) for item in quoted.line_items][:1] == [(above, Decimal(rate))]
    assert {item.above for item in quoted.line_items} == {above}


def test_dated_price_changes_at_midnight_utc() -> None:
    model, day = resolve("gemini-4-argon"), Usage({"input": 1_000_000})
    assert quote(model, day, at=datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC)).total == Decimal(2)
    assert quote(model, day, at=datetime(2026, 12, 1, tzinfo=UTC)).total == Decimal(4)
    assert quote(model, day, at=datetime(2026, 12, 1, 1, tzinfo=UTC)).total == Decimal(4)
    assert quote(model, day, at=datetime.fromisoformat("2026-12-01T08:30:00+09:00")).total == Decimal(2)


def test_price_by_time_of_day() -> None:
    model = resolve("deepseek-chat")
    times = [datetime(2025, 5, 1, hour, 15, tzinfo=UTC) for hour in (0, 12)]
    night, noon = (quote(model, Usage({"input": 1_000_000}), at=at).total for at in times)
    assert night is not None
    assert noon is not None
    assert night != noon


# ---------------------------------------------------------------- what is not known is not free


def test_model_without_a_row_has_no_price() -> None:
    quoted = quote(resolve("gpt-5.9-nova"), Usage({"input": 1_000_000}))
    assert (quoted.total, quoted.line_items, quoted.price_status) == (None, (), "unknown")
    assert price_input(resolve("gpt-5.9-nova"), 1_000_000) is None


def test_tier_without_a_row_has_no_price() -> None:
    quoted = quote(resolve("gpt-4o"), Usage({"input": 1}), "flex", AT)
    assert (quoted.total, quoted.price_status) == (None, "unknown")
    assert "flex" in (quoted.reason or "")


def test_bucket_without_a_rate_has_no_price() -> None:
    quoted = quote(resolve("text-embedding-3-small"), Usage({"input": 10, "output": 1}))
    assert (quoted.total, quoted.unpriced) == (None, ("output",))
    assert quote(resolve("text-embedding-3-small"), Usage({"input": 10})).total == Decimal("0.0000002")


def test_free_is_zero_only_where_a_row_says_so() -> None:
    quoted = quote(resolve("openrouter/meta-llama/llama-3.1-8b-instruct:free"), Usage({"input": 1_000}))
    assert (quoted.total, quoted.price_status) == (Decimal(0), "known")


def test_price_of_another_host_is_inferred() -> None:
    assert quote(resolve("azure/gpt-4o"), Usage({"input": 1_000})).price_status == "inferred"
    priced = price_input(resolve("azure/gpt-4o"), 1_000)
    assert priced is not None
    assert priced.price_status == "inferred"


# ---------------------------------------------------------------- parity with genai-prices


def _sample() -> list[tuple[PriceRow, dict[Bucket, int], ServiceTier]]:
    """100 (row, usage, tier) of a fixed draw: rows of every provider, buckets that the row prices."""
    draw = random.Random(20261129)
    rows = [
        PriceRow(provider.id, info.id, False, info)
        for provider in providers().values()
        for info in provider.models
        if provider.id != "groq" or not info.id.startswith("whisper")
    ]
    found: list[tuple[PriceRow, dict[Bucket, int], ServiceTier]] = []
    while len(found) < 100:
        row = draw.choice(rows)
        tier = draw.choice(SERVICE_TIERS)
        rates = prices._read_rates(row, tier, int(AT.timestamp()) // 60)
        buckets: dict[Bucket, int] = {
            bucket: draw.choice([0, 1, 999, 100_001, 300_000])
            for bucket in BUCKETS if bucket in rates and bucket != "requests"
        }
        if "input" in rates and any(buckets.values()):
            found.append((row, {**buckets, "requests": 1}, tier))
    return found


def _inclusive(numbers: Mapping[Bucket, int]) -> dict[str, int]:
    """The same usage in genai-prices' terms, where a unit includes what is finer than it."""
    n = {bucket: numbers.get(bucket, 0) for bucket in BUCKETS}
    media = ("audio", "image", "video")
    cached = {kind: n[f"cache_read_{kind}"] for kind in media}  # type: ignore[index]
    writes = n["cache_write"] + n["cache_write_5m"] + n["cache_write_1h"]
    values = {
        "input_tokens": sum(n[bucket] for bucket in INPUT_BUCKETS),
        "cache_read_tokens": n["cache_read"] + sum(cached.values()),
        "cache_write_tokens": writes,
        "cache_write_5m_tokens": n["cache_write_5m"],
        "cache_write_1h_tokens": n["cache_write_1h"],
        "output_tokens": sum(n[bucket] for bucket in OUTPUT_BUCKETS),
        "output_reasoning_tokens": n["reasoning"],
        "web_searches": n["web_searches"],
        "storage_searches": n["storage_searches"],
    }
    for kind in media:
        values[f"input_{kind}_tokens"] = n[f"input_{kind}"] + cached[kind]  # type: ignore[index]
        values[f"cache_{kind}_read_tokens"] = cached[kind]
        values[f"output_{kind}_tokens"] = n[f"output_{kind}"]  # type: ignore[index]
    return {key: value for key, value in values.items() if value}


@pytest.mark.parametrize("case", _sample(), ids=lambda case: f"{case[0].provider_id}-{case[0].row_id}-{case[2]}")
def test_genai_prices_own_answer_is_reproduced(case: tuple[PriceRow, dict[Bucket, int], ServiceTier]) -> None:
    from genai_prices import Usage as Theirs

    row, buckets, tier = case
    ours = quote(_with(row), make_usage(buckets), tier, AT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        theirs = row.info.calc_price(
            Theirs(**_inclusive(buckets)), providers()[row.provider_id],
            genai_request_timestamp=AT, price_context=dict(prices._CONTEXTS[tier]) or None,
        )
    assert ours.total == theirs.total_price


def _with(row: PriceRow) -> CatalogModel:
    return replace(resolve("gpt-4o"), price=row)


# ---------------------------------------------------------------- properties

PRICED = [
    "gpt-4o", "gpt-5.4", "gpt-6.1-sol", "claude-opus-4-8", "claude-haiku-5-5", "gemini-2.5-pro", "gemini-2.5-flash",
]
NUMBERS = st.dictionaries(st.sampled_from(BUCKETS), st.integers(0, 10**9), max_size=8)


@given(st.sampled_from(PRICED), NUMBERS, st.sampled_from(SERVICE_TIERS))
def test_line_items_sum_to_the_total_and_cover_the_usage(
    model: str, numbers: dict[Bucket, int], tier: ServiceTier
) -> None:
    used = make_usage(numbers)
    quoted = quote(resolve(model), used, tier, AT)
    if quoted.total is None:
        assert quoted.price_status == "unknown"
        assert quoted.line_items == ()
        return
    assert sum((item.amount for item in quoted.line_items), Decimal(0)) == quoted.total
    assert all(item.amount * item.per == item.quantity * item.unit_price for item in quoted.line_items)
    billed = {item.bucket: item.quantity for item in quoted.line_items}
    assert billed == {bucket: number for bucket, number in used.buckets.items() if bucket != "requests"}


@given(st.sampled_from(PRICED), st.integers(0, 2_000_000))
def test_input_alone_is_the_same_both_ways(model: str, tokens: int) -> None:
    priced, quoted = price_input(resolve(model), tokens), quote(resolve(model), make_usage({"input": tokens}))
    assert priced is not None
    assert (priced.usd, priced.price_status) == (quoted.total, quoted.price_status)
    assert priced.prices_version == quoted.prices_version


@given(st.decimals(min_value=0, max_value=10**9, allow_nan=False, allow_infinity=False, places=12))
def test_plain_has_no_exponent_and_loses_nothing(amount: Decimal) -> None:
    text = format_decimal(amount)
    assert Decimal(text) == amount
    assert "E" not in text.upper()
    assert not (("." in text) and text.endswith("0"))


def test_million_small_amounts_sum_without_drift() -> None:
    one = price_input(resolve("gpt-4o-mini"), 1)
    assert one is not None
    assert one.usd == Decimal("0.00000015")
    assert sum([one.usd] * 1_000_000, Decimal(0)) == Decimal("0.15")


def test_rate_of_tells_the_step() -> None:
    rate = find_rate(resolve("gemini-2.5-pro"), "output", at=AT)
    assert rate is not None
    assert rate.at(200_000) == (None, Decimal(10))
    assert rate.at(200_001) == (200_000, Decimal(15))
    assert find_rate(resolve("gpt-5.9-nova"), "input") is None


@pytest.mark.parametrize("module", [prices, usage, budget, compare, listing, overrides, usage_dialects])
def test_no_float_in_money(module: ModuleType) -> None:
    """The modules that handle money write no binary fraction down, make none and name the type nowhere."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    constants = {type(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    divisions = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)]
    assert "float" not in names
    assert float not in constants
    assert not divisions or "Decimal" in names
