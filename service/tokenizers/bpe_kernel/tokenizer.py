"""The fast engine of the published vocabularies: the kernel, and the reference for a text on which the kernel fails."""

from __future__ import annotations

import struct
import threading
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate

from service.errors import TokenizerUnavailable
from service.tokenizers.base import Engine, Splittable, Tokenizer, VocabularyTokenizer
from service.tokenizers.bpe_kernel.kernel import BLOCK_CHARS, KernelPool
from service.tokenizers.bpe_kernel.tables import BpeTables
from service.tokenizers.splitting import cut_before_words
from service.tokenizers.vocabulary import Vocabulary
from service.tokenizers.wasm import WasmUnavailable
from service.types import Edge

SHORT_CHARS = 48
"""Longest text that is remembered whole: names and roles come again, and a call of the kernel takes 4 us."""
MAX_REMEMBERED = 4_096
"""Such texts, at most: 1 MB."""


class BpeTokenizer(Vocabulary, Splittable):
    """Counts and finds ids by the kernel. Thread-safe.

    `read` reads the tables. `reference` gives the reference engine, which is loaded for the first text on which the
    kernel fails: it has no memory for it, or cannot join the windows of a very long word (no such word is known).
    """

    engine: Engine = "fast"

    def __init__(
        self, name: str, fingerprint: str, read: Callable[[], BpeTables], reference: Callable[[], Tokenizer]
    ) -> None:
        """Raises TokenizerUnavailable where the kernel does not run."""
        tables = read()
        super().__init__(name, fingerprint, tables.header.specials, added_tokens=tables.header.added_tokens)
        try:
            self.kernels = KernelPool(tables)
        except WasmUnavailable as reason:
            raise TokenizerUnavailable(f"the fast engine of {name} does not run here: {reason}") from reason
        self._is_by_ranks = tables.is_by_ranks
        self._read = read
        self._reference = reference
        self._count_short = lru_cache(MAX_REMEMBERED)(self._count_anew)
        self._loading = threading.Lock()
        self._token_table: TokenTable | None = None

    def count(self, text: str, edge: Edge = "open") -> int:
        if SHORT_CHARS < len(text) <= BLOCK_CHARS:
            tokens = self.kernels.count_block(text)
            if tokens is not None:
                return tokens
        return super().count(text, edge)

    def cut(self, text: str, size: int) -> list[str]:
        return cut_before_words(text, size)

    def _count(self, text: str) -> int:
        return self._count_short(text) if len(text) <= SHORT_CHARS else self._count_anew(text)

    def _count_anew(self, text: str) -> int:
        if not text:
            return 0
        tokens = self.kernels.count(text)
        return self._load_reference().count(text) if tokens is None else tokens

    def _ids(self, text: str) -> Sequence[int]:
        if not text:
            return []
        ids = self.kernels.encode(text)
        return self._load_reference().encode(text) if ids is None else ids

    def _load_reference(self) -> VocabularyTokenizer:
        found = self._reference()
        assert isinstance(found, VocabularyTokenizer)
        return found

    def _token_bytes(self, token: int) -> bytes | None:
        if self._is_by_ranks:
            return self.kernels.find_token(token)
        found = self._token_table
        if found is None:
            with self._loading:
                found = self._token_table = self._token_table or TokenTable(self._read())
        return found.find(token)


class TokenTable:
    """The bytes of the tokens of a merge list; 2 MB for Gemma 3, so they are read when they are first asked for."""

    def __init__(self, tables: BpeTables) -> None:
        sizes = tables.sections["token_sizes"]
        self._ends = array("I", accumulate(struct.unpack(f"<{len(sizes) // 2}H", sizes)))
        self._bytes = bytes(tables.sections["token_bytes"])

    def find(self, token: int) -> bytes | None:
        if not 0 <= token < len(self._ends):
            return None
        return self._bytes[self._ends[token - 1] if token else 0 : self._ends[token]]
