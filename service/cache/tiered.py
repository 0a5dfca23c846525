"""Both tiers as one. Memory is asked first, and Redis only when counting would take longer than asking it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from service.cache.base import CacheEvents, Counts, NoEvents
from service.cache.cost_model import CountingCost
from service.cache.memory import MemoryCache

AskWhen = Literal["worthwhile", "always"]


class RemoteCache(Protocol):
    """The second tier, shared by processes. Nothing here raises: a failure is a miss."""

    @property
    def up(self) -> bool:
        """Whether it may be asked now."""
        ...

    @property
    def round_trip_seconds(self) -> float | None:
        """How long asking takes, as measured. None until somebody asked."""
        ...

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Counts]:
        """The counts known for `keys`. Blocks for one round trip."""
        ...

    def put(self, key: bytes, counts: Counts) -> None:
        """Returns at once; the counts are written in the background."""
        ...


class TieredCache:
    """`costs` is how long counting takes here. With `ask_when` "always" Redis is always asked (for tests)."""

    def __init__(
        self, memory: MemoryCache, remote: RemoteCache | None = None, events: CacheEvents | None = None,
        ask_when: AskWhen = "worthwhile",
    ) -> None:
        self.memory = memory
        self.remote = remote
        self.events: CacheEvents = events or NoEvents()
        self.costs = CountingCost()
        self.ask_when = ask_when

    def has(self, key: bytes) -> bool:
        """Whether memory has it."""
        return key in self.memory

    def get(self, key: bytes) -> Counts | None:
        """From memory alone."""
        return self.memory.get(key)

    def record_lookup(self, hits: int, misses: int) -> None:
        """Report hits and misses in memory, to metrics."""
        if hits:
            self.events.record_lookup("memory", "hit", hits)
        if misses:
            self.events.record_lookup("memory", "miss", misses)

    def put(self, key: bytes, counts: Counts, seconds: float) -> None:
        """Keep counts that took `seconds` to count. Redis gets them, too, if it would be asked for them."""
        self.memory.put(key, counts)
        if self.remote is not None and self._is_worth(self.remote, seconds):
            self.remote.put(key, counts)

    def would_ask(self, seconds: float) -> bool:
        """Whether asking Redis is faster than counting for `seconds`. Never on an event loop."""
        return self.remote is not None and self._is_worth(self.remote, seconds) and not self.must_not_wait()

    @staticmethod
    def must_not_wait() -> bool:
        """Whether this is the thread of an event loop. Waiting here would block every other request."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        return True

    def ask(self, keys: Sequence[bytes]) -> Mapping[bytes, Counts]:
        """The counts that Redis has for `keys`. They are in memory from now on."""
        if self.remote is None:
            return {}
        found = self.remote.get_many(keys)
        for key, counts in found.items():
            self.memory.put(key, counts)
        return found

    def _is_worth(self, remote: RemoteCache, seconds: float) -> bool:
        if not remote.up:
            return False
        if self.ask_when == "always":
            return True
        round_trip = remote.round_trip_seconds
        return round_trip is not None and seconds > round_trip
