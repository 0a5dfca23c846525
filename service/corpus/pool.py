"""Counting batches by several processes, in order, with a bounded number under way.

Threads would not do: a record of 300 bytes takes 10 us of the interpreter (o200k_base on two cores: 28 MB/s with one
thread, 14 with two; 2026-11), though the engines themselves leave its lock alone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

from service import catalog
from service.catalog import Catalog
from service.corpus.batches import Batch
from service.corpus.counting import CorpusCounter, Counted, Question

AHEAD = 2
"""Batches that wait for each process while it counts one: reading is never what it waits for."""

MOST_BYTES = 64 << 20
"""Of batches under way, where records are long."""


class ProcessDied(Exception):
    """A counting process was killed."""


def usable_cores() -> int:
    """Those that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_batches(
    batches: Iterable[Batch], question: Question, workers: int
) -> Generator[tuple[Batch, Counted]]:
    """Each batch with what it came to, in order. With one worker this process counts. Raises TokenizerUnavailable, and
    ProcessDied."""
    if workers == 1:
        counter = CorpusCounter(question)
        for batch in batches:
            yield batch, counter.count_batch(batch)
        return
    now = catalog.current()
    # Not by fork: engines have threads, whose locks a fork would leave locked.
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), _start, (question, now.file, dict(now.aliases))
    )
    try:
        yield from _in_order(pool, batches, workers * (1 + AHEAD))
    except (BrokenProcessPool, BrokenPipeError):  # the latter of one that died before it was told what to do
        raise ProcessDied from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _in_order(pool: ProcessPoolExecutor, batches: Iterable[Batch], most: int) -> Iterator[tuple[Batch, Counted]]:
    under_way: deque[tuple[Batch, Future[Counted]]] = deque()
    size = 0
    for batch in batches:
        while under_way and (len(under_way) >= most or size + batch.bytes > MOST_BYTES):
            first, counted = under_way.popleft()
            yield first, counted.result()
            size -= first.bytes
        with _deaf():
            counted = pool.submit(_count, batch)
        under_way.append((batch, counted))
        size += batch.bytes
    while under_way:
        first, counted = under_way.popleft()
        yield first, counted.result()


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes that are started within do not hear Ctrl-C, which a terminal sends to all, not even while they load;
    this one hears it a moment later."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ---------------------------------------------------------------- in a counting process

_counters: list[CorpusCounter] = []


def _start(question: Question, file: Path | None, aliases: dict[str, str]) -> None:
    """Names mean here what they mean in the process that asks; its end is ours."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if file is not None or aliases:
        catalog.use(Catalog(file, aliases))
    _counters[:] = [CorpusCounter(question)]


def _end_with_parent() -> None:
    """Whoever waits for work does not see that nobody is left to send it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _count(batch: Batch) -> Counted:
    return _counters[0].count_batch(batch)
