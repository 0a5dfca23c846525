"""The figures of RESULTS.md that the operating guide quotes, in a table that `make bench` keeps up to date."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GUIDE = Path(__file__).parent.parent / "docs" / "operating.md"

MARKS = "<!-- figures: written by make bench -->\n", "<!-- end of figures -->\n"

NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")

UNKNOWN = "not measured yet"


@dataclass(frozen=True, slots=True)
class Figure:
    """`part` and its title are of `make bench`; `line` begins the line that it prints; `shown` takes the numbers that
    follow there, in order."""

    what: str
    part: str
    title: str
    line: str
    shown: str


RATES, SIZING, GROWTH = "Requests a second", "What an instance needs", "Growth"

FIGURES = (
    Figure("memory of a worker that has counted for all providers", "sizing", SIZING, "memory, workers: 1", "{0} MiB"),
    Figure("memory of each further worker", "sizing", SIZING, "each more worker", "{0} MiB"),
    Figure("memory before and while a body of 16 MB is counted", "growth", GROWTH,
           "memory for one body of 16 MB, claude-sonnet-4-5", "{0} MiB, at most {1} MiB"),
    Figure("from the command to a ready service", "start", "Start and memory", "start to ready", "{0} s"),
    Figure("processor time of a text of 450 bytes", "rates", RATES, "450 B text, native", "{5} us"),
    Figure("processor time of a conversation of 20 KB", "rates", RATES, "new: 20 KB chat, native", "{1} us"),
    Figure("the same, of which all but the last message came before", "rates", RATES, "20 KB chat, native", "{5} us"),
    Figure("processor time of a text of 1 MB", "rates", RATES, "new: 1 MB text, native", "{1} us"),
    Figure("the same, of which all but a few bytes came before", "rates", RATES, "1 MB text, native", "{5} us"),
    Figure("Redis, for a cached text, however long", "sizing", SIZING, "Redis, a cached text", "{0} B"),
    Figure("Redis, for a row of the ledger", "sizing", SIZING, "Redis, a ledger row", "{0} B"),
)


def table(results: str) -> Iterator[str]:
    """The table's lines, from the text of RESULTS.md."""
    yield "| what | measured | by | its line in [RESULTS.md](../benchmarks/RESULTS.md) |\n"
    yield "|---|---|---|---|\n"
    for row in FIGURES:
        yield f"| {row.what} | {_value(results, row)} | `make bench PARTS={row.part}` | `{row.line}` |\n"


def _value(results: str, row: Figure) -> str:
    _, _, section = results.partition(f"\n## {row.title}\n")
    line = re.search(rf"^{re.escape(row.line)}(?!\d)(.*)$", section.partition("\n## ")[0], re.MULTILINE)
    return row.shown.format(*NUMBER.findall(line[1])) if line else UNKNOWN


def quote(results: str, guide: Path = GUIDE) -> None:
    """Put the table between the guide's marks."""
    text = guide.read_text("utf-8")
    before, begin, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not begin or not end:
        raise ValueError(f"{guide} has lost its marks: {MARKS}")
    guide.write_text(before + begin + "".join(table(results)) + end + after, "utf-8")
