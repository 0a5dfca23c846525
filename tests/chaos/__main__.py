"""`make chaos`: break things under a load whose responses are checked, and write deploy/RELIABILITY.md.

PARTS chooses some parts, OUT another file. The exit code is 1 if a response was wrong or lost, or if numbers do not add
up.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.chaos import clock, faults, prometheus, report, scale
from tests.chaos.kinds import Kind, learn
from tests.chaos.measure import Fault, Outcome, measure, warm_up
from tests.chaos.stores import Shape
from tests.chaos.topology import open_topology

Run = Callable[[Sequence[Kind]], tuple[str, list[str]]]


def on(shape: Shape, rows: Sequence[Fault]) -> Run:
    """Faults that are caused one after the other, on the same processes."""

    def run(kinds: Sequence[Kind]) -> tuple[str, list[str]]:
        outcomes: list[Outcome] = []
        with open_topology(shape) as topology:
            warm_up(topology, kinds)
            for fault in rows:
                outcomes.append(measure(topology, kinds, fault))
                _show(outcomes[-1])
        return _summed_up(outcomes)

    return run


def _summed_up(outcomes: Sequence[Outcome]) -> tuple[str, list[str]]:
    problems = [f"{one.fault.name}: {problem}" for one in outcomes for problem in one.problems]
    return report.table(outcomes), problems


def _show(outcome: Outcome) -> None:
    seen = outcome.seen
    print(
        f"  {outcome.fault.name:44} {len(seen.records):5} sent, {seen.number('wrong')} wrong, "
        f"{seen.number('lost')} lost, worst {seen.worst:5.2f} s, healthy after {outcome.healthy:4.1f} s, "
        f"budget {outcome.spending.settled} settled, {outcome.spending.asked_again} again, "
        f"ledger {-outcome.missing_calls}",
        flush=True,
    )
    for problem in outcome.problems:
        print(f"    PROBLEM: {problem}", flush=True)


def _clock(kinds: Sequence[Kind]) -> tuple[str, list[str]]:
    outcomes = clock.run(kinds, _show)
    return ("Not run: no libfaketime here.", []) if outcomes is None else _summed_up(outcomes)


PARTS: Mapping[str, tuple[str, Run]] = {
    "service": ("The service", on("server", faults.SERVICE)),
    "redis": ("One Redis", on("server", faults.REDIS)),
    "sentinel": ("Sentinel: a master, two replicas, three sentinels", on("sentinel", faults.SENTINEL)),
    "cluster": ("Redis Cluster: three masters, three replicas", on("cluster", faults.CLUSTER)),
    "clients": ("Clients that do harm", on("server", faults.CLIENTS)),
    "clock": ("Clocks that jump", _clock),
    "prometheus": ("Prometheus", prometheus.run),
    "scale": ("Scaling", lambda _: (scale.run(), [])),
}
"""Name of a part -> its heading, and a function that returns the text of its section and what is wrong."""


def left_over() -> list[int]:
    """Processes that were started here and still run. There must be none."""
    tasks = Path("/proc/self/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--output", type=Path, default=report.FILE, metavar="FILE", help="where it is kept")
    options = parser.parse_args()
    wanted = options.parts or list(PARTS)
    unknown = set(wanted) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    problems: list[str] = []
    kinds = learn() if set(wanted) != {"scale"} else ()
    for name in wanted:
        (title, run), began = PARTS[name], time.perf_counter()
        print(f"== {name}", flush=True)
        text, wrong = run(kinds)
        problems += [*wrong, *(f"{name}: a process is left over: {process}" for process in left_over())]
        print(f"   ({time.perf_counter() - began:.0f} s)", flush=True)
        report.write(title, text, [row[0] for row in PARTS.values()], options.output)
    print("all is right" if not problems else "\n".join(["NOT RIGHT:", *problems]))
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
