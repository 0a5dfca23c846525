"""A circuit breaker opens at once, allows one probe after a pause, and pauses longer after each failure."""

from __future__ import annotations

from service.redis.circuit_breaker import FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, CircuitBreaker


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_failure_opens_and_a_probe_closes() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    assert breaker.closed
    assert not breaker.probe_due(), "what is closed needs no probe"
    breaker.failed()
    assert not breaker.closed
    assert not breaker.probe_due()
    clock.now += FIRST_PAUSE_SECONDS
    assert breaker.probe_due()
    breaker.probed()
    assert breaker.closed


def test_pauses_double_up_to_a_bound_until_work_succeeds() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    pauses = []
    for _ in range(8):
        breaker.failed()
        began = clock.now
        while not breaker.probe_due():
            clock.now += FIRST_PAUSE_SECONDS / 2
        pauses.append(clock.now - began)
        breaker.probed()
    assert pauses == [0.25, 0.5, 1, 2, 4, 8, 8, 8]
    assert (pauses[0], pauses[-1]) == (FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
    breaker.succeeded()
    breaker.failed()
    clock.now += FIRST_PAUSE_SECONDS + 0.01
    assert breaker.probe_due()


def test_failures_of_work_already_under_way_do_not_lengthen_the_pause() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    for _ in range(50):
        breaker.failed()
    clock.now += FIRST_PAUSE_SECONDS
    assert breaker.probe_due()
