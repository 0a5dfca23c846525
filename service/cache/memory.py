"""The first tier: counts in this process, bounded in bytes. The least recently used are evicted first."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict

from service.cache.base import Counts

_ENTRY_BYTES = 250
"""Memory of one entry without its counts: the key (53), the tuple, dict slots. Measured with tracemalloc, CPython
3.13."""


class MemoryCache:
    """A thread-safe LRU cache of at most `max_bytes`. `hits`, `misses` and `bytes` are for metrics."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self.hits = 0
        self.misses = 0
        self._entries: OrderedDict[bytes, Counts] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: bytes) -> bool:
        """Whether the key is known. Takes no lock and does not count as a use: it only helps to decide."""
        return key in self._entries

    def get(self, key: bytes) -> Counts | None:
        with self._lock:
            counts = self._entries.get(key)
            if counts is None:
                self.misses += 1
                return None
            self.hits += 1
            self._entries.move_to_end(key)
            return counts

    def put(self, key: bytes, counts: Counts) -> None:
        size = _entry_size(counts)
        if size > self.max_bytes:
            return
        with self._lock:
            old = self._entries.pop(key, None)
            if old is not None:
                self.bytes -= _entry_size(old)
            self._entries[key] = counts
            self.bytes += size
            while self.bytes > self.max_bytes:
                _, dropped = self._entries.popitem(last=False)
                self.bytes -= _entry_size(dropped)


def _entry_size(counts: Counts) -> int:
    return _ENTRY_BYTES + sys.getsizeof(counts) + 32 * len(counts)
