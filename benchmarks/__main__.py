"""`make bench`: measure how fast this checkout is on this machine, and write RESULTS.md. PARTS chooses some parts."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Mapping
from importlib import import_module

from benchmarks.results import Tee, write_section

PARTS: Mapping[str, str] = {
    "rates": "Requests a second",
    "engines": "Engines",
    "batch": "Batches",
    "start": "Start and memory",
    "sizing": "What an instance needs",
    "corpus": "A corpus of files",
    "probes": "Probes beside large bodies",
    "growth": "Growth",
    "shared": "The shared cache",
    "claude": "Claude 3 and later",
    "litellm": "LiteLLM's proxy",
}
"""The module that measures -> the heading of its results."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    for part in arguments.parts or PARTS:
        print(f"== {part}", flush=True)
        run: Callable[[], None] = import_module(f"benchmarks.{part}").run
        tee, began = Tee(), time.perf_counter()
        with contextlib.redirect_stdout(tee):
            run()
        print(f"   ({time.perf_counter() - began:.0f} s)", flush=True)
        write_section(PARTS[part], tee.text)


if __name__ == "__main__":
    main()
