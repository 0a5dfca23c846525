"""Texts that are hard to cut, the tokenizers they are cut for, and where a character may end."""

from __future__ import annotations

from collections.abc import Callable

import regex
from hypothesis import strategies as st

TOKENIZERS = ["o200k_base", "cl100k_base", "p50k_base", "gemma3", "claude", "claude-v3", "claude-v4.8"]

UNITS = [
    "hello", " ", "world", "\n", "\n\n", ".", "안녕", "하세요", "中文", "🙂",
    "👩\u200d👩\u200d👧", "e\u0301", "\u0301", "🇰🇷", "क्षि", "    ",
    "12345", "<|endoftext|>", "=", "\t", "\r\n", "ﬁ", "\u00a0", "ÀÉ", "\x00",
]
TEXTS = st.lists(st.sampled_from(UNITS), max_size=60).map("".join) | st.text(max_size=80)


def boundaries(text: str) -> set[int]:
    return {0, len(text), *(cluster.end() for cluster in regex.finditer(r"\X", text))}


class CountedCharacters:
    """A `count` that adds up how many characters it was asked to count: the work of a search."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self.calls = 0
        self.characters = 0

    def __call__(self, text: str) -> int:
        self.calls += 1
        self.characters += len(text)
        return self._count(text)
