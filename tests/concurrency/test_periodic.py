"""A periodic task goes on whatever its work raises, and runs once more at the end."""

from __future__ import annotations

import logging
import threading

import pytest

from service.concurrency.periodic import PeriodicTask


def test_it_works_when_woken_and_once_at_the_end() -> None:
    done = threading.Semaphore(0)
    calls: list[int] = []

    def work() -> None:
        calls.append(1)
        done.release()

    beat = PeriodicTask("test", 3600, work)
    beat.start()
    assert done.acquire(timeout=60)
    beat.wake()
    assert done.acquire(timeout=60)
    before = len(calls)
    beat.stop(10)
    assert len(calls) == before + 1


def test_what_it_raises_is_logged_and_it_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    twice = threading.Semaphore(0)

    def work() -> None:
        twice.release()
        raise ValueError("secret text")

    beat = PeriodicTask("test-beat", 0.01, work)
    with caplog.at_level(logging.ERROR, "tallystick"):
        beat.start()
        assert twice.acquire(timeout=60)
        assert twice.acquire(timeout=60)
        beat.stop(10)
    assert caplog.records[0].message == "background work failed"


def test_one_that_was_never_started_stops() -> None:
    PeriodicTask("test", 1, lambda: None).stop()
