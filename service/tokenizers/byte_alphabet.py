"""GPT-2's printable alphabet for bytes, in which byte-level vocabularies are written down."""

from __future__ import annotations

PRINTABLE = (*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1))
"""The bytes that stand for themselves; the others are shifted up to U+0100 and on, in order."""

BYTE_TO_LETTER = {byte: chr(byte) for byte in PRINTABLE} | {
    byte: chr(256 + shift) for shift, byte in enumerate(byte for byte in range(256) if byte not in PRINTABLE)
}
LETTER_TO_BYTE = {letter: byte for byte, letter in BYTE_TO_LETTER.items()}


def decode_byte_level(token: str) -> bytes:
    """The bytes of a token written in the alphabet. One with other letters is special: its own UTF-8."""
    try:
        return bytes([LETTER_TO_BYTE[letter] for letter in token])
    except KeyError:
        return token.encode()
