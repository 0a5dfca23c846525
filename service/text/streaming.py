"""From bytes that arrive piece by piece to text, without ever showing half a character."""

from __future__ import annotations

import codecs


class StreamDecoder:
    """Decodes UTF-8 as it comes. What it returned, joined, is what decoding all bytes at once gives.

    Bytes that can begin no character become U+FFFD at once, as `bytes.decode("utf-8", "replace")` has it. `prefix`, one
    character that a tokenizer puts in front of every text, is taken off where it is there.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def held(self) -> bytes:
        """The beginning of a character that is not complete yet, at most three bytes."""
        return self._decoder.getstate()[0]

    def feed(self, data: bytes) -> str:
        """The characters that `data` completes."""
        return self._unprefixed(self._decoder.decode(data))

    def close(self) -> str:
        """What is held becomes U+FFFD: nothing more will come."""
        return self._unprefixed(self._decoder.decode(b"", final=True))

    def _unprefixed(self, text: str) -> str:
        if not text:
            return text
        prefix, self._prefix = self._prefix, ""
        return text.removeprefix(prefix)
