from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.tokenizers.surrogates import repair_surrogates, to_utf8


@pytest.mark.parametrize(("broken", "whole"), [
    ("a\ud800b", "a\ufffdb"),
    ("a\udc00b", "a\ufffdb"),  # noqa: PT014  the linter takes all surrogates for one
    ("a\ud800", "a\ufffd"),
    ("\ud83d\ude42", "🙂"),
    ("\ud800\ud83d\ude42", "\ufffd🙂"),
    ("\udc00\ud800", "\ufffd\ufffd"),
    ("\ud800🙂", "\ufffd🙂"),
    ("plain 한글 🙂", "plain 한글 🙂"),
    ("", ""),
])
def test_pairs_are_joined_and_halves_replaced(broken: str, whole: str) -> None:
    assert repair_surrogates(broken) == whole
    assert to_utf8(broken) == whole.encode()


@given(st.text(st.characters(codec=None)))
def test_the_result_is_valid_and_repairing_again_changes_nothing(text: str) -> None:
    repaired = repair_surrogates(text)
    assert repaired.encode().decode() == repaired
    assert repair_surrogates(repaired) == repaired


@given(st.text())
def test_valid_text_is_left_alone(text: str) -> None:
    assert repair_surrogates(text) == text
