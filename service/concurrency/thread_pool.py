"""A bounded pool of threads for work that would hold the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from service.errors import DeadlineExceeded, Overloaded


class ThreadPool:
    """`threads` run at once, `queue` more may wait; beyond that `run` refuses.

    The engines release the interpreter lock while they count, so the event loop goes on answering. `busy` is how many
    are running or waiting. Work that has not ended `seconds` after it was asked for is given up: dropped where it
    still waits, left to end by itself where it runs (a thread cannot be stopped, but inputs and engines are bounded).
    """

    def __init__(self, threads: int, queue: int, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.capacity = threads + queue
        self.busy = 0
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="count")

    async def run[T](self, work: Callable[[], T]) -> T:
        """What `work` returns or raises. Raises Overloaded, at once, where the queue is full, and DeadlineExceeded."""
        with self._lock:
            if self.busy >= self.capacity:
                raise Overloaded("Too many large requests are waiting; try again in a second.", retry_after=1)
            self.busy += 1
        future = self._pool.submit(work)
        # Given back when the thread is done, not when the caller is: a caller that left still holds its thread.
        future.add_done_callback(self._give_back)
        deadline = asyncio.timeout(self.seconds)
        try:
            async with deadline:
                return await asyncio.wrap_future(future)
        except TimeoutError:
            if not deadline.expired():
                raise  # the work's own
            raise DeadlineExceeded(
                f"The request waited and ran for {self.seconds:g} seconds and was given up; send less at a time, or "
                "raise TALLYSTICK_REQUEST_SECONDS.",
                retry_after=1,
            ) from None

    def _give_back(self, _: Future[Any]) -> None:
        with self._lock:
            self.busy -= 1

    def close(self) -> None:
        """Wait for work that has begun, drop what is still queued."""
        self._pool.shutdown(wait=True, cancel_futures=True)
