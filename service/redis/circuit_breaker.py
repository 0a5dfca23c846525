"""A circuit breaker: when Redis does not answer, nobody asks it for a while. Then a probe asks first, not a request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

FIRST_PAUSE_SECONDS = 0.25
MAX_PAUSE_SECONDS = 8.0
"""The pause doubles with each failure in a row. So a Redis that is back is noticed at most this late."""


class CircuitBreaker:
    """Closed: everybody may ask. Open: nobody may. After a pause one probe is due (half-open).

    A probe that succeeds closes the breaker; one that fails makes the pause longer. The pause is reset once real work
    has succeeded. Thread-safe.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._closed = True
        self._pause = FIRST_PAUSE_SECONDS
        self._probe_at = 0.0

    @property
    def closed(self) -> bool:
        return self._closed

    def failed(self) -> None:
        """Open for a pause. Work that began before it opened and fails later does not make the pause longer."""
        with self._lock:
            if self._closed or self._clock() >= self._probe_at:
                self._probe_at = self._clock() + self._pause
                self._pause = min(2 * self._pause, MAX_PAUSE_SECONDS)
            self._closed = False

    def probe_due(self) -> bool:
        return not self._closed and self._clock() >= self._probe_at

    def probed(self) -> None:
        """A probe succeeded: close."""
        with self._lock:
            self._closed = True

    def succeeded(self) -> None:
        """Real work succeeded: reset the pause."""
        if self._pause != FIRST_PAUSE_SECONDS:
            with self._lock:
                self._pause = FIRST_PAUSE_SECONDS
