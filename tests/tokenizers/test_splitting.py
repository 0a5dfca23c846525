from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.tokenizers.splitting import (
    WHITE_SPACE,
    cut_ascii_apart,
    cut_before_words,
    cut_blank_runs,
    find_long_runs,
)
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


@given(BLANK_TEXTS, st.integers(1, 20))
def test_the_parts_join_to_the_text(text: str, shortest: int) -> None:
    assert "".join(cut_blank_runs(text, shortest)) == text


def test_parts_end_at_newlines_and_tabs_and_within_their_runs_after_31() -> None:
    parts = cut_blank_runs("a" + "\n" * 31 * 128 * 2 + "b", 1_000)
    assert [len(part) for part in parts] == [1 + 31 * 128, 31 * 128 + 1]
    assert cut_blank_runs("a" + " " * 5_000 + "b", 1_000) == ["a" + " " * 5_000 + "b"]


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


def test_no_part_is_long_when_blanks_are_mixed() -> None:
    parts = cut_blank_runs("\n " * 500_000)
    assert max(map(len, parts)) == 128


@given(st.text(st.sampled_from("a.\n \t\u00e9\u0301\uac00\U0001f600"), max_size=60))
def test_parts_apart_join_to_the_text_and_are_cut_between_a_visible_ascii_character_and_a_newline(text: str) -> None:
    parts = cut_ascii_apart(text)
    assert "".join(parts) == text
    assert all(part[-1] in "a." for part in parts[:-1])
    assert all(part[0] == "\n" for part in parts[1:])


def test_lines_without_accents_stay_together() -> None:
    plain = "one\ntwo\n" * 100
    assert cut_ascii_apart(plain) == [plain]
    assert [part.isascii() for part in cut_ascii_apart(f"{plain}th\xe9\n{plain}end")] == [True, False, True, True]
