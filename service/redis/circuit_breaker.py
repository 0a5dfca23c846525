"""A circuit breaker: what does not answer is left alone for a while, and asked again by one probe, not by requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 8.0
"""The pause doubles with each failure in a row; a Redis that comes back is noticed this late at most."""


class CircuitBreaker:
    """Closed: everybody may ask. Open: nobody may. After a pause one probe is due (half-open): its success closes,
    its failure makes the pause longer. The pause is forgotten once something other than a probe succeeded."""

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
        """Open, for a pause. Failures of work that had begun before it opened do not make the pause longer."""
        with self._lock:
            if self._closed or self._clock() >= self._probe_at:
                self._probe_at = self._clock() + self._pause
                self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)
            self._closed = False

    def probe_due(self) -> bool:
        return not self._closed and self._clock() >= self._probe_at

    def probed(self) -> None:
        """A probe succeeded: close."""
        with self._lock:
            self._closed = True

    def succeeded(self) -> None:
        """Real work succeeded."""
        if self._pause != FIRST_PAUSE_SECONDS:
            with self._lock:
                self._pause = FIRST_PAUSE_SECONDS
