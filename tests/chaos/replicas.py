"""What 50 replicas need of one Redis, calculated from what one request needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from service.auth.rate_limits import MAX_CONCURRENT
from service.services import SPARE_CONNECTIONS, STORE_THREADS

REPLICAS, WORKERS = 50, 2
BUSY = 0.6
"""Share of its core that a worker uses on average. The rest is for bursts and for a replica that fails."""

POOLS = (max(2, os.cpu_count() or 1), STORE_THREADS, STORE_THREADS)
"""The most connections to Redis of a worker, for counts, ledger and leases: one for each thread, and a few more."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one request of a kind needs: calls of Redis, bytes in both directions, and processor time of Redis and of
    the service in microseconds."""

    name: str
    calls: float
    sent: float
    redis: float
    service: float

    def line(self) -> str:
        return f"{self.name:<44}{self.calls:>9.2f}{self.sent:>8,.0f}{self.redis:>9.1f}{self.service:>11,.0f}"


@dataclass(frozen=True, slots=True)
class Keeps:
    """Bytes of a count in Redis, measured connections of a worker, calls a second of an idle worker."""

    count: float
    connections: float
    background: float


def say_needs(shares: Sequence[Share], keeps: Keeps, say: Callable[[str], None]) -> None:
    """Print the table."""
    workers = REPLICAS * WORKERS
    say(f"{REPLICAS} replicas of {WORKERS} workers, each busy {BUSY:.0%} of a core like these, with nothing but:")
    say(f"{'':<44}{'requests/s':>11}{'Redis calls/s':>14}{'cores':>7}{'MB/s':>7}")
    for share in shares:
        rate = workers * BUSY * 1e6 / max(share.service, 1.0)
        calls = rate * share.calls + workers * keeps.background
        say(f"{share.name:<44}{rate:>11,.0f}{calls:>14,.0f}{rate * share.redis / 1e6:>7.2f}"
            f"{rate * share.sent / 1e6:>7.1f}")
    most = sum(threads + SPARE_CONNECTIONS for threads in POOLS) + MAX_CONCURRENT
    say("A server of Redis has one core for this; what needs more than about 0.7 of it needs a cluster of masters.")
    say(f"connections: {workers * keeps.connections:,.0f} as measured ({keeps.connections:.0f} a worker), "
        f"{workers * most:,} at most ({most} a worker with {os.cpu_count()} threads)")
    say(f"memory: {keeps.count:.0f} B a count, {keeps.count * 1e6 / 2**20:,.0f} MiB for a million; kept for a day, so")
    say(f"100 new long texts a second are {keeps.count * 100 * 86_400 / 2**30:.1f} GiB. Less: a shorter "
        "TALLYSTICK_CACHE_TTL_SECONDS.")
