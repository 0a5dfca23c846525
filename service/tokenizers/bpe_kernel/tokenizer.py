"""The tokenizer that the registry hands out: the kernel, and for the few texts that it leaves another engine."""

from __future__ import annotations

import logging
import struct
import threading
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate

from service.tokenizers.base import Engine
from service.tokenizers.bpe_kernel.kernel import BLOCK, KernelPool, Unnormal
from service.tokenizers.bpe_kernel.normalize import Normaliser
from service.tokenizers.bpe_kernel.tables import BpeTables
from service.tokenizers.golden import find_golden_mismatch
from service.tokenizers.splitting import cut_before_words
from service.tokenizers.vocabulary import Vocabulary
from service.types import Edge

SHORT = 48
"""Characters of a text that is remembered whole: names and roles come again, and a call of the kernel takes 4 us."""
REMEMBERED = 4_096
"""Such texts, at most: 1 MB."""

logger = logging.getLogger(__name__)


class BpeTokenizer(Vocabulary):
    """Counts and finds ids word by word. Thread-safe. `fast` and `reference` build engines for the few texts that the
    kernel leaves; `read` reads the tables."""

    engine: Engine = "fast"

    def __init__(
        self, name: str, fingerprint: str, read: Callable[[], BpeTables], *, fast: Callable[[], Vocabulary],
        reference: Callable[[], Vocabulary],
    ) -> None:
        """Raises WasmUnavailable where there is no kernel."""
        tables = read()
        super().__init__(name, fingerprint, tables.header.specials, added_tokens=tables.header.added_tokens)
        self.kernels = KernelPool(tables)
        self._is_by_ranks = tables.is_by_ranks
        self._read = read
        self._normaliser = Normaliser(tables.header.unstable)
        self._count_short = lru_cache(REMEMBERED)(self._count_anew)
        self._fast = fast
        self._reference = reference
        self._loading = threading.Lock()
        self._speller: Vocabulary | None = None
        self._spellings: Spellings | None = None

    @property
    def speller(self) -> Vocabulary:
        """The other engine, loaded when it is first needed: the fast one, or the reference where that fails its
        self-check."""
        found = self._speller
        if found is None:
            with self._loading:
                found = self._speller = self._speller or self._load_speller()
        return found

    def _load_speller(self) -> Vocabulary:
        fast = self._fast()
        mismatch = find_golden_mismatch(fast)
        if mismatch is None:
            return fast
        logger.error("texts that tokenizer %s leaves go to its reference: %s", self.name, mismatch)
        return self._reference()

    def count(self, text: str, edge: Edge = "open") -> int:
        if SHORT < len(text) <= BLOCK:
            tokens = self.kernels.count_at_once(text)
            if tokens is not None:
                return tokens
        return super().count(text, edge)

    def cut(self, text: str, size: int) -> list[str]:
        """`text` in parts of at least `size` characters, but for the last, whose tokens add up."""
        return cut_before_words(text, size)

    def _count(self, text: str) -> int:
        return self._count_short(text) if len(text) <= SHORT else self._count_anew(text)

    def _count_anew(self, text: str) -> int:
        if not text:
            return 0
        tokens = self._run(self.kernels.count, text)
        return self.speller.count(text) if tokens is None else tokens

    def _run[Answer](self, run: Callable[..., Answer | None], text: str) -> Answer | None:
        try:
            return run(text)
        except Unnormal:
            normal = self._normaliser.normalise(text)
            return None if normal is None else run(normal, is_normal=True)

    def _ids(self, text: str) -> Sequence[int]:
        if not text:
            return []
        ids = self._run(self.kernels.encode, text)
        return self.speller.encode(text) if ids is None else ids

    def _token_bytes(self, token: int) -> bytes | None:
        if self._is_by_ranks:
            return self.kernels.find_token(token)
        found = self._spellings
        if found is None:
            with self._loading:
                found = self._spellings = self._spellings or Spellings(self._read())
        return found.find(token)


class Spellings:
    """What the ids of a list of merges stand for; 2 MB for Gemma 3, so they are read when they are first asked for."""

    def __init__(self, tables: BpeTables) -> None:
        sizes = tables.sections["token_sizes"]
        self._ends = array("I", accumulate(struct.unpack(f"<{len(sizes) // 2}H", sizes)))
        self._bytes = bytes(tables.sections["token_bytes"])

    def find(self, token: int) -> bytes | None:
        if not 0 <= token < len(self._ends):
            return None
        return self._bytes[self._ends[token - 1] if token else 0 : self._ends[token]]
