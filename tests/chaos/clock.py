"""A wall clock that jumps, for the processes of the service or of Redis alone. It needs Debian's libfaketime.

The library makes time() and similar functions return what a file says. The monotonic clock does not change, as when an
operator or NTP sets the clock of a machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from service.ledger.store import QUARTER_SECONDS
from tests.chaos.kinds import USAGE, Kind, get_json
from tests.chaos.measure import Fault, Inject, Outcome, measure, warm_up
from tests.chaos.topology import Topology, open_topology

LIBRARIES = "faketime/libfaketimeMT.so.1"
FOLDERS = (Path("/usr/lib"), Path("/usr/local/lib"))

CACHED_SECONDS = 1
"""How long a process uses what it has read from the file."""

STAY_SECONDS = 3.0


def find_library() -> Path | None:
    return next((found for folder in FOLDERS for found in folder.glob(f"**/{LIBRARIES}")), None)


class Clock:
    """The clock of some processes, set by a file that they read."""

    def __init__(self, file: Path, *libraries: Path) -> None:
        self.file = file
        self.environment = {
            "LD_PRELOAD": ":".join(map(str, libraries)), "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_CACHE_DURATION": str(CACHED_SECONDS),
        }
        self.jump(0)

    def jump(self, seconds: int) -> None:
        """Set the clock to this distance from the true time."""
        new = self.file.with_suffix(".new")
        new.write_text(f"{seconds:+d}s\n")
        new.replace(self.file)


@contextmanager
def _clocks(library: Path) -> Iterator[tuple[Clock, Clock]]:
    with TemporaryDirectory(prefix="chaos-clock-") as name:
        # jemalloc asks for the time before libfaketime is there: Redis gets the memory of the C library.
        yield Clock(Path(name, "service"), library), Clock(Path(name, "redis"), library, _libc())


def _libc() -> Path:
    rows = Path("/proc/self/maps").read_text().splitlines()
    return next(Path(row.split()[-1]) for row in rows if "/libc.so" in row)


def jumping(clock: Clock, read: Callable[[Topology], float], *offsets: int) -> Inject:
    """Set the clock to each of `offsets` for a while, then back to the true time.

    `read` returns the time of the processes, to a quarter of an hour. Raises RuntimeError if the clock did not jump.
    """

    def inject(topology: Topology, _: Sequence[Kind]) -> None:
        for offset in (*offsets, 0):
            clock.jump(offset)
            time.sleep(STAY_SECONDS)
            off = read(topology) - time.time() - offset
            if abs(off) > QUARTER_SECONDS + 60:
                raise RuntimeError(f"the clock should have jumped by {offset} s, and is {off:.0f} s off")

    return inject


def _of_service(topology: Topology) -> float:
    """The end of the quarter of an hour that the ledger writes to now."""
    return datetime.fromisoformat(get_json(f"{topology.url}{USAGE}", topology.headers)["to"]).timestamp()


def _of_redis(topology: Topology) -> float:
    with topology.store.servers[0].client() as client:
        now: Any = client.time()
        return float(now[0])


def run(kinds: Sequence[Kind], show: Callable[[Outcome], None]) -> list[Outcome] | None:
    """The rows. None when the library is not installed."""
    library = find_library()
    if library is None:
        print("  needs libfaketime (Debian: apt-get install faketime)")
        return None
    with _clocks(library) as (ours, of_redis):
        hour = 3600
        rows = (
            Fault("the services' clocks: +1 h, then -1 h", jumping(ours, _of_service, hour, -hour)),
            Fault("the clock of Redis: +1 h, then -1 h", jumping(of_redis, _of_redis, hour, -hour),
                  "a lease may expire early or late; it is charged all the same"),
        )
        outcomes = []
        with open_topology(environment=ours.environment, of_store=of_redis.environment) as topology:
            warm_up(topology, kinds)
            for fault in rows:
                outcomes.append(measure(topology, kinds, fault))
                show(outcomes[-1])
    return outcomes
