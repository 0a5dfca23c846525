"""The Claude 3 and later tokenizers on ctok: the reference that the tiling engine is proved against.

ctok gives what the API bills for a one-message request; its frame is taken off. There are no ids: the vocabularies
were reconstructed from counts, so there are pieces but nothing to encode to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import ctok

from service.tokenizers.base import Engine
from service.tokenizers.surrogates import repair_surrogates
from service.types import Edge


@dataclass(frozen=True, slots=True)
class ClaudeGeneration:
    """`version` is ctok's, `frame` the tokens ctok adds for one user message."""

    version: str
    frame: int


GENERATIONS = {
    "claude-v3": ClaudeGeneration("3.0", 7),
    "claude-v4.7": ClaudeGeneration("4.7", 11),
    "claude-v4.8": ClaudeGeneration("4.8", 6),
}
"""Frames as measured by ctok 1.3.0 (`message_overhead` of each family)."""


class CtokTokenizer:
    """Counts as ctok does, without its frame; see `service.types.Edge` for what the edges mean.

    In the middle of a document a letter stands beside a text that does not begin or end in a word, so that the frame
    cannot absorb its blanks or newlines; the letters are counted off again.
    """

    engine: Engine = "reference"
    added_tokens = 0
    verified = True

    def __init__(self, name: str, fingerprint: str) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self._generation = GENERATIONS[name]
        self._content("a")

    def _content(self, text: str) -> int:
        billed: int = ctok.token_count(text, self._generation.version)
        return billed - self._generation.frame

    def count(self, text: str, edge: Edge = "open") -> int:
        text = repair_surrogates(text)
        if not text:
            return 0
        if edge == "open":
            return self._content(text)
        left = "" if text[0].isalnum() else "a"
        right = "" if edge == "end" or text[-1].isalnum() else "a"
        return self._content(left + text + right) - len(left) - len(right)

    def count_batch(self, texts: Sequence[str], edge: Edge = "open") -> list[int]:
        return [self.count(text, edge) for text in texts]

    def pieces(self, text: str) -> list[bytes]:
        raise NotImplementedError
