"""How much processor time one request may spend on reading its files.

A few kilobytes of a crafted PDF or archive can cost a second. One such file is bounded where it is read; this bounds
all files of a request together: what is left unread then counts as a file that cannot be read.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

SECONDS = 15.0
"""Processor time for all files of a request: about 800 dense pages of PDF text (20 ms a page, 2-core machine)."""

_UNTIL: ContextVar[float | None] = ContextVar("files_until", default=None)


@contextmanager
def file_allowance(seconds: float = SECONDS) -> Iterator[None]:
    """Reading files on this thread may take `seconds` of its processor time until the block ends."""
    token = _UNTIL.set(time.thread_time() + seconds)
    try:
        yield
    finally:
        _UNTIL.reset(token)


def reading_until() -> float:
    """The value of `time.thread_time()` at which reading must stop: that of the block, else SECONDS from now."""
    until = _UNTIL.get()
    return time.thread_time() + SECONDS if until is None else until


def is_spent() -> bool:
    """Whether nothing more may be read for this request."""
    return time.thread_time() >= reading_until()
