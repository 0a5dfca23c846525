"""NFKC as Hugging Face tokenizers have it, at the speed of looking for what it could change."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

REMEMBERED = 4_096
"""Stretches of up to REMEMBERED_CHARACTERS that are not normalised twice: 1 MB at the most."""
REMEMBERED_CHARACTERS = 8
LONGEST_STRETCH = 10_000
"""Characters that are normalised in one call, which keeps the interpreter lock: 1 ms."""
SOME, SPARSE = 256, 64
"""Stretches that are normalised here: SOME and one in SPARSE characters. A text of more is in a script that is written
with marks; splintr is three times as fast on it (36 to 9 MB/s of vowelled Arabic) and keeps no lock."""


class Normaliser:
    """`unstable` are ranges of code points below U+10000 that NFKC may change or join to what stands before them; all
    beyond are treated as such, because Python's `re` is slow to tell them apart."""

    def __init__(self, unstable: Sequence[Sequence[int]]) -> None:
        inside = "".join(f"{chr(first)}-{chr(last)}" for first, last in unstable)
        self._stretch = re.compile(f"[{inside}\U00010000-\U0010ffff]+")
        self._remembered: Callable[[str], str] = lru_cache(REMEMBERED)(_nfkc)

    def normalise(self, text: str) -> str | None:
        """`text` in NFKC; None where that is better left to an engine that does not hold the lock meanwhile.

        Raises UnicodeEncodeError where a lone surrogate stands before something to normalise.
        """
        if text.isascii() or self._stretch.search(text) is None:
            return text
        parts: list[str] = []
        most = 2 * (SOME + len(text) // SPARSE)
        done = 0
        for found in self._stretch.finditer(text):
            start, end = max(found.start() - 1, 0), found.end()
            if end - start > LONGEST_STRETCH or len(parts) > most:
                return None
            parts.append(text[done:start])
            stretch = text[start:end]
            parts.append(self._remembered(stretch) if end - start <= REMEMBERED_CHARACTERS else _nfkc(stretch))
            done = end
        parts.append(text[done:])
        return "".join(parts)


def _nfkc(stretch: str) -> str:
    from tokenizers import normalizers  # noqa: PLC0415 - an engine: not imported until it is used

    try:
        normal: str = normalizers.NFKC().normalize_str(stretch)
    except TypeError:  # what it raises on surrogates
        stretch.encode()
        raise
    return normal
