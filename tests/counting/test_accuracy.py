"""The method and the error band of a count."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.counting import accuracy
from service.counting.accuracy import ESTIMATE, EXACT, Trust
from service.types import FEATURES, Doubt, Uncounted

CALIBRATED = Trust("calibrated", -0.02, 0.03)


def test_exact_band_is_the_number_itself() -> None:
    assert accuracy.band(61, EXACT) == ("exact", 61, 61)


def test_an_estimate_leans_high_and_rounds_outwards() -> None:
    how, low, high = accuracy.band(61, ESTIMATE)
    assert (how, low, high) == ("estimate", 57, 71)
    assert high - 61 > 61 - low


def test_a_doubt_takes_exactness_away_and_widens_the_band() -> None:
    assert accuracy.band(100, EXACT, [Doubt(0, 5, "replayed call")]) == ("calibrated", 100, 105)


def test_something_uncounted_makes_it_an_estimate_that_holds_a_zero_cost() -> None:
    how, low, high = accuracy.band(1_100, EXACT, uncounted=[Uncounted("messages[0]", "image", "remote", 1_000)])
    assert how == "estimate"
    assert low <= 100
    assert high >= 1_600


def test_what_costs_nothing_to_leave_out_is_still_an_estimate() -> None:
    how, low, high = accuracy.band(100, EXACT, uncounted=[Uncounted("tools[0]", "x", "unknown type", 0)])
    assert (how, low, high) == ("estimate", 95, 115)


def test_weaken() -> None:
    assert accuracy.weaken(EXACT) == EXACT
    assert accuracy.weaken(EXACT, foreign=True).method == "calibrated"
    assert accuracy.weaken(CALIBRATED, guessed=True) == Trust("estimate", -0.05, 0.15)
    assert accuracy.weaken(Trust("estimate", -0.5, 0.6), guessed=True) == Trust("estimate", -0.5, 0.6)


def test_an_unseen_class_is_an_estimate() -> None:
    assert accuracy.find_trust("no-such-rules/chat", "tools") == ESTIMATE


def test_the_committed_table_keeps_its_promises() -> None:
    for (rules, feature), trust in accuracy.read_class_table().items():
        assert feature in (*FEATURES, "content"), (rules, feature)
        assert trust.low <= 0 <= trust.high
        if trust.method == "exact":
            assert (trust.low, trust.high) == (0, 0)
        if trust.method == "estimate":
            assert trust.low <= accuracy.ESTIMATE_LOW
            assert trust.high >= accuracy.ESTIMATE_HIGH
        if trust.method == "calibrated" and feature != "content":
            assert trust.high > 0


@given(
    tokens=st.integers(0, 10**9),
    trust=st.sampled_from([EXACT, CALIBRATED, ESTIMATE]),
    doubts=st.lists(st.tuples(st.integers(-500, 0), st.integers(0, 500)), max_size=3),
    assumed=st.lists(st.integers(0, 5_000), max_size=3),
)
def test_a_band_always_holds_its_count(
    tokens: int, trust: Trust, doubts: list[tuple[int, int]], assumed: list[int]
) -> None:
    how, low, high = accuracy.band(
        tokens, trust, [Doubt(a, b, "x") for a, b in doubts], [Uncounted("x", "y", "z", n) for n in assumed]
    )
    assert 0 <= low <= tokens <= high
    if doubts or assumed:
        assert how != "exact"
    if assumed:
        assert how == "estimate"
        assert high >= math.ceil(tokens * 1.15)


@pytest.mark.parametrize("tokenizer", ["o200k_base", "cl100k_base", "gemma3"])
def test_a_bare_text_of_a_published_vocabulary_is_exact(tokenizer: str) -> None:
    assert accuracy.find_text_trust(tokenizer) == EXACT
