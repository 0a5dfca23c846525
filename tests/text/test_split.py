"""Splitting: pieces recount to at most N tokens, end on whole characters, and lose no text."""

from __future__ import annotations

from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidRequest, TooLarge
from service.text import split as module
from service.text.split import split
from service.tokenizers.registry import get_tokenizer
from tests.text.cases import TEXTS, TOKENIZERS, CountedCharacters, boundaries


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(deadline=None, max_examples=40)
@given(
    text=TEXTS, limit=st.integers(8, 40), overlap=st.integers(0, 7),
    at=st.sampled_from(["character", "word", "sentence", "line", "paragraph"]),
)
def test_pieces_cover_the_text_and_fit(name: str, text: str, limit: int, overlap: int, at: module.SplitAt) -> None:
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
        assert ends <= boundaries(text)


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
    monkeypatch.setattr(module, "MAX_PIECES", 10)
    with pytest.raises(TooLarge):
        split("word " * 100, 2, get_tokenizer("o200k_base").count)


def test_far_too_many_pieces_are_refused_before_they_are_made() -> None:
    count = CountedCharacters(get_tokenizer("o200k_base").count)
    with pytest.raises(TooLarge):
        split("word " * 201_000, 1, count)
    assert count.calls == 1


def test_overlap_that_repeats_the_text_without_end_is_refused_soon() -> None:
    """Each piece would begin one token after the one before: 20,000 pieces of 40 KB."""
    tokenizer, text = get_tokenizer("o200k_base"), "word " * 30_000
    count = CountedCharacters(tokenizer.count)
    with pytest.raises(TooLarge) as caught:
        split(text, 10_000, count, 9_999)
    assert caught.value.field == "overlap_tokens"
    assert count.characters < 20 * module.MAX_REPEATS * len(text)
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
