from __future__ import annotations

from tokenizers.pre_tokenizers import ByteLevel

from service.tokenizers.byte_alphabet import BYTE_TO_LETTER, LETTER_TO_BYTE, decode_byte_level


def test_it_is_the_alphabet_of_byte_level_vocabularies() -> None:
    assert sorted(BYTE_TO_LETTER) == list(range(256))
    assert sorted(LETTER_TO_BYTE) == sorted(ByteLevel.alphabet())


def test_tokens_are_read_byte_by_byte() -> None:
    assert decode_byte_level("Ġhello") == b" hello"
    assert decode_byte_level("íķľ") == "한".encode()
    assert decode_byte_level("Ċ") == b"\n"


def test_a_special_token_outside_the_alphabet_is_its_own_text() -> None:
    assert decode_byte_level("<｜end｜>") == "<｜end｜>".encode()
