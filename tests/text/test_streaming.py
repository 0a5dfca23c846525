from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.streaming import StreamDecoder


def test_a_character_comes_whole_or_not_yet() -> None:
    decoder = StreamDecoder()
    shown = [(decoder.feed(byte), decoder.pending) for byte in (b"\xec\x82", b"\xbc ", b"\xf0\x9f", b"\x98", b"\x8a!")]
    assert shown == [
        ("", b"\xec\x82"), ("삼 ", b""), ("", b"\xf0\x9f"), ("", b"\xf0\x9f\x98"), ("😊!", b""),
    ]
    assert decoder.close() == ""


def test_what_never_becomes_a_character_is_told_at_the_end() -> None:
    decoder = StreamDecoder()
    assert (decoder.feed(b"a\xf0\x9f"), decoder.pending) == ("a", b"\xf0\x9f")
    assert (decoder.close(), decoder.pending) == ("\ufffd", b"")


def test_a_genuine_replacement_character_stays() -> None:
    decoder = StreamDecoder()
    assert decoder.feed("\ufffd".encode()) + decoder.close() == "\ufffd"


@pytest.mark.parametrize(("prefix", "shown"), [("", " a b"), (" ", "a b")])
def test_a_prefix_is_taken_off_the_front_alone(prefix: str, shown: str) -> None:
    decoder = StreamDecoder(prefix)
    assert "".join(decoder.feed(piece) for piece in (b"", b" a", b" b")) == shown
    assert StreamDecoder(" ").feed(b"a b") == "a b"


@given(st.lists(st.one_of(st.binary(max_size=5), st.text(max_size=3).map(str.encode)), max_size=20))
def test_joined_it_is_what_decoding_at_once_gives(chunks: list[bytes]) -> None:
    decoder = StreamDecoder()
    shown = [decoder.feed(chunk) for chunk in chunks]
    assert len(decoder.pending) <= 3
    assert "".join(shown) + decoder.close() == b"".join(chunks).decode("utf-8", "replace")


@given(st.text(max_size=20), st.integers(1, 4))
def test_text_is_never_shown_with_half_a_character(text: str, size: int) -> None:
    data = text.encode("utf-8", "replace")
    decoder = StreamDecoder()
    shown = ""
    for at in range(0, len(data), size):
        shown += decoder.feed(data[at : at + size])
        assert data.decode().startswith(shown)
    assert shown == data.decode()
