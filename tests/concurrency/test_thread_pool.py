from __future__ import annotations

import asyncio
import threading

import pytest

from service.concurrency.thread_pool import ThreadPool
from service.errors import DeadlineExceeded, Overloaded


async def test_a_full_queue_refuses_at_once_and_takes_again_when_there_is_room() -> None:
    workers = ThreadPool(threads=1, queue=1)
    gate = threading.Event()
    running = [asyncio.ensure_future(workers.run(gate.wait)) for _ in range(2)]
    await asyncio.sleep(0)
    assert workers.busy == 2
    with pytest.raises(Overloaded) as caught:
        await workers.run(lambda: True)
    assert caught.value.retry_after == 1
    gate.set()
    assert await asyncio.gather(*running) == [True, True]
    workers.close()  # waits for the threads, which give their places back
    assert workers.busy == 0


async def test_a_caller_that_leaves_keeps_its_place_until_its_thread_is_done() -> None:
    workers = ThreadPool(threads=1, queue=0)
    gate = threading.Event()
    started = threading.Event()

    def work() -> None:
        started.set()
        gate.wait()

    call = asyncio.ensure_future(workers.run(work))
    await asyncio.to_thread(started.wait)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    with pytest.raises(Overloaded):
        await workers.run(lambda: True)
    gate.set()
    workers.close()
    assert workers.busy == 0


async def test_what_the_work_raises_comes_out() -> None:
    workers = ThreadPool(1, 0)
    with pytest.raises(ZeroDivisionError):
        await workers.run(lambda: 1 // 0)
    workers.close()


async def test_what_takes_too_long_is_given_up_and_what_waits_is_dropped() -> None:
    workers = ThreadPool(threads=1, queue=1, seconds=0.05)
    gate = threading.Event()
    ran = []
    running = asyncio.ensure_future(workers.run(gate.wait))
    waiting = asyncio.ensure_future(workers.run(lambda: ran.append(1)))
    for call in (running, waiting):
        with pytest.raises(DeadlineExceeded) as caught:
            await call
        assert caught.value.retry_after == 1
        assert "TALLYSTICK_REQUEST_SECONDS" in caught.value.message
    assert workers.busy == 1  # the one that runs cannot be stopped, and keeps its place
    gate.set()
    workers.close()
    assert (workers.busy, ran) == (0, [])


async def test_a_timeout_of_the_work_itself_is_no_deadline() -> None:
    workers = ThreadPool(1, 0, seconds=60)

    def work() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await workers.run(work)
    workers.close()
