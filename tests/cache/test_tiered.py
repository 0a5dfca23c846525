"""Redis is asked when counting takes longer than asking, and never on the event loop."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from service.cache.base import Counts
from service.cache.cost_model import MIN_MEASURED_CHARS, CountingCost
from service.cache.memory import MemoryCache
from service.cache.tiered import AskWhen, TieredCache


class Remote:
    """A second tier of known speed."""

    def __init__(self, up: bool = True, round_trip: float | None = 0.001) -> None:
        self.up = up
        self.round_trip_seconds = round_trip
        self.entries: dict[bytes, Counts] = {}

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Counts]:
        return {key: self.entries[key] for key in keys if key in self.entries}

    def put(self, key: bytes, counts: Counts) -> None:
        self.entries[key] = counts


@pytest.mark.parametrize(("remote", "when", "seconds", "asked"), [
    (Remote(), "worthwhile", 0.002, True), (Remote(), "worthwhile", 0.0005, False),
    (Remote(round_trip=None), "worthwhile", 9.0, False), (Remote(up=False), "worthwhile", 9.0, False),
    (Remote(), "always", 0.0, True), (Remote(round_trip=None), "always", 0.0, True),
    (Remote(up=False), "always", 9.0, False), (None, "always", 9.0, False),
])
def test_when_it_is_asked_and_written(remote: Remote | None, when: AskWhen, seconds: float, asked: bool) -> None:
    cache = TieredCache(MemoryCache(10_000), remote, ask_when=when)
    assert cache.would_ask(seconds) is asked
    cache.put(b"k", (1,), seconds)
    assert cache.get(b"k") == (1,)
    assert (remote is not None and b"k" in remote.entries) is asked


async def test_on_the_event_loop_nobody_waits() -> None:
    cache = TieredCache(MemoryCache(10_000), Remote(), ask_when="always")
    assert cache.must_not_wait()
    assert not cache.would_ask(9.0)


def test_what_was_found_is_known_here_from_then_on() -> None:
    remote = Remote()
    remote.entries[b"k"] = (7, 8)
    cache = TieredCache(MemoryCache(10_000), remote)
    assert not cache.has(b"k")
    assert cache.ask([b"k", b"j"]) == {b"k": (7, 8)}
    assert cache.has(b"k")
    assert cache.get(b"k") == (7, 8)
    assert not cache.has(b"j")


def test_costs_are_a_running_mean_of_what_is_long_enough_to_measure() -> None:
    costs = CountingCost()
    assert costs.predict("a", 10**9) == 0, "what was never measured is worth no round trip"
    costs.record("a", MIN_MEASURED_CHARS - 1, 5.0)
    assert costs.list_costs() == {}
    costs.record("a", 10_000, 0.01)
    assert costs.predict("a", 1_000_000) == pytest.approx(1.0)
    costs.record("a", 10_000, 0.02)
    assert 1.0 < costs.predict("a", 1_000_000) < 1.5
    assert costs.predict("b", 1_000_000) == 0
