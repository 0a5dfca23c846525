"""The tokenizer that the registry hands out: counts by the kernel, ids by another engine that is loaded for them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache

from service.tokenizers.base import Engine
from service.tokenizers.golden import find_golden_mismatch
from service.tokenizers.vocabulary import Vocabulary

from .kernel import KernelPool, Unnormal
from .normalise import Normaliser
from .tables import WordTables

SHORT = 48
"""Characters of a text that is remembered whole: names and roles come again, and a call of the kernel takes 4 us."""
REMEMBERED = 4_096
"""Such texts, at most: 1 MB."""

logger = logging.getLogger(__name__)


class WordTokenizer(Vocabulary):
    """Counts by words. Thread-safe. `fast` and `reference` build engines that find ids, and count the few texts that
    the kernel leaves."""

    engine: Engine = "fast"
    ids_apart = True

    def __init__(
        self, name: str, fingerprint: str, tables: WordTables, *, fast: Callable[[], Vocabulary],
        reference: Callable[[], Vocabulary],
    ) -> None:
        """Raises WasmUnavailable where there is no kernel."""
        super().__init__(name, fingerprint, tables.header.specials, added_tokens=tables.header.added_tokens)
        self.kernels = KernelPool(tables)
        self._normaliser = Normaliser(tables.header.unstable)
        self._count_short = lru_cache(REMEMBERED)(self._count_anew)
        self._fast = fast
        self._reference = reference
        self._loading = threading.Lock()
        self._speller: Vocabulary | None = None

    @property
    def speller(self) -> Vocabulary:
        """The engine of the ids: the fast one, or the reference where that failed its self-check."""
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
        logger.error("the ids of tokenizer %s come from its reference: %s", self.name, mismatch)
        return self._reference()

    def _count(self, text: str) -> int:
        return self._count_short(text) if len(text) <= SHORT else self._count_anew(text)

    def _count_anew(self, text: str) -> int:
        if not text:
            return 0
        try:
            tokens = self.kernels.count(text)
        except Unnormal:
            normal = self._normaliser.normalise(text)
            tokens = None if normal is None else self.kernels.count(normal, is_normal=True)
        return self.speller.count(text) if tokens is None else tokens

    def _ids(self, text: str) -> Sequence[int]:
        return self.speller.encode(text)

    def _token_bytes(self, token: int) -> bytes | None:
        return self.speller._token_bytes(token)
