"""The tokenizer that the registry hands out: normalisation, edges and the choice between the two counters."""

from __future__ import annotations

from collections.abc import Sequence

from service.tokenizers.base import Engine
from service.types import Edge

from . import tables
from .memo import MemoCounter
from .normalise import normalise


class TilingTokenizer:
    """Counts Claude's content tokens: what a text adds to the frame of a message. Thread-safe.

    `open`: ctok's count of the text as a whole message, without the frame's 7 (claude-v3), 11 (v4.7) or 6 (v4.8)
    tokens; "" is 0. `inside`: the text between two letters, without their tokens; a side of the text that is itself a
    letter or digit gets none. `end`: the same with the letter on the left only. A text whose neighbours swallow it
    (a combining mark inside a word) can count less than 0 there.
    """

    engine: Engine = "fast"
    added_tokens = 0
    verified = True

    def __init__(self, family: tables.Family) -> None:
        self.name = family.name
        self.fingerprint = tables.fingerprint(family)
        self._family = family
        self._characters = tables.characters()
        self._memo = MemoCounter(family)

    def count(self, text: str, edge: Edge = "open") -> int:
        """Content tokens of `text`."""
        if not text:
            return 0
        if edge == "open":
            return self._count(text)
        left = "" if self._characters.is_alphanumeric(text[0]) else "a"
        right = "a" if edge == "inside" and not self._characters.is_alphanumeric(text[-1]) else ""
        return self._count(left + text + right) - len(left) - len(right)

    def count_batch(self, texts: Sequence[str], edge: Edge = "open") -> list[int]:
        """`count` of each text, in order."""
        return [self.count(text, edge) for text in texts]

    def _count(self, text: str) -> int:
        normal = normalise(text, self._family.fold_quotes)
        body = normal.rstrip("\n")
        total = 0
        if len(body) < len(normal):  # the frame's own two newlines join the text's; the last token is the frame's
            total = self._memo.newlines(len(normal) - len(body) + 2) - 1
        if self._family.frame_bow:
            if text[0] == body[:1] == " " != body[1:2]:
                body = body[1:]  # the frame's ⟨bow⟩ is this space; one that normalisation made is not the frame's
            if not body:
                return total + 1
        return total + self._memo.count(body)
