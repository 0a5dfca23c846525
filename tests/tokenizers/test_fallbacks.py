from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.normalizers import NFKC

from service.tokenizers.base import VocabularyTokenizer
from service.tokenizers.fallbacks import Detours, detours_of, nfkc_strays
from service.tokenizers.fast import INLINE_CHARACTERS, SplintrTokenizer
from service.tokenizers.registry import get_tokenizer
from tests.tokenizers.test_fast import splintr

STRAYS = nfkc_strays().findall("".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000))


def test_there_are_strays_and_all_are_rare() -> None:
    assert len(STRAYS) == 517
    assert min(map(ord, STRAYS)) == 0x350


@pytest.mark.parametrize("around", ["{}", "x{}y", "x\u0345{}\u0334y", "{}\u0301", "a{0}{0}"])
def test_texts_with_strays_are_counted_as_the_reference_counts_them(around: str) -> None:
    fast, reference = splintr("claude"), get_tokenizer("claude", "reference")
    for stray in STRAYS:
        text = around.format(stray)
        assert fast.encode(text) == reference.encode(text)
        assert fast.count(text) == reference.count(text)


def test_a_stray_is_found_wherever_it_stands_and_nothing_else_is() -> None:
    find = detours_of("claude").strays
    assert find is not None
    for stray in STRAYS:
        assert find(f"h\xe9llo \U0001f600 {stray} \ud800")
    others = [chr(code) for code in range(0x80, 0x20000, 37) if not nfkc_strays().search(chr(code))]
    assert not find("".join(others))
    assert not find("")


def test_without_the_detour_the_two_tables_differ() -> None:
    fast = splintr("claude")
    assert isinstance(fast, SplintrTokenizer)
    composed = "\U000105d2\u0307"  # one letter since Unicode 16
    assert NFKC().normalize_str(composed) == composed
    assert fast._core.decode(fast._core.encode(composed)) == "\U000105c9"


def test_one_stray_in_a_batch_does_not_change_the_others() -> None:
    fast = splintr("claude")
    texts = ["hello", "x\U000105d2\u0307", "안녕"]
    assert fast.count_batch(texts) == [fast.count(text) for text in texts]


def test_only_two_vocabularies_need_a_way_round() -> None:
    assert detours_of("gemma3").cut is not None
    assert detours_of("claude").strays is not None
    assert detours_of("o200k_base") == Detours()


MIXED = st.sampled_from("a's.1 \n\t\r\xa0\xe9e\u0301\uff21\u3000\uac00\u1100\u1161\U0001f600")


@settings(max_examples=50, deadline=None)
@given(st.text(MIXED, min_size=1, max_size=30))
def test_a_long_text_is_counted_in_parts_as_the_reference_counts_it_whole(text: str) -> None:
    fast, reference = splintr("claude"), get_tokenizer("claude", "reference")
    assert isinstance(fast, VocabularyTokenizer)
    assert isinstance(reference, VocabularyTokenizer)
    long = text * (1 + INLINE_CHARACTERS // len(text))
    assert fast.encode(long) == reference.encode(long)
