"""Truncating: results recount to at most N tokens and keep whole characters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidRequest
from service.text.truncate import truncate
from service.tokenizers.registry import get_tokenizer
from tests.text.cases import TEXTS, TOKENIZERS, CountedCharacters, boundaries

MARKERS = st.sampled_from(["", "…", " [cut] ", "\n"])


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(deadline=None, max_examples=60)
@given(text=TEXTS, limit=st.integers(1, 40), marker=MARKERS)
def test_truncation_from_each_side(name: str, text: str, limit: int, marker: str) -> None:
    tokenizer = get_tokenizer(name)
    if tokenizer.count(marker) > limit:
        marker = ""
    ends = boundaries(text)
    whole = tokenizer.count(text)
    for cut_from in ("end", "start", "middle"):
        result = truncate(text, limit, tokenizer.count, cut_from, marker)
        assert tokenizer.count(result.text) == result.tokens <= limit
        assert result.input_tokens == whole
        assert result.truncated == (whole > limit)
        if not result.truncated:
            assert result.text == text
            continue
        head = next((end for start, end in result.kept if start == 0), 0)
        tail = next((start for start, end in result.kept if end == len(text) and start >= head), len(text))
        assert result.text == text[:head] + marker + text[tail:]
        assert {head, tail} <= ends
        assert head <= tail
        if cut_from == "end":
            assert text.startswith(result.text.removesuffix(marker))


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(deadline=None, max_examples=40)
@given(text=TEXTS, limit=st.integers(1, 40))
def test_truncated_text_cannot_take_one_more_character(name: str, text: str, limit: int) -> None:
    tokenizer = get_tokenizer(name)
    result = truncate(text, limit, tokenizer.count)
    if result.truncated:
        longer = min((at for at in boundaries(text) if at > len(result.text)), default=len(text))
        assert tokenizer.count(text[:longer]) > limit


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_no_character_is_cut_in_two(name: str) -> None:
    """Two tokens of ids would end inside the emoji here and decode to U+FFFD."""
    result = truncate("hello 🧠", 2, get_tokenizer(name).count)
    assert result.text == "hello "
    assert result.tokens == 2


def test_family_emoji_is_kept_or_left_whole() -> None:
    count = get_tokenizer("o200k_base").count
    family = "👩\u200d👩\u200d👧\u200d👦"
    assert truncate(f"hi {family}", count(f"hi {family}") - 1, count).text == "hi "


def test_marker_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        truncate("one two three four", 1, get_tokenizer("o200k_base").count, marker=" and so on and so on")
    assert caught.value.field == "marker"


@pytest.mark.parametrize("name", ["o200k_base", "gemma3", "claude-v4.8"])
@pytest.mark.parametrize(
    "unit", ["The quick brown fox. ", "안녕하세요 ", "a", " ", "🙂", "🇰🇷", "e\u0301", "\u0301", "中", "=", "x1_"]
)
def test_megabyte_is_cut_in_linear_time(name: str, unit: str) -> None:
    """The search counts texts not much longer than the result, so its work is little beside one count of the text."""
    text = (unit * (1_000_000 // len(unit.encode()) + 1))[: 1_000_000 // max(1, len(unit.encode()) // len(unit))]
    count = CountedCharacters(get_tokenizer(name).count)
    result = truncate(text, 1_000, count)
    assert result.tokens <= 1_000
    assert result.truncated == (result.input_tokens > 1_000)
    assert count.characters < 2 * len(text)
