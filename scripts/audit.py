"""Are the locked versions known to be vulnerable? `make audit OSV=export` asks nobody: you bring the export.

The OSV database gives one for each ecosystem, a zip of JSON files (PyPI's is `PyPI/all.zip` in its public bucket).
Fetch it where there is a network, carry it here, and name the zip or a folder of its files. Prints a line a finding;
exit code 1 where there is one, 2 where the export cannot be read or is older than --days.
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
    """`fixed` are the versions that mend it."""

    pin: Pin
    advisory: str
    summary: str
    fixed: tuple[str, ...]


def advisories(export: Path) -> Iterator[dict[str, Any]]:
    """Every advisory of an export. Raises OSError, ValueError or BadZipFile where it is none."""
    if export.is_dir():
        for file in sorted(export.rglob("*.json")):
            yield json.loads(file.read_bytes())
        return
    with zipfile.ZipFile(export) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".json"):
                yield json.loads(archive.read(name))


def find(pins: Mapping[str, Pin], export: Path) -> tuple[list[Finding], int, datetime | None]:
    """What is known of the pins, how many advisories were read, and when the latest of them was changed."""
    found, number, latest = [], 0, None
    for advisory in advisories(export):
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
                found.append(Finding(pin, advisory["id"], summary, tuple(_fixed(affected))))
    return found, number, latest


def is_affected(version: str, affected: Mapping[str, Any]) -> bool:
    """Whether a version is listed, or lies in a range. A range of events that cannot be compared counts as hit."""
    if version in affected.get("versions", ()):
        return True
    rows = [row for row in affected.get("ranges", ()) if row.get("type") == "ECOSYSTEM"]
    try:
        return any(_in_range(Version(version), row["events"]) for row in rows)
    except InvalidVersion:
        return True


def _in_range(version: Version, events: list[Mapping[str, str]]) -> bool:
    """By OSV's rule: in the order of versions, `introduced` opens, `fixed` and what follows `last_affected` closes."""
    inside = False
    for kind, at in sorted(((kind, at) for event in events for kind, at in event.items()), key=_order):
        bound = Version("0.dev0") if at == "0" else Version(at)
        if kind == "introduced" and version >= bound:
            inside = True
        elif (kind == "fixed" and version >= bound) or (kind == "last_affected" and version > bound):
            inside = False
    return inside


def _order(event: tuple[str, str]) -> tuple[Version, bool]:
    kind, at = event
    return Version("0.dev0") if at == "0" else Version(at), kind != "introduced"


def _fixed(affected: Mapping[str, Any]) -> Iterator[str]:
    for row in affected.get("ranges", ()):
        if row.get("type") == "ECOSYSTEM":
            yield from (event["fixed"] for event in row["events"] if "fixed" in event)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", type=Path, help="zip or folder of OSV advisories")
    parser.add_argument("--lock", type=Path, default=RUN, help="lock to look through (requirements/run.txt)")
    parser.add_argument("--days", type=int, default=30, help="how old the latest advisory of the export may be (30)")
    chosen = parser.parse_args(arguments)
    pins = read_lock(chosen.lock)
    try:
        found, number, latest = find(pins, chosen.export)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        print(f"{chosen.export} is no export that can be read: {type(error).__name__}", file=sys.stderr)
        return 2
    if latest is None or (datetime.now(UTC) - latest).days > chosen.days:
        print(f"{chosen.export} is older than {chosen.days} days, or empty: bring a newer one", file=sys.stderr)
        return 2
    for finding in found:
        mended = f", mended in {', '.join(finding.fixed)}" if finding.fixed else ""
        print(f"{finding.pin.name} {finding.pin.version}: {finding.advisory} {finding.summary}{mended}")
    print(f"{len(pins)} packages, {number} advisories, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
