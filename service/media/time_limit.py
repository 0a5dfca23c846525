"""Limiting the processor time that one request may spend on reading its files.

A few kilobytes of a crafted PDF or archive can cost a second. One such file is limited where it is read. This limits
all files of a request together. A file that is not read for that counts like a file that cannot be read.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass

SECONDS = 15.0
"""Processor time for all files of a request: about 800 dense pages of PDF text (20 ms a page, 2-core machine)."""


@dataclass(slots=True)
class _TimeLimit:
    """`until` is the value of `time.thread_time()` at which the time is over.

    It is set for the first file: reading the clock costs time, and few requests have files.
    """

    seconds: float
    until: float | None = None


_CURRENT: ContextVar[_TimeLimit | None] = ContextVar("file_allowance", default=None)


class limit_file_time:  # noqa: N801 - used like a function
    """A `with` block in which reading files may take `seconds` of the processor time of this thread."""

    __slots__ = ("_allowance", "_token")

    def __init__(self, seconds: float = SECONDS) -> None:
        self._allowance = _TimeLimit(seconds)

    def __enter__(self) -> None:
        self._token = _CURRENT.set(self._allowance)

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._token)


def get_reading_deadline() -> float:
    """The value of `time.thread_time()` at which reading must stop. Outside of a block it is SECONDS from now."""
    limit = _CURRENT.get() or _TimeLimit(SECONDS)
    if limit.until is None:
        limit.until = time.thread_time() + limit.seconds
    return limit.until


def is_time_spent() -> bool:
    """Whether nothing more may be read for this request."""
    until = get_reading_deadline()
    return time.thread_time() >= until
