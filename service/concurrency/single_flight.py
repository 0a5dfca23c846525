"""One thread does a piece of work. Others that want the same result meanwhile wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable


class _Flight[V]:
    __slots__ = ("found", "landed")

    def __init__(self) -> None:
        self.landed = threading.Event()
        self.found: list[V] = []


class SingleFlight[K: Hashable, V]:
    """Work by key. `work` must first look for the result of an earlier call by itself, in a cache for example."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[K, _Flight[V]] = {}

    def run(self, key: K, work: Callable[[], V]) -> V:
        """What `work` returns, here or in another thread. If it raises in the other thread, it is called here, too."""
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
