"""A bounded pool of threads, for work that would block the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from service.errors import DeadlineExceeded, Overloaded


class ThreadPool:
    """`threads` pieces of work run at once and `queue` more may wait. Beyond that `run` refuses.

    The engines release the interpreter lock while they count, so the event loop goes on answering. `busy` is how many
    pieces run or wait. Work that has not ended after `seconds` is given up: it is dropped if it still waits. If it
    runs, it ends by itself, because a thread cannot be stopped; inputs and engines are bounded.
    """

    def __init__(self, threads: int, queue: int, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.capacity = threads + queue
        self.busy = 0
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="count")

    async def run[T](self, work: Callable[[], T]) -> T:
        """What `work` returns or raises. Raises Overloaded at once when the queue is full, and DeadlineExceeded."""
        with self._lock:
            if self.busy >= self.capacity:
                raise Overloaded("Too many large requests are waiting; try again in a second.", retry_after=1)
            self.busy += 1
        future = self._pool.submit(work)
        # The place is free when the thread is done, not when the caller is: a caller that left still occupies its
        # thread.
        future.add_done_callback(self._give_back)
        deadline = asyncio.timeout(self.seconds)
        try:
            async with deadline:
                return await asyncio.wrap_future(future)
        except TimeoutError:
            if not deadline.expired():
                raise  # raised by the work itself
            raise DeadlineExceeded(
                f"The request waited and ran for {self.seconds:g} seconds and was given up; send less at a time, or "
                "raise TALLYSTICK_REQUEST_SECONDS.",
                retry_after=1,
            ) from None

    def _give_back(self, _: Future[Any]) -> None:
        with self._lock:
            self.busy -= 1

    def close(self) -> None:
        """Wait for work that has begun, and drop what still waits."""
        self._pool.shutdown(wait=True, cancel_futures=True)
