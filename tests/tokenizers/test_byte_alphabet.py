from __future__ import annotations

from tokenizers.pre_tokenizers import ByteLevel

from service.tokenizers.byte_alphabet import BYTE_OF, LETTER_OF, token_bytes_of


def test_it_is_the_alphabet_of_byte_level_vocabularies() -> None:
    assert sorted(LETTER_OF) == list(range(256))
    assert sorted(BYTE_OF) == sorted(ByteLevel.alphabet())


def test_tokens_are_read_byte_by_byte() -> None:
    assert token_bytes_of("Ġhello") == b" hello"
    assert token_bytes_of("íķľ") == "한".encode()
    assert token_bytes_of("Ċ") == b"\n"


def test_a_special_token_outside_the_alphabet_is_its_own_text() -> None:
    assert token_bytes_of("<｜end｜>") == "<｜end｜>".encode()
