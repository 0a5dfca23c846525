"""deploy/RELIABILITY.md: one section a part, each from its latest run, with the machine it ran on."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.results import get_processor_name
from tests.chaos.measure import Outcome

FILE = Path(__file__).resolve().parents[2] / "deploy" / "RELIABILITY.md"

HEAD = """# What happens when something breaks

Written by `make chaos`; each section is from the latest run of its part. Two instances of two workers stand behind
nginx (`deploy/nginx`), on the Redis that the section names, all of them real processes on one machine. While each
fault is brought about, 8 clients send 100 requests a second of two dozen kinds (all wires, 450 bytes to 1 MB,
batches, comparisons, errors), most of them never seen before, and compare every answer, to the byte, with the one that
a quiet server without any cache gave before; another client reserves and settles a budget all the while.

- **wrong**: another answer than the known one. **lost**: no answer, or a refusal: a client of these requests never asks
  twice, so whatever is asked again is asked by the proxy.
- **worst**: the longest that any answer took. **healthy after**: from the end of the fault until every worker is there,
  ready, and reaches Redis (seen within a second).
- **budget again**: requests of the budget that were refused (503) or not answered, and which its client sent again: to
  reserve is the one thing that nobody else may repeat.
- **ledger**: counts answered, but not in `GET /v1/usage` afterwards. It is written every second; what a process that is
  killed has not written is lost with it, and no more than that. Where Redis itself forgot what it had acknowledged,
  also the tokens that were settled and are not in the budget.
- With Sentinel, set `min-replicas-to-write 1` and `min-replicas-max-lag 2` on every server, as here. A master that was
  away while another was promoted goes on taking writes until the sentinels reach it, up to ten seconds later, and all
  of them are lost; so it takes none, and the service turns to the new one.
- After each fault it is checked, too, that the budget has spent exactly what was settled and holds nothing back, that
  open files are back to what they were, and that no process is left over.
"""

HEADINGS = ("fault", "sent", "answered", "wrong", "lost", "worst", "healthy after", "budget again", "ledger",
            "the client's part")


def table(outcomes: Iterable[Outcome]) -> str:
    rows = [HEADINGS, tuple("---" for _ in HEADINGS)]
    for one in outcomes:
        seen = one.seen
        rows.append((
            one.fault.name, f"{len(seen.records):,}", f"{len(seen.records) - seen.number('lost'):,}",
            str(seen.number("wrong")), str(seen.number("lost")), f"{seen.worst:.2f} s", f"{one.healthy:.1f} s",
            f"{one.book.asked_again} of {one.book.granted + one.book.settled:,}", _missing(one), one.fault.part,
        ))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _missing(one: Outcome) -> str:
    calls = f"-{one.missing_calls}" if one.missing_calls else "0"
    return f"{calls}; {one.missing_spent} of {one.book.tokens:,} tokens settled" if one.missing_spent else calls


def write(title: str, text: str, order: Sequence[str], file: Path = FILE) -> None:
    """Put the section in the place of its older self; sections stand in `order`, and those of no title in it go."""
    old = file.read_text("utf-8") if file.exists() else ""
    sections = {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in f"\n{old}".split("\n## ")[1:]}
    sections[title] = f"{_where()}\n\n{text.strip()}"
    kept = [f"## {name}\n\n{sections[name]}" for name in order if name in sections]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n\n".join((HEAD.strip(), *kept)) + "\n", "utf-8")


def _where() -> str:
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC; {get_processor_name()}, {os.cpu_count()} cores, "
        f"Linux {platform.release()}, Python {platform.python_version()}, "
        f"{_version('redis-server', '--version')}, {_version('nginx', '-v')}."
    )


def _version(program: str, option: str) -> str:
    """`nginx 1.22.1`; nothing but the name where it is not there."""
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin")
    if path is None:
        return f"no {program}"
    said = subprocess.run([path, option], capture_output=True, text=True, check=False)
    found = re.search(r"(?:v=|/|version )(\d[\d.]*)", said.stdout + said.stderr)
    return f"{program} {found[1] if found else '?'}"
