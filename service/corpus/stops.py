"""Stopping a run on Ctrl-C and SIGTERM: between two batches, where all that it has written is complete."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from service.corpus.batches import Batch

SIGNALS = (signal.SIGINT, signal.SIGTERM)

SECOND_SIGNAL_SECONDS = 1.0
"""A second signal that comes later than this stops the run at once. One that comes sooner is taken for the first one:
`timeout` sends it to the process, and then to its whole group."""


class Stopped(KeyboardInterrupt):
    """The run was stopped by a signal. Its checkpoint holds `records`, which are not counted again.

    It is no Exception, so that no `except Exception` catches it.
    """

    def __init__(self, number: int, records: int = 0) -> None:
        super().__init__()
        self.signal, self.records = number, records


class Stops:
    """A `with` block in the main thread, in which signals stop the run. Outside of it the run is never stopped.

    `signal` is the first signal that came. A second one raises KeyboardInterrupt, wherever the run is then.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._heard_at = 0.0
        self._at_once = False
        self._before: Mapping[int, Any] = {}

    def __enter__(self) -> Stops:
        before = {number: signal.getsignal(number) for number in SIGNALS}
        # A signal that is ignored was set so by the parent: a background job of a shell without job control.
        self._before = {number: was for number, was in before.items() if was is not signal.SIG_IGN}
        for number in self._before:
            signal.signal(number, self._handle_signal)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, was in self._before.items():
            signal.signal(number, was)

    def _handle_signal(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        if self.signal is None:
            self.signal, self._heard_at = number, now
            if self._at_once:
                raise Stopped(number)
        elif now - self._heard_at >= SECOND_SIGNAL_SECONDS:
            raise KeyboardInterrupt

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """A `with` block that may be left at any point. Stopped is raised when the signal comes, or has come before."""
        self._at_once = True
        try:
            if self.signal is not None:
                raise Stopped(self.signal)
            yield
        finally:
            self._at_once = False

    def between(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches. After a signal Stopped is raised in place of the next one, also while that is read."""
        rest = iter(batches)
        while True:
            with self.at_once():
                batch = next(rest, None)
            if batch is None:
                return
            yield batch
