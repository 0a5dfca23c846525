"""The fast engine, on splintr: from our own verified files, or from a vocabulary that splintr bundles.

Splintr matches special tokens and 54 "agent tokens" of its own in text unless told otherwise. Built from our files it
gets neither: rank files carry none, and a tokenizer.json loses its special tokens before it is handed over (they stay
in the model's table, where no merge reaches them).
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import splintr

from service.tokenizers.base import Engine, VocabularyTokenizer
from service.tokenizers.fallbacks import Detours
from service.tokenizers.vocabulary import Vocabulary

INLINE_CHARACTERS = 4_000
"""Up to here the call that keeps the interpreter lock is cheaper; beyond, the one that releases it is used."""

CACHE_CHARACTERS = 16_000_000
"""Splintr 0.22.0 caches up to 131,072 chunks whatever their length: 4 MB of distinct 5,000-letter words stay as 11 MB.
So its cache is emptied whenever this much text went in; ordinary text fills it again within milliseconds."""

ADDED_TOKENS = re.compile(rb'"added_tokens":(\[(?:\{[^{}]*\},?)*\]),')
POST_PROCESSOR = re.compile(rb'"post_processor":\{.*?\},"decoder"')


def without_special_tokens(content: bytes) -> tuple[bytes, dict[str, int], int]:
    """A minified tokenizer.json whose special tokens and post-processor are gone, what they were (text -> id), and how
    many tokens the post-processor would have added to one text."""
    found = ADDED_TOKENS.search(content)
    if found is None:
        raise ValueError("tokenizer.json has no list of added tokens")
    added = json.loads(found.group(1))
    kept = json.dumps([token for token in added if not token["special"]], ensure_ascii=False)
    specials = {token["content"]: token["id"] for token in added if token["special"]}
    rest = content[found.end(1):]
    processor = POST_PROCESSOR.search(rest)
    count = 0
    if processor is not None:
        template = json.loads(b"{" + processor.group().removesuffix(b',"decoder"') + b"}")["post_processor"]
        count = sum("SpecialToken" in step for step in template["single"])
        rest = rest[:processor.start()] + b'"post_processor":null,"decoder"' + rest[processor.end():]
    return content[:found.start(1)] + kept.encode() + rest, specials, count


NO_DETOURS = Detours()


class ChunkCache:
    """Keeps splintr's cache of chunks bounded in bytes. `core` is a splintr tokenizer."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._fed = 0
        self._is_cached = getattr(core, "family", "BPE") == "BPE"

    def feed(self, characters: int) -> None:
        """Say that this much text is about to be encoded. Two threads may lose a few of each other's characters."""
        self._fed += characters
        if self._fed > CACHE_CHARACTERS and self._is_cached:
            self._fed = 0
            self._core.clear_cache()


class SplintrTokenizer(Vocabulary):
    """Splintr over our own files; `reference` gives the reference engine for strays."""

    engine: Engine = "fast"

    def __init__(
        self, name: str, fingerprint: str, core: Any, specials: Mapping[str, int], *, added_tokens: int = 0,
        detours: Detours = NO_DETOURS, reference: Callable[[], VocabularyTokenizer] | None = None,
    ) -> None:
        super().__init__(name, fingerprint, specials, added_tokens=added_tokens)
        self._core = core
        self._cache = ChunkCache(core)
        self._detours = detours
        self._reference = reference

    @classmethod
    def from_ranks(cls, name: str, fingerprint: str, content: bytes, pattern: str,
                   specials: Mapping[str, int]) -> SplintrTokenizer:
        return cls(name, fingerprint, splintr.Tokenizer.from_bytes(content, pattern, {}), specials)

    @classmethod
    def from_json(cls, name: str, fingerprint: str, content: bytes, detours: Detours,
                  reference: Callable[[], VocabularyTokenizer]) -> SplintrTokenizer:
        plain, specials, added_tokens = without_special_tokens(content)
        core = splintr.from_json_bytes(plain)
        return cls(name, fingerprint, core, specials, added_tokens=added_tokens, detours=detours, reference=reference)

    def _stray(self, text: str) -> VocabularyTokenizer | None:
        """The reference, when this text must go there."""
        if self._detours.strays is None or text.isascii() or not self._detours.strays(text):
            return None
        return self._reference() if self._reference else None

    def _cut(self, text: str) -> list[str]:
        if self._detours.cut is None or len(text) <= INLINE_CHARACTERS:
            return [text]
        return self._detours.cut(text)

    def _flat(self, text: str) -> bytes:
        """The ids as native 32-bit integers."""
        self._cache.feed(len(text))
        if len(text) <= INLINE_CHARACTERS:
            flat: bytes = self._core.encode_flat(text)
        else:
            flat, _ = self._core.encode_batch_flat(self._cut(text))
        return flat

    def _ids(self, text: str) -> Sequence[int]:
        stray = self._stray(text)
        return array("I", self._flat(text)) if stray is None else stray.encode(text)

    def _count(self, text: str) -> int:
        stray = self._stray(text)
        return len(self._flat(text)) // 4 if stray is None else stray.count(text)

    def _count_batch(self, texts: Sequence[str]) -> list[int]:
        if any(self._stray(text) for text in texts):
            return [self._count(text) for text in texts]
        self._cache.feed(sum(map(len, texts)))
        parts = [self._cut(text) for text in texts]
        _, marks = self._core.encode_batch_flat([part for cut in parts for part in cut])
        ends = array("Q", marks)
        last = [0, *accumulate(len(cut) for cut in parts)]
        return [ends[after] - ends[before] for before, after in pairwise(last)]

    def _token_bytes(self, token: int) -> bytes | None:
        try:
            found: bytes = self._core.decode_token_bytes(token)
        except (ValueError, OverflowError):
            return None
        return found
