"""`make audit OSV=export`: are the locked versions known to be vulnerable? It needs no network, but an export.

The OSV database has an export for each ecosystem, a zip of JSON files (PyPI's is `PyPI/all.zip` in its public bucket).
Fetch it where there is a network, copy it here, and name the zip or a folder of its files. Every finding is printed on
a line. The exit code is 1 if there is a finding, and 2 if the export cannot be read or is older than --days.
"""

from __future__ import annotations

import argparse
import json
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from scripts.requirements_lock import RUN, Pin, read_lock


@dataclass(frozen=True, slots=True)
class Finding:
    """A locked package that an advisory is about. `fixed` are the versions that are not vulnerable."""

    pin: Pin
    advisory: str
    summary: str
    fixed: tuple[str, ...]


def read_advisories(export: Path) -> Iterator[dict[str, Any]]:
    """All advisories of an export. Raises OSError, ValueError or BadZipFile when it is no export."""
    if export.is_dir():
        for file in sorted(export.rglob("*.json")):
            yield json.loads(file.read_bytes())
        return
    with zipfile.ZipFile(export) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".json"):
                yield json.loads(archive.read(name))


def find_affected(pins: Mapping[str, Pin], export: Path) -> tuple[list[Finding], int, datetime | None]:
    """The findings, the number of advisories that were read, and the time when the latest of them was changed."""
    found, number, latest = [], 0, None
    for advisory in read_advisories(export):
        number += 1
        changed = datetime.fromisoformat(advisory["modified"]).astimezone(UTC)
        latest = changed if latest is None else max(latest, changed)
        if "withdrawn" in advisory:
            continue
        for affected in advisory.get("affected", ()):
            package = affected.get("package", {})
            pin = pins.get(canonicalize_name(package.get("name", "")))
            if package.get("ecosystem") == "PyPI" and pin is not None and is_affected(pin.version, affected):
                summary = " ".join(advisory.get("summary", "").split())[:120]
                found.append(Finding(pin, advisory["id"], summary, tuple(_list_fixed(affected))))
    return found, number, latest


def is_affected(version: str, affected: Mapping[str, Any]) -> bool:
    """Whether a version is listed or in a range. A range whose versions cannot be compared counts as affected."""
    if version in affected.get("versions", ()):
        return True
    rows = [row for row in affected.get("ranges", ()) if row.get("type") == "ECOSYSTEM"]
    try:
        return any(_in_range(Version(version), row["events"]) for row in rows)
    except InvalidVersion:
        return True


def _in_range(version: Version, events: list[Mapping[str, str]]) -> bool:
    """OSV's rule. In the order of versions, `introduced` begins a range, which ends with `fixed` or after
    `last_affected`."""
    inside = False
    for kind, at in sorted(((kind, at) for event in events for kind, at in event.items()), key=_sort_key):
        bound = Version("0.dev0") if at == "0" else Version(at)
        if kind == "introduced" and version >= bound:
            inside = True
        elif (kind == "fixed" and version >= bound) or (kind == "last_affected" and version > bound):
            inside = False
    return inside


def _sort_key(event: tuple[str, str]) -> tuple[Version, bool]:
    kind, at = event
    return Version("0.dev0") if at == "0" else Version(at), kind != "introduced"


def _list_fixed(affected: Mapping[str, Any]) -> Iterator[str]:
    for row in affected.get("ranges", ()):
        if row.get("type") == "ECOSYSTEM":
            yield from (event["fixed"] for event in row["events"] if "fixed" in event)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", type=Path, help="zip or folder of OSV advisories")
    parser.add_argument("--lock", type=Path, default=RUN, help="lock to check (default: requirements/run.txt)")
    parser.add_argument("--days", type=int, default=30,
                        help="how many days old the latest advisory of the export may be (default: 30)")
    chosen = parser.parse_args(arguments)
    pins = read_lock(chosen.lock)
    try:
        found, number, latest = find_affected(pins, chosen.export)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        print(f"{chosen.export} is no export that can be read: {type(error).__name__}", file=sys.stderr)
        return 2
    if latest is None or (datetime.now(UTC) - latest).days > chosen.days:
        print(f"{chosen.export} is older than {chosen.days} days, or empty: bring a newer one", file=sys.stderr)
        return 2
    for finding in found:
        fixed = f", fixed in {', '.join(finding.fixed)}" if finding.fixed else ""
        print(f"{finding.pin.name} {finding.pin.version}: {finding.advisory} {finding.summary}{fixed}")
    print(f"{len(pins)} packages, {number} advisories, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
