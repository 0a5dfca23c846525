"""Grapheme boundaries found locally are those of the whole text."""

from __future__ import annotations

import time

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from service.text.graphemes import Graphemes

ALPHABET = [
    "a", " ", "\n", "\r", "\r\n", "e\u0301", "\u0301", "한", "ᄒ", "ᅡ", "ᆫ", "🇰", "🇷", "👩", "\u200d", "👧", "🏽", "क",
    "्", "ष", "ि", "中", "\u0600", "\u0e33", "ก", "🙂", "\ufe0f", "\U000110bd", "é", "©", "ழ", "ி", "\u0d4e", "\u0000",
    "\u200b", "א", "ب",
]


@given(st.lists(st.sampled_from(ALPHABET), max_size=200).map("".join), st.lists(st.integers(0, 400), max_size=6))
def test_boundaries_are_those_of_the_whole_text(text: str, places: list[int]) -> None:
    boundaries = sorted({0, len(text), *(cluster.end() for cluster in regex.finditer(r"\X", text))})
    graphemes = Graphemes(text)
    for at in places:
        assert graphemes.before(at) == max(boundary for boundary in boundaries if boundary <= min(at, len(text)))
        if at <= len(text):
            assert graphemes.after(at) == min(boundary for boundary in boundaries if boundary >= at)


@pytest.mark.parametrize("unit", ["🇰🇷", "कि", "e\u0301", "\u0301", "👩\u200d👧", "ᄒ", "a", "\r\n", "क्ष"])
def test_long_texts_without_anchors_cost_one_pass(unit: str) -> None:
    """Twenty places each in half a million characters; a generous bound, since quadratic time would take hours."""
    text = unit * (500_000 // len(unit))
    graphemes = Graphemes(text)
    started = time.process_time()
    for at in range(1, 20):
        place = len(text) * at // 20
        assert graphemes.before(place) <= place <= graphemes.after(place)
    assert time.process_time() - started < 10
