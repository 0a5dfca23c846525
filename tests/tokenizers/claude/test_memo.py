"""The memory of the pure Python counter stays bounded and may be cleared at any moment."""

from __future__ import annotations

import pytest

from scripts.fuzz_claude import Texts
from service.tokenizers.claude import memo, tables
from service.tokenizers.claude.memo import Memo, MemoCounter
from service.tokenizers.claude.normalize import normalize
from service.tokenizers.claude.units import unit_pattern

FAMILY = tables.FAMILIES["claude-v3"]


def some_texts(count: int) -> list[str]:
    texts = Texts(99)
    normal = (normalize(texts.text(), FAMILY.fold_quotes).rstrip("\n") for _ in range(count))
    return [text for text in normal if text]


def test_eviction_in_the_middle_of_a_text_changes_no_count() -> None:
    roomy, tiny = MemoCounter(FAMILY), MemoCounter(FAMILY, max_bytes=2_000)
    for text in some_texts(200):
        assert tiny.count(text) == roomy.count(text)
    assert len(tiny._memo) <= 2_000 // memo.ENTRY_BYTES + 1


@pytest.mark.parametrize("max_bytes", [0, 1, 300, 50_000])
def test_what_is_remembered_stays_in_its_bound(max_bytes: int) -> None:
    counter = MemoCounter(FAMILY, max_bytes)
    for text in some_texts(100):
        counter.count(text)
        held = sum(memo.ENTRY_BYTES + 2 * len(unit) for unit in counter._memo)
        assert held <= max(max_bytes, memo.ENTRY_BYTES + 2 * memo.MAX_KEY)


def test_a_unit_is_remembered_only_up_to_a_length() -> None:
    counter = MemoCounter(FAMILY)
    assert counter.count("a" * memo.MAX_KEY) == counter.count("a" * memo.MAX_KEY)
    assert list(counter._memo) == ["a" * memo.MAX_KEY]
    counter.count("b" * (memo.MAX_KEY + 1))
    assert list(counter._memo) == ["a" * memo.MAX_KEY]


def test_an_entry_takes_the_bytes_that_the_bound_assumes() -> None:
    import sys
    import tracemalloc

    units = [f"unit{n:x}" for n in range(20_000)]
    remembered = Memo(FAMILY, 1 << 30)
    remembered["warm"]
    tracemalloc.start()
    for unit in units:
        remembered[unit + " "]
    used = tracemalloc.get_traced_memory()[0] / len(units)
    tracemalloc.stop()
    assert used < (memo.ENTRY_BYTES + 2 * 9) * 1.25, sys.version


@pytest.mark.parametrize(("text", "units"), [
    ("Hello, world!", ["Hello", ", ", "world", "!"]),
    ("don't  12345 漢字 ", ["don", "'t", "  ", "123", "45", " ", "漢", "字", " "]),
    ("ⓐ's ½'s x's", ["ⓐ", "'", "s ", "½'s ", "x", "'s"]),
    ("\u064b\u0628 \t\n.\u064b", ["\u064b\u0628 ", "\t\n", ".", "\u064b"]),
    ("a \n", ["a ", "\n"]),
])
def test_where_units_end(text: str, units: list[str]) -> None:
    assert unit_pattern().findall(text) == units


def test_units_leave_nothing_out() -> None:
    for text in some_texts(300):
        assert "".join(unit_pattern().findall(text)) == text
