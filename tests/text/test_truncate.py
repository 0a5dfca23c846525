"""Truncating and splitting: results recount to at most N tokens, keep whole characters, and lose no text."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidRequest, TooLarge
from service.text import truncate as cutting
from service.text.truncate import split, truncate
from service.tokenizers.registry import get_tokenizer

TOKENIZERS = ["o200k_base", "cl100k_base", "p50k_base", "gemma3", "claude", "claude-v3", "claude-v4.8"]

UNITS = [
    "hello", " ", "world", "\n", "\n\n", ".", "안녕", "하세요", "中文", "🙂",
    "👩\u200d👩\u200d👧", "e\u0301", "\u0301", "🇰🇷", "क्षि", "    ",
    "12345", "<|endoftext|>", "=", "\t", "\r\n", "ﬁ", "\u00a0", "ÀÉ", "\x00",
]
TEXTS = st.lists(st.sampled_from(UNITS), max_size=60).map("".join) | st.text(max_size=80)
MARKERS = st.sampled_from(["", "…", " [cut] ", "\n"])


def _boundaries(text: str) -> set[int]:
    return {0, len(text), *(cluster.end() for cluster in regex.finditer(r"\X", text))}


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(deadline=None, max_examples=60)
@given(text=TEXTS, limit=st.integers(1, 40), marker=MARKERS)
def test_truncation_from_each_side(name: str, text: str, limit: int, marker: str) -> None:
    tokenizer = get_tokenizer(name)
    if tokenizer.count(marker) > limit:
        marker = ""
    boundaries = _boundaries(text)
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
        assert {head, tail} <= boundaries
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
        longer = min((at for at in _boundaries(text) if at > len(result.text)), default=len(text))
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
    """Well under a second where it is measured (`make bench`); asserted with room for slow machines."""
    text = (unit * (1_000_000 // len(unit.encode()) + 1))[: 1_000_000 // max(1, len(unit.encode()) // len(unit))]
    tokenizer = get_tokenizer(name)
    started = time.perf_counter()
    result = truncate(text, 1_000, tokenizer.count)
    assert time.perf_counter() - started < 10
    assert result.tokens <= 1_000
    assert result.truncated == (tokenizer.count(text) > 1_000)


# ---------------------------------------------------------------- splitting


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(deadline=None, max_examples=40)
@given(
    text=TEXTS, limit=st.integers(8, 40), overlap=st.integers(0, 7),
    at=st.sampled_from(["character", "word", "sentence", "line", "paragraph"]),
)
def test_pieces_cover_the_text_and_fit(name: str, text: str, limit: int, overlap: int, at: cutting.SplitAt) -> None:
    tokenizer = get_tokenizer(name)
    pieces = split(text, limit, tokenizer.count, overlap, at)
    assert [piece.tokens for piece in pieces] == [tokenizer.count(text[piece.start : piece.end]) for piece in pieces]
    assert all(0 < piece.tokens <= limit or not piece.tokens for piece in pieces)
    assert (pieces[0].start, pieces[-1].end) == (0, len(text)) if text else pieces == []
    for left, right in pairwise(pieces):
        assert left.start < right.start <= left.end < right.end
        assert tokenizer.count(text[right.start : left.end]) <= overlap
        if not overlap:
            assert right.start == left.end


@settings(deadline=None)
@given(TEXTS, st.integers(20, 60))
def test_pieces_end_on_graphemes_where_those_fit(text: str, limit: int) -> None:
    count = get_tokenizer("o200k_base").count
    clusters = [cluster.span() for cluster in regex.finditer(r"\X", text)]
    if all(count(text[start:end]) <= limit for start, end in clusters):
        ends = {piece.end for piece in split(text, limit, count)}
        assert ends <= _boundaries(text)


def test_grapheme_longer_than_the_limit_is_cut_between_code_points() -> None:
    count = get_tokenizer("o200k_base").count
    text = "a" + "\u0301" * 200 + "b"
    pieces = split(text, 8, count)
    assert "".join(text[piece.start : piece.end] for piece in pieces) == text
    assert max(piece.tokens for piece in pieces) <= 8


def test_character_longer_than_the_limit_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        split("ꙮ", 1, get_tokenizer("p50k_base").count)
    assert caught.value.field == "max_tokens"


def test_too_many_pieces_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "MAX_PIECES", 10)
    with pytest.raises(TooLarge):
        split("word " * 100, 2, get_tokenizer("o200k_base").count)


def test_far_too_many_pieces_are_refused_before_they_are_made() -> None:
    tokenizer, calls = get_tokenizer("o200k_base"), 0

    def count(text: str) -> int:
        nonlocal calls
        calls += 1
        return tokenizer.count(text)

    with pytest.raises(TooLarge):
        split("word " * 201_000, 1, count)
    assert calls == 1


def test_overlap_that_repeats_the_text_without_end_is_refused_soon() -> None:
    """Each piece would begin one token after the one before: 20,000 pieces of 40 KB."""
    tokenizer, text = get_tokenizer("o200k_base"), "word " * 30_000
    began = time.process_time()
    with pytest.raises(TooLarge) as caught:
        split(text, 10_000, tokenizer.count, 9_999)
    assert (caught.value.field, time.process_time() - began < 10) == ("overlap_tokens", True)
    pieces = split(text, 1_000, tokenizer.count, 750)
    assert sum(piece.end - piece.start for piece in pieces) > 3 * len(text)
    assert len(split("word " * 100, 50, tokenizer.count, 49)) > 30  # as often as one likes where the text is short


def test_natural_ends() -> None:
    count = get_tokenizer("o200k_base").count
    text = "One sentence here. Another one there! A third?\n\nA new paragraph follows. It ends."
    for at, ends in [("sentence", (". ", "! ", "?\n\n", "."))]:
        for piece in split(text, 12, count, at=at):  # type: ignore[arg-type]
            assert text[piece.start : piece.end].endswith(ends)
    assert text[: split(text, 15, count, at="paragraph")[0].end].endswith("\n\n")
    assert all(text[piece.end - 1].isspace() for piece in split(text, 5, count, at="word")[:-1])


def test_overlap_repeats_the_end_of_the_piece_before() -> None:
    count = get_tokenizer("o200k_base").count
    text = " ".join(f"word{number}" for number in range(200))
    pieces = split(text, 50, count, 10)
    assert len(pieces) > 5
    for left, right in pairwise(pieces):
        assert 0 < count(text[right.start : left.end]) <= 10
