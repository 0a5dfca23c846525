from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.tokenizers.splitting import WHITE_SPACE, cut_before_words, find_long_runs
from tests.support.nasty_texts import BLANK_TEXTS, TEXTS


def every_run(text: str) -> list[tuple[int, int]]:
    """All maximal runs of white space, found one character at a time."""
    blanks = re.escape("".join(sorted(WHITE_SPACE)))
    return [found.span() for found in re.finditer(f"[{blanks}]+", text)]


def test_python_calls_four_more_characters_white_space() -> None:
    extra = {chr(code) for code in range(0x110000) if chr(code).isspace()} - WHITE_SPACE
    assert extra == {"\x1c", "\x1d", "\x1e", "\x1f"}


@given(st.one_of(BLANK_TEXTS, TEXTS), st.integers(1, 20))
def test_every_long_run_is_found_and_nothing_else(text: str, shortest: int) -> None:
    expected = [(start, end) for start, end in every_run(text) if end - start >= shortest]
    assert list(find_long_runs(text, shortest)) == expected


@pytest.mark.parametrize("length", [999, 1_000, 1_001, 1_999, 2_000, 5_001])
@pytest.mark.parametrize("before", ["", "x", "x" * 700])
def test_runs_near_the_threshold(length: int, before: str) -> None:
    found = list(find_long_runs(before + " " * length + "y", 1_000))
    assert found == ([(len(before), len(before) + length)] if length >= 1_000 else [])


@given(TEXTS, st.integers(1, 20))
def test_blocks_join_to_the_text_and_begin_with_one_blank(text: str, size: int) -> None:
    first, *others = cut_before_words(text, size)
    assert first + "".join(others) == text
    assert all(block[0] == " " and not block[1].isspace() for block in others)


def test_blocks_have_about_the_size_asked_for() -> None:
    blocks = cut_before_words("word " * 10_000, 100)
    assert {len(block) for block in blocks[:-1]} == {100, 104}
    assert cut_before_words("x" * 10_000, 100) == ["x" * 10_000]
    assert cut_before_words("> </" * 1_000, 100) == ["> </" * 1_000]
