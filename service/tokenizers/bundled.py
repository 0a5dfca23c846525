"""Open models, on splintr and the vocabularies that it bundles. The service has no reference engine for them.

Splintr adds 54 "agent tokens" to each of them; they and the model's own special tokens never match in text here.
Strings that the model's tokenizer.json lists as added but not as special (`<think>` for Qwen 3) are pieces of its
vocabulary and always match, as they do in every other implementation.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import splintr

from service.tokenizers.base import Engine
from service.tokenizers.normalizers import to_nfc
from service.tokenizers.splitting import cut_before_words
from service.tokenizers.vocabulary import Vocabulary, compile_alternatives


@dataclass(frozen=True, slots=True)
class BundledModel:
    """`added_tokens` is what the model's own post-processor adds (1 for a bos); `pieces` are the added strings that
    always match; `normalize` is what the model's tokenizer does to text first and splintr leaves out; `marked` says
    that splintr spells a blank in a token as U+2581 (it decodes whole texts rightly).
    """

    added_tokens: int
    pieces: tuple[str, ...] = ()
    normalize: Callable[[str], str] | None = None
    marked: bool = False


QWEN3_PIECES = (
    "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>", "<|fim_prefix|>",
    "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>",
)
DEEPSEEK_V3_PIECES = (
    "<｜User｜>", "<｜Assistant｜>", "<｜fim▁hole｜>", "<｜fim▁begin｜>", "<｜fim▁end｜>",
    "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>",
    "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>", "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>",
    "<｜tool▁sep｜>",
)

INLINE_CHARS = 4_000
"""Up to here the call that keeps the interpreter lock is cheaper; beyond, the one that releases it is used."""

CACHE_CHARS = 16_000_000
"""Splintr 0.22.0 caches up to 131,072 chunks whatever their length: 4 MB of distinct 5,000-letter words stay as 11 MB.
So its cache is emptied whenever this much text went in; ordinary text fills it again within milliseconds."""

MARK = "\u2581".encode()
"""What SentencePiece writes for a blank."""

BUNDLED: dict[str, BundledModel] = {
    "llama3": BundledModel(1),
    "llama2": BundledModel(1),
    "mistral_v1": BundledModel(1),
    "mistral_v2": BundledModel(1),
    "mistral_v3": BundledModel(1),
    "deepseek_v3": BundledModel(1, pieces=DEEPSEEK_V3_PIECES),
    "qwen3": BundledModel(0, pieces=QWEN3_PIECES, normalize=to_nfc),
    "glm4": BundledModel(2),  # [gMASK]<sop>
    "kimi": BundledModel(0),
    "phi4": BundledModel(0),
    # equal to gemma3 (compared on 4,000 texts), but without its HTML tags and <unused> pieces
    "gemma4": BundledModel(1, marked=True),
}


class ChunkCache:
    """Keeps splintr's cache of chunks bounded in bytes. `core` is a splintr tokenizer."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._fed = 0
        self._is_cached = core.family == "BPE"

    def feed(self, characters: int) -> None:
        """Say that this much text is about to be encoded. Two threads may lose a few of each other's characters."""
        self._fed += characters
        if self._fed > CACHE_CHARS and self._is_cached:
            self._fed = 0
            self._core.clear_cache()


class BundledTokenizer(Vocabulary):
    """One of BUNDLED."""

    engine: Engine = "fast"

    def __init__(self, name: str, fingerprint: str, *, verified: bool) -> None:
        model = BUNDLED[name]
        self._core = splintr.Tokenizer.from_pretrained(name)
        self._cache = ChunkCache(self._core)
        base = splintr.base_vocab_size(name)
        every = self._core.special_tokens()
        own = {text: token for text, token in every.items() if token < base}
        super().__init__(
            name, fingerprint, {text: token for text, token in own.items() if text not in model.pieces},
            added_tokens=model.added_tokens, verified=verified,
        )
        self._normalize = model.normalize
        self._marked = model.marked
        self._prefixed = self._core.family == "Spm"
        self._pieces = {text: own[text] for text in model.pieces}
        self._piece_at = compile_alternatives(self._pieces)
        self._matched_by_splintr = compile_alternatives(every)
        self._base = base

    def _ids(self, text: str) -> Sequence[int]:
        ids = array("I")
        for part, piece in self._parts_at(text):
            if part:
                ids.extend(self._ordinary(part))
            if piece is not None:
                ids.append(piece)
        return ids

    def _parts_at(self, text: str) -> Iterator[tuple[str, int | None]]:
        return self._parts(text, self._piece_at, self._pieces)

    def _ordinary(self, text: str) -> array[int]:
        if self._normalize is not None:
            text = self._normalize(text)
        self._cache.feed(len(text))
        if len(text) <= INLINE_CHARS:
            return array("I", self._core.encode_ordinary(text))
        first, *others = cut_before_words(text)
        # SentencePiece puts a blank before every text, so a block that begins with one goes without
        blocks = [first, *(block[1:] for block in others)] if self._prefixed else [first, *others]
        if self._matched_by_splintr.search(text):
            return array("I", chain.from_iterable(map(self._core.encode_ordinary, blocks)))
        # this call lets other threads run, but it matches special tokens: only for texts that hold none
        flat, _ = self._core.encode_batch_flat(blocks)
        return array("I", flat)

    def _token_bytes(self, token: int) -> bytes | None:
        if not 0 <= token < self._base:
            return None
        try:
            found: bytes = self._core.decode_token_bytes(token)
        except ValueError:
            return None
        return found.replace(MARK, b" ") if self._marked else found
