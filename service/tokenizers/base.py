"""The one protocol that every tokenizer stands behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from service.types import Edge

Engine = Literal["reference", "fast"]
EngineChoice = Literal["auto", "reference", "fast"]


@runtime_checkable
class Tokenizer(Protocol):
    """Counts text. Thread-safe; built once per process by the registry.

    `name` is the public name, `fingerprint` identifies the data that decides the counts (8+ hex digits; equal for
    both engines, and part of every cache key), `engine` says which engine answers, `added_tokens` is how many tokens
    the tokenizer's own post-processor would add to one text (1 for a bos). `verified` is False where no independent
    implementation confirmed the ids (counts of it are estimates).
    """

    name: str
    fingerprint: str
    engine: Engine
    added_tokens: int
    verified: bool

    def count(self, text: str, edge: Edge = "open") -> int:
        """Tokens of `text`; special-token strings in it are ordinary text; "" is 0; never raises on any str."""
        ...

    def count_batch(self, texts: Sequence[str], edge: Edge = "open") -> list[int]:
        """`count` of each text, in order."""
        ...

    def pieces(self, text: str) -> list[bytes]:
        """The UTF-8 bytes of each token, in order; joined they are the (normalised) text."""
        ...


@runtime_checkable
class VocabularyTokenizer(Tokenizer, Protocol):
    """A tokenizer with a published vocabulary: it also has ids."""

    def encode(self, text: str, *, parse_special: bool = False) -> list[int]:
        """Ids of `text`, without the post-processor's; `parse_special` reads special-token strings as such."""
        ...

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Bytes of the ids; raises InvalidRequest for an id outside the vocabulary."""
        ...
