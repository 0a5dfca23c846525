"""Reads the locks that `make lock` writes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

RUN = ROOT / "requirements" / "run.txt"

_PIN = re.compile(r"(?P<name>[a-z0-9-]+)(?:\[[a-z,-]+\])?==(?P<version>[^\s;]+)(?: ; (?P<marker>[^\\]+?))? \\")
_HASH = re.compile(r"    --hash=sha256:(?P<hash>[0-9a-f]{64})(?: \\)?")
_VIA = re.compile(r"    #(?: via)?(?P<by>(?: +\S+)*)")


@dataclass(frozen=True, slots=True)
class Pin:
    """A locked package.

    `hashes` are the SHA-256 hashes of all its files that may be installed. `needed_by` are the packages that need it;
    `direct` is whether our own list of requirements names it. `marker` says on which platforms it is installed.
    """

    name: str
    version: str
    marker: str | None
    hashes: tuple[str, ...]
    needed_by: tuple[str, ...]
    direct: bool


def read_lock(file: Path = RUN) -> Mapping[str, Pin]:
    """The packages of a lock, by name. Raises ValueError for a line that is not understood, so that none is missed."""
    found: dict[str, Pin] = {}
    rows: list[tuple[re.Match[str], list[str], list[str]]] = []
    for line in file.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if pin := _PIN.fullmatch(line):
            rows.append((pin, [], []))
        elif (digest := _HASH.fullmatch(line)) and rows:
            rows[-1][1].append(digest["hash"])
        elif (via := _VIA.fullmatch(line)) and rows:
            rows[-1][2].extend(via["by"].split())
        else:
            raise ValueError(f"{file.name}: not a line of a lock: {line}")
    for pin, hashes, via_names in rows:
        packages = tuple(sorted(name for name in via_names if re.fullmatch("[a-z0-9-]+", name) and name != "-r"))
        found[pin["name"]] = Pin(
            pin["name"], pin["version"], pin["marker"], tuple(sorted(hashes)), packages, "-r" in via_names
        )
    return found
