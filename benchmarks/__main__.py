"""`make bench`: print how fast this checkout is on this machine. ARGS names the parts to run; all by default."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from benchmarks import shared, start

PARTS: Mapping[str, Callable[[], None]] = {"start": start.run, "shared": shared.run}
"""Name -> what runs it and prints."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    chosen = parser.parse_args().parts or list(PARTS)
    unknown = set(chosen) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    for part in chosen:
        print(f"== {part}")
        PARTS[part]()


main()
