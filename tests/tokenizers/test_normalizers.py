from __future__ import annotations

import sys
import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.tokenizers.normalizers import NORMALIZERS, Normalizer, align, get_normalizer
from service.tokenizers.registry import get_tokenizer, tokenizer_names
from tests.support.texts import odd_texts, unhurried

NFKC, NFC = get_normalizer("claude"), get_normalizer("qwen3")


def spans(text: str, alteration: Normalizer) -> list[tuple[str, int, int]]:
    seen = alteration.prefix + alteration.normalize(text)
    found = align(text, seen, alteration)
    return list(zip(seen, found.starts, found.ends, strict=True))


@pytest.mark.parametrize("name", tokenizer_names())
@unhurried
@given(text=odd_texts())
def test_each_normalizer_changes_a_text_as_its_tokenizer_does(name: str, text: str) -> None:
    seen = b"".join(get_tokenizer(name).pieces(text)).decode()
    row = get_normalizer(name)
    said = row.prefix + row.normalize(text) if text else ""
    # newlines at the end stand for no token of their own: the frame pays for the last ones
    assert seen.rstrip("\n") == said.rstrip("\n")
    if name not in NORMALIZERS:
        assert seen == text


def test_unchanged_characters_are_aligned_one_by_one() -> None:
    assert spans("aé가🤖", NFKC) == [("a", 0, 1), ("é", 1, 2), ("가", 2, 3), ("🤖", 3, 4)]


def test_what_was_composed_comes_from_all_its_parts() -> None:
    assert spans("xe\u0301y", NFC) == [("x", 0, 1), ("é", 1, 3), ("y", 3, 4)]
    assert spans("\u1112\u1161\u11ab글", NFC) == [("한", 0, 3), ("글", 3, 4)]
    assert spans("ｶﾞ", NFKC) == [("ガ", 0, 2)]


def test_what_was_taken_apart_shares_its_origin() -> None:
    assert spans("aﬁb", NFKC) == [("a", 0, 1), ("f", 1, 2), ("i", 1, 2), ("b", 2, 3)]


def test_a_removed_character_belongs_to_its_neighbour() -> None:
    tiled = get_normalizer("claude-v3")
    assert spans("a\r\nb\x01", tiled) == [("a", 0, 2), ("\n", 2, 3), ("b", 3, 5)]
    assert spans("\x01\x02a", tiled) == [("a", 0, 3)]
    assert spans("\x01\x02", tiled) == []


def test_the_blank_in_front_comes_from_no_character() -> None:
    assert spans("a▁", get_normalizer("llama2")) == [(" ", 0, 0), ("a", 0, 1), (" ", 1, 2)]


def test_an_unexplained_change_is_one_change() -> None:
    found = align("one two three", "one 2 three", Normalizer())
    assert (found.starts.tolist(), found.ends.tolist()) == (
        [0, 1, 2, 3, 4, *range(7, 13)], [1, 2, 3, 4, 7, *range(8, 14)],
    )
    assert align("abc", "", Normalizer()).starts.tolist() == []


def test_characters_removed_in_front_belong_to_all_that_changed_together() -> None:
    row = get_normalizer("claude-v3")
    text = "\ue000\xa0\u1161"
    found = align(text, row.normalize(text), row)
    assert (found.starts.tolist(), found.ends.tolist()) == ([0, 0], [3, 3])


@pytest.mark.parametrize("name", NORMALIZERS)
@unhurried
@given(text=odd_texts())
def test_places_are_in_order_and_without_holes(name: str, text: str) -> None:
    row = get_normalizer(name)
    seen = row.prefix + row.normalize(text) if text else ""
    found = align(text, seen, row)
    assert len(found.starts) == len(found.ends) == len(seen)
    if seen:
        assert (found.starts[0], found.ends[-1]) == (0, len(text))
    for (start, end), (after, after_end) in pairwise(zip(found.starts, found.ends, strict=True)):
        assert after in (start, end)
        assert start <= end <= after_end


@unhurried
@given(odd_texts(), st.sampled_from([NFKC, NFC]))
def test_a_part_alone_becomes_what_it_became_in_the_text(text: str, row: Normalizer) -> None:
    seen = row.normalize(text)
    found = align(text, seen, row)
    for start, end in {*zip(found.starts, found.ends, strict=True)}:
        made = "".join(char for char, at in zip(seen, found.starts, strict=True) if at == start)
        assert row.normalize(text[start:end]) == made


@pytest.mark.parametrize("row", [NFKC, NFC], ids=["nfkc", "nfc"])
def test_characters_that_begin_a_part_join_nothing_before_them(row: Normalizer) -> None:
    """Over all of Unicode: where a change reaches over two characters, both are in one part."""
    bases = ("e\u0301", "\u1100", "가", "ｶ", "ﬁ", "\u0915")
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if unicodedata.category(char) in ("Cn", "Cs", "Co") or char.isascii():
            continue
        for base in bases:
            seen = row.normalize(base + char)
            if seen != row.normalize(base) + row.normalize(char):
                assert align(base + char, seen, row).ends[-1] == len(base) + 1
                assert align(base + char, seen, row).starts[-1] < len(base), hex(code)


@pytest.mark.parametrize("unit", ["e\u0301 ", "\x00", "ﬁ", "a\r\n", "가", "\U0001f1f0\U0001f1f7\u0301"])
def test_long_texts_take_linear_time(unit: str) -> None:
    began = time.process_time()
    for name in ("claude", "claude-v3"):
        row = get_normalizer(name)
        text = unit * (200_000 // len(unit))
        align(text, row.normalize(text), row)
    assert time.process_time() - began < 10
