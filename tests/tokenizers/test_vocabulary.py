from __future__ import annotations

from collections.abc import Sequence

import pytest

from service.errors import InvalidRequest
from service.tokenizers.vocabulary import Vocabulary, compile_alternatives


class Letters(Vocabulary):
    """One id a character: its code point. Encodes as strictly as the real engines."""

    engine = "reference"

    def _ids(self, text: str) -> Sequence[int]:
        return [ord(letter) for letter in text.encode().decode()]

    def _token_bytes(self, token: int) -> bytes | None:
        return chr(token).encode() if 0 <= token < 0xD800 else None


LETTERS = Letters("letters", "0123abcd", {"<a>": 0x10FFFF, "<a><b>": 0x10FFFE})


def test_the_longest_of_the_leftmost_strings_matches() -> None:
    assert compile_alternatives(["<a>", "<a><b>", "x"]).findall("x<a><b><a>") == ["x", "<a><b>", "<a>"]


def test_no_strings_match_nothing() -> None:
    assert compile_alternatives([]).search("") is None
    assert compile_alternatives([]).search("anything") is None


def test_special_tokens_cut_the_text_before_it_is_encoded() -> None:
    assert LETTERS.encode("a<a><b>b<a>", parse_special=True) == [97, 0x10FFFE, 98, 0x10FFFF]
    assert LETTERS.encode("<a>") == [60, 97, 62]
    assert LETTERS.encode("", parse_special=True) == []


@pytest.mark.parametrize("parse_special", [False, True])
def test_halves_of_surrogate_pairs_are_repaired_before_encoding(parse_special: bool) -> None:
    assert LETTERS.encode("\ud800a", parse_special=parse_special) == [0xFFFD, 97]
    assert LETTERS.count("\ud83d\ude42") == 1
    assert LETTERS.count_batch(["\ud800", "ab"]) == [1, 2]


def test_ids_are_decoded_and_unknown_ones_named() -> None:
    assert LETTERS.decode_bytes([97, 0x10FFFE, 98]) == b"a<a><b>b"
    with pytest.raises(InvalidRequest, match="ids holds 55296, which letters does not have") as refused:
        LETTERS.decode_bytes([97, 0xD800])
    assert refused.value.field == "ids"
