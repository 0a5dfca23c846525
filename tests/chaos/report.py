"""deploy/RELIABILITY.md: a section for each part, from its latest run, with the machine that it ran on."""

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

Written by `make chaos`; each section is from the latest run of its part. Two instances of two workers run behind nginx
(`deploy/nginx`), with the Redis that the section names. All are real processes on one machine. During each fault, 8
clients send 100 requests a second of two dozen kinds (all APIs, 450 bytes to 1 MB, batches, comparisons, errors). Most
of the requests are new. The clients compare every response, byte for byte, with the one that an idle server without a
cache gave before. Another client reserves and settles a budget all the time.

- **wrong**: the response differs from the known one. **lost**: no response, or a refusal. The clients never retry these
  requests; only the proxy does.
- **worst**: the longest time until a response. **healthy after**: from the end of the fault until every worker runs, is
  ready, and reaches Redis (with a resolution of a second).
- **budget again**: requests about the budget that were refused (503) or not answered, and that the client sent again.
  A reservation is the one request that only the client may repeat.
- **ledger**: counts that were answered, but are not in `GET /v1/usage` afterwards. The ledger is written every second,
  so a process that is killed loses at most what it has counted since. When Redis itself lost what it had acknowledged,
  this column also has the tokens that were settled and are missing in the budget.
- With Sentinel, set `min-replicas-to-write 1` and `min-replicas-max-lag 2` on every server, as here. Without them, a
  master that was away while another was promoted takes writes until the sentinels reach it, up to ten seconds later,
  and all of these are lost. With them it refuses the writes, and the service connects to the new master.
- After each fault these are checked, too: the budget has spent exactly what was settled and holds nothing back, there
  are no more open files than before, and no process is left over.
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
            f"{one.spending.asked_again} of {one.spending.granted + one.spending.settled:,}", _missing(one),
            one.fault.part,
        ))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _missing(one: Outcome) -> str:
    calls = f"-{one.missing_calls}" if one.missing_calls else "0"
    return f"{calls}; {one.missing_spent} of {one.spending.tokens:,} tokens settled" if one.missing_spent else calls


def write(title: str, text: str, order: Sequence[str], file: Path = FILE) -> None:
    """Replace the section of this title. Sections are sorted by `order`; those that are not in it are removed."""
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
    """`nginx 1.22.1`. The name alone when it is not installed."""
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin")
    if path is None:
        return f"no {program}"
    said = subprocess.run([path, option], capture_output=True, text=True, check=False)
    found = re.search(r"(?:v=|/|version )(\d[\d.]*)", said.stdout + said.stderr)
    return f"{program} {found[1] if found else '?'}"
