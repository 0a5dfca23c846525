"""Budget checks: reasons, headroom, the longest answer that still fits, and 'cannot decide'."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.budgets.budget import Finding, Limit, check_budget
from service.catalog import resolve
from service.pricing.prices import quote
from service.pricing.usage import make_usage
from service.types import TokenCount, Uncounted


def _count(tokens: int, high: int | None = None, uncounted: tuple[Uncounted, ...] = ()) -> TokenCount:
    return TokenCount(
        tokens, "exact", tokens, tokens if high is None else high, "o200k_base", "446a9538", {}, uncounted=uncounted
    )


def _by_name(findings: tuple[Finding, ...]) -> dict[str, Finding]:
    return {finding.constraint: finding for finding in findings}


def test_all_three_constraints_fit() -> None:
    verdict = check_budget(
        _count(1_000), resolve("gpt-4o"),
        Limit(max_input_tokens=2_000, max_output_tokens=500, max_cost_usd=Decimal("0.05")),
    )
    assert (verdict.decision, verdict.fits) == ("fits", True)
    findings = _by_name(verdict.findings)
    assert findings["max_input_tokens"].headroom == 1_000
    assert findings["context_window"].headroom == 128_000 - 1_500
    assert findings["max_cost_usd"].headroom == Decimal("0.05") - Decimal("0.0075")
    assert verdict.quote is not None
    assert verdict.quote.total == Decimal("0.0075")
    # (0.05 - 0.0025) / 0.00001 = 4,750 output tokens, less than the model's 16,384
    assert verdict.largest_output == 4_750


def test_upper_end_of_the_band_decides() -> None:
    limit = Limit(max_input_tokens=1_000)
    assert check_budget(_count(1_000), resolve("gpt-4o"), limit).decision == "fits"
    verdict = check_budget(_count(1_000, high=1_001), resolve("gpt-4o"), limit)
    assert (verdict.decision, verdict.largest_output) == ("does_not_fit", 0)
    assert _by_name(verdict.findings)["max_input_tokens"].headroom == -1


@pytest.mark.parametrize(("model", "tokens", "output", "decision", "largest"), [
    ("gpt-4o", 128_000, None, "fits", 0),
    ("gpt-4o", 128_001, None, "does_not_fit", 0),
    ("gpt-4o", 120_000, 8_000, "fits", 8_000),
    ("gpt-4o", 120_000, 8_001, "does_not_fit", 8_000),
    ("gpt-4o", 100, 16_385, "does_not_fit", 16_384),  # longer than the model answers
    ("gpt-5", 272_000, 128_000, "fits", 128_000),
    ("gpt-5", 272_001, None, "does_not_fit", 0),  # refused though the window is 400,000
    ("claude-sonnet-4-5", 190_000, 10_000, "fits", 10_000),
    ("claude-sonnet-4-5", 190_000, 10_001, "does_not_fit", 10_000),
    ("gemini-2.5-pro", 1_048_576, 65_536, "fits", 65_536),  # output has a limit of its own
    ("gemini-2.5-pro", 1_048_577, None, "does_not_fit", 0),
])
def test_window(model: str, tokens: int, output: int | None, decision: str, largest: int) -> None:
    verdict = check_budget(_count(tokens), resolve(model), Limit(max_output_tokens=output))
    assert (verdict.decision, verdict.largest_output) == (decision, largest)


def test_unknown_price_cannot_be_decided() -> None:
    verdict = check_budget(_count(10), resolve("gpt-5.9-nova"), Limit(max_cost_usd=Decimal(1)))
    assert (verdict.decision, verdict.fits) == ("cannot_decide", None)
    assert "price" in _by_name(verdict.findings)["max_cost_usd"].reason.lower()


def test_unknown_price_of_the_output_cannot_be_decided() -> None:
    verdict = check_budget(
        _count(10), resolve("text-embedding-3-small"), Limit(max_output_tokens=5, max_cost_usd=Decimal(1))
    )
    assert verdict.decision == "cannot_decide"


def test_unknown_window_cannot_be_decided_but_a_broken_limit_can() -> None:
    model = resolve("gpt-5.9-nova")
    assert model.window is None
    assert check_budget(_count(10), model, Limit()).decision == "cannot_decide"
    assert check_budget(_count(10), model, Limit(max_input_tokens=9)).decision == "does_not_fit"


def test_part_that_cannot_be_counted_cannot_be_decided() -> None:
    unseen = (Uncounted("messages[0].content[1]", "image", "a URL is never fetched"),)
    verdict = check_budget(_count(10, uncounted=unseen), resolve("gpt-4o"), Limit())
    assert verdict.decision == "cannot_decide"
    assert "messages[0].content[1]" in verdict.findings[0].reason
    assumed = (Uncounted("messages[0].content[1]", "image", "a URL is never fetched", 1_000),)
    assert check_budget(_count(1_010, uncounted=assumed), resolve("gpt-4o"), Limit()).decision == "fits"


def test_tokenizer_alone_has_no_window_and_no_price() -> None:
    assert check_budget(_count(10), None, Limit(max_input_tokens=10)).decision == "fits"
    assert check_budget(_count(10), None, Limit(max_cost_usd=Decimal(1))).decision == "cannot_decide"
    assert check_budget(_count(10), None, Limit()).largest_output is None


def test_free_model_is_bounded_by_no_money() -> None:
    model = resolve("openrouter/meta-llama/llama-3.1-8b-instruct:free")
    verdict = check_budget(_count(10), model, Limit(max_output_tokens=100, max_cost_usd=Decimal(0)))
    assert verdict.decision == "fits"


MODELS = ["gpt-4o", "gpt-5.4", "gemini-2.5-pro", "claude-haiku-5-5"]


@given(st.sampled_from(MODELS), st.integers(0, 300_000), st.integers(0, 10**6))
def test_largest_output_fits_and_one_more_does_not(model_ref: str, tokens: int, micros: int) -> None:
    model, money = resolve(model_ref), Decimal(micros) / 1_000_000
    largest = check_budget(_count(tokens), model, Limit(max_cost_usd=money)).largest_output
    assert largest is not None
    if largest > 0:
        again = check_budget(_count(tokens), model, Limit(max_output_tokens=largest, max_cost_usd=money))
        assert again.decision == "fits"
    more = check_budget(_count(tokens), model, Limit(max_output_tokens=largest + 1, max_cost_usd=money))
    assert more.decision == "does_not_fit"


@given(st.integers(0, 200_000), st.integers(0, 10_000))
def test_money_needed_is_the_quote(tokens: int, output: int) -> None:
    model = resolve("claude-haiku-5-5")
    verdict = check_budget(_count(tokens), model, Limit(max_output_tokens=output, max_cost_usd=Decimal(1)))
    expected = quote(model, make_usage({"input": tokens, "output": output})).total
    assert _by_name(verdict.findings)["max_cost_usd"].needed == expected
