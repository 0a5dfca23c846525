"""Decoding bytes that arrive piece by piece, without ever returning half a character."""

from __future__ import annotations

import codecs


class StreamDecoder:
    """Decodes UTF-8 piece by piece. The joined results equal the result of decoding all bytes at once.

    Bytes that cannot begin a character become U+FFFD at once, as with `bytes.decode("utf-8", "replace")`. `prefix` is a
    character that a tokenizer puts in front of every text. It is removed where it is there.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def pending(self) -> bytes:
        """The first bytes of a character that is not complete yet: at most three."""
        return self._decoder.getstate()[0]

    def feed(self, data: bytes) -> str:
        """The characters that `data` completes."""
        return self._remove_prefix(self._decoder.decode(data))

    def close(self) -> str:
        """End the text. Bytes that are still pending become U+FFFD."""
        return self._remove_prefix(self._decoder.decode(b"", final=True))

    def _remove_prefix(self, text: str) -> str:
        if not text:
            return text
        prefix, self._prefix = self._prefix, ""
        return text.removeprefix(prefix)
