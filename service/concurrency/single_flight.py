"""One thread does a piece of work; those that want the same in the meantime wait for what it finds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable


class _Flight[V]:
    __slots__ = ("found", "landed")

    def __init__(self) -> None:
        self.landed = threading.Event()
        self.found: list[V] = []


class SingleFlight[K: Hashable, V]:
    """Work by key. `work` has to look for the result of an earlier flight itself, before it begins."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[K, _Flight[V]] = {}

    def run(self, key: K, work: Callable[[], V]) -> V:
        """What `work` returns here or in another thread. Where that one fails, everybody tries for himself."""
        with self._lock:
            flight = self._flights.get(key)
            leads = flight is None
            if flight is None:
                flight = self._flights[key] = _Flight()
        if not leads:
            flight.landed.wait()
            return flight.found[0] if flight.found else work()
        try:
            value = work()
            flight.found.append(value)
            return value
        finally:
            with self._lock:
                del self._flights[key]
            flight.landed.set()
