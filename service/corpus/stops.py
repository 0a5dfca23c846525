"""Ctrl-C and SIGTERM: a run stops between two batches, where all that it has written is whole."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from service.corpus.batches import Batch

HEARD = (signal.SIGINT, signal.SIGTERM)

AGAIN_SECONDS = 1.0
"""A signal that comes so much later than the first means: at once. One that comes sooner is the same one: `timeout`
sends it to the process and then to its whole group."""


class Stopped(KeyboardInterrupt):
    """The run was asked to stop and has; `records` are told of by its checkpoint, and will not be counted again. No
    Exception, so that nothing on the way takes it for a failure of its own."""

    def __init__(self, number: int, records: int = 0) -> None:
        super().__init__()
        self.signal, self.records = number, records


class Stops:
    """What a run is asked by signals, in the main thread and while this is entered; else it is never stopped.

    `signal` is the first that was heard. A second one raises KeyboardInterrupt wherever the run is then.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._heard_at = 0.0
        self._at_once = False
        self._before: Mapping[int, Any] = {}

    def __enter__(self) -> Stops:
        before = {number: signal.getsignal(number) for number in HEARD}
        # What is ignored was set so by who started us: a job in the background of a shell without job control.
        self._before = {number: was for number, was in before.items() if was is not signal.SIG_IGN}
        for number in self._before:
            signal.signal(number, self._hear)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, was in self._before.items():
            signal.signal(number, was)

    def _hear(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        if self.signal is None:
            self.signal, self._heard_at = number, now
            if self._at_once:
                raise Stopped(number)
        elif now - self._heard_at >= AGAIN_SECONDS:
            raise KeyboardInterrupt

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """What is done within may be left at any point: Stopped is raised when the signal comes, or has come."""
        self._at_once = True
        try:
            if self.signal is not None:
                raise Stopped(self.signal)
            yield
        finally:
            self._at_once = False

    def between(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches; raises Stopped instead of the next, and while it is being read: that may take long."""
        rest = iter(batches)
        while True:
            with self.at_once():
                batch = next(rest, None)
            if batch is None:
                return
            yield batch
