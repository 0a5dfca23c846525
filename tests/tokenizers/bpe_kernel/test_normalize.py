from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.normalizers import NFKC

from service.tokenizers.bpe_kernel.normalize import LONGEST_STRETCH, REMEMBERED_CHARACTERS, Normaliser
from service.tokenizers.bpe_kernel.tables import unpack
from service.tokenizers.data import read_verified
from tests.support.nasty_texts import TEXTS

UNSTABLE = unpack(read_verified("claude-words")).header.unstable
NORMALISER = Normaliser(UNSTABLE)
JOINING = st.text(st.sampled_from(
    "ae\u0301\u0323\u0345\u0327가\u1100\u1161\u11a8ｶﾞ\u3099か"
    "\u0915\u093c\u0b47\u0b3e\U00011099\U000110ba \n\uff21ﬁ½"
))


@settings(max_examples=400, deadline=None)
@given(st.one_of(JOINING, TEXTS, st.text(st.characters(codec="utf-8"))))
def test_it_is_hugging_faces_nfkc(text: str) -> None:
    assert NORMALISER.normalise(text) == NFKC().normalize_str(text)


def test_code_points_that_are_left_alone_are_stable_whatever_stands_before() -> None:
    """All below U+10000 that are not of `unstable`: unchanged, and composed with none of these."""
    unstable = {code for first, last in UNSTABLE for code in range(first, last + 1)}
    letters = "".join(chr(code) for code in range(0x10000) if code not in unstable and not 0xD800 <= code < 0xE000)
    for before in ("", "a", "e\u0301", "가", "\u1100", "\u0915", "\u304b", "a\u0323\u0301", "\uff76"):
        text = "".join(before + letter for letter in letters)
        normal = NFKC().normalize_str(before)
        assert NFKC().normalize_str(text) == "".join(normal + letter for letter in letters)


def test_a_long_stretch_is_left_to_an_engine_that_gives_the_lock_away() -> None:
    assert NORMALISER.normalise("x" + "\u0301" * LONGEST_STRETCH) is None
    assert NORMALISER.normalise("x" + "\uff21" * (LONGEST_STRETCH - 1)) == "x" + "A" * (LONGEST_STRETCH - 1)


def test_a_text_full_of_marks_is_left_to_it_too_and_one_with_some_is_not() -> None:
    assert NORMALISER.normalise("e\u0301" * 10_000) is None
    assert NORMALISER.normalise("e\u0301" * 200) == "\xe9" * 200
    assert NORMALISER.normalise(("e\u0301" + "x" * 99) * 10_000) == ("\xe9" + "x" * 99) * 10_000


def test_long_stretches_are_not_remembered() -> None:
    normaliser = Normaliser(UNSTABLE)
    for length in range(1, 100):
        normaliser.normalise("x" + "\uff21" * length)
    assert normaliser._remembered.cache_info().currsize == REMEMBERED_CHARACTERS - 1  # type: ignore[attr-defined]


def test_a_surrogate_before_something_to_normalise_is_told_as_everywhere() -> None:
    with pytest.raises(UnicodeEncodeError):
        NORMALISER.normalise("\ud800\u0301")
    assert NORMALISER.normalise("\ud800x") == "\ud800x"
