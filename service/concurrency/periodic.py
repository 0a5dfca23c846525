"""A thread that does the same work again and again, and once more at the end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

LOG = logging.getLogger("tallystick")


class PeriodicTask:
    """Calls `work` every `seconds`, and at once after `wake`. What `work` raises is logged. Can be started only
    once."""

    def __init__(self, name: str, seconds: float, work: Callable[[], object]) -> None:
        self._seconds = seconds
        self._work = work
        self._woken = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._woken.set()

    def stop(self, patience_seconds: float = 2.0) -> None:
        """Call `work` a last time and wait for it, for `patience_seconds` at most."""
        self._stopped = True
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(patience_seconds)

    def _run(self) -> None:
        while not self._stopped:
            self._once()
            self._woken.wait(self._seconds)
            self._woken.clear()
        self._once()

    def _once(self) -> None:
        try:
            self._work()
        except Exception:
            LOG.exception("background work failed", extra={"fields": {"thread": self._thread.name}})
