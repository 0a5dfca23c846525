"""The table of figures in the operating guide. They are taken from RESULTS.md; `make bench` writes the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GUIDE = Path(__file__).parent.parent / "docs" / "operating.md"

MARKERS = "<!-- figures: written by make bench -->\n", "<!-- end of figures -->\n"

NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")

UNKNOWN = "not measured yet"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that the guide quotes.

    `part` and `title` are those of `make bench`. `line` is how the printed line begins; the numbers that follow it are
    put into `template`, in order. `label` says what was measured.
    """

    label: str
    part: str
    title: str
    line: str
    template: str


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


def make_table(results: str) -> Iterator[str]:
    """The lines of the table. `results` is the text of RESULTS.md."""
    yield "| what | measured | by | its line in [RESULTS.md](../benchmarks/RESULTS.md) |\n"
    yield "|---|---|---|---|\n"
    for row in FIGURES:
        yield f"| {row.label} | {_find_value(results, row)} | `make bench PARTS={row.part}` | `{row.line}` |\n"


def _find_value(results: str, row: Figure) -> str:
    _, _, section = results.partition(f"\n## {row.title}\n")
    line = re.search(rf"^{re.escape(row.line)}(?!\d)(.*)$", section.partition("\n## ")[0], re.MULTILINE)
    return row.template.format(*NUMBER.findall(line[1])) if line else UNKNOWN


def write_figures(results: str, guide: Path = GUIDE) -> None:
    """Write the table between the markers of the guide. Raises ValueError when a marker is missing."""
    text = guide.read_text("utf-8")
    before, begin, rest = text.partition(MARKERS[0])
    _, end, after = rest.partition(MARKERS[1])
    if not begin or not end:
        raise ValueError(f"{guide} has lost its marks: {MARKERS}")
    guide.write_text(before + begin + "".join(make_table(results)) + end + after, "utf-8")
