"""The tokenizers of Claude 3 and later on ctok: the reference that our own engine is compared with.

ctok gives the tokens that the API bills for a one-message request. The frame is subtracted. There are pieces but no
ids, because the vocabularies were reconstructed from counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import ctok
from ctok.notation import atoms

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
        """One tiling of `text` as it opens a prompt; a token that only marks a word's edge or its capitals is empty."""
        text = repair_surrogates(text)
        if not text:
            return []
        tokens = ctok.tokenize(text, self._generation.version)[self._generation.frame:]
        return _surfaces(tokens, ctok.normalize(text, self._generation.version))


def _surfaces(tokens: Sequence[str], normal: str) -> list[bytes]:
    """What each token covers of the normalized text, which they write without capitals and without the single blanks
    between words; such a blank goes with the token after it, newlines that the frame pays for with the last one."""
    pieces: list[bytes] = []
    size = 1  # bytes of the character as the tokens write it: a small letter can be longer than its capital
    at = begun = 0  # the character of `normal` that comes next, and how many bytes of it are taken
    for token in tokens:
        piece = bytearray()
        for kind, value in atoms(token):
            if kind == "marker" or (value == " " != normal[at:at + 1]):  # the frame's ⟨bow⟩ can be written as a blank
                continue
            while not begun and normal[at:at + 1] == " " and value not in {" ", 0x20}:
                piece += b" "
                at += 1
            letter = normal[at:at + 1].encode()
            if not begun:
                size = _utf8_length(value) if kind == "byte" else 1
            begun += 1
            piece += letter[begun - 1:] if begun == size else letter[begun - 1:begun]
            if begun == size:
                at, begun = at + 1, 0
        pieces.append(bytes(piece))
    if pieces:
        pieces[-1] += normal[at:].encode()
    return pieces


def _utf8_length(lead: int) -> int:
    """How many bytes the character has that begins with this one."""
    return 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
