"""How much processor time one request may spend on reading its files.

A few kilobytes of a crafted PDF or archive can cost a second. One such file is bounded where it is read; this bounds
all files of a request together: what is left unread then counts as a file that cannot be read.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass

SECONDS = 15.0
"""Processor time for all files of a request: about 800 dense pages of PDF text (20 ms a page, 2-core machine)."""


@dataclass(slots=True)
class _Allowance:
    """`until` is the value of `time.thread_time()` at which it is spent; it begins with the first file, for asking the
    time costs every request, and few have files."""

    seconds: float
    until: float | None = None


_ALLOWANCE: ContextVar[_Allowance | None] = ContextVar("file_allowance", default=None)


class file_allowance:  # noqa: N801 - used like a function
    """Reading files on this thread may take `seconds` of its processor time until the block ends."""

    __slots__ = ("_allowance", "_token")

    def __init__(self, seconds: float = SECONDS) -> None:
        self._allowance = _Allowance(seconds)

    def __enter__(self) -> None:
        self._token = _ALLOWANCE.set(self._allowance)

    def __exit__(self, *_: object) -> None:
        _ALLOWANCE.reset(self._token)


def reading_until() -> float:
    """The value of `time.thread_time()` at which reading must stop: that of the block, else SECONDS from now."""
    allowance = _ALLOWANCE.get() or _Allowance(SECONDS)
    if allowance.until is None:
        allowance.until = time.thread_time() + allowance.seconds
    return allowance.until


def is_spent() -> bool:
    """Whether nothing more may be read for this request."""
    until = reading_until()
    return time.thread_time() >= until
