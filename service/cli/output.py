"""What commands print (messages on stderr, tables and JSON on stdout), and their exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from service.types import Json

OK, UNCOUNTED, USAGE, DAMAGED = 0, 1, 2, 3

EXIT_CODES = f"""exit codes:
  {OK}  all is well
  {UNCOUNTED}  something that was named could not be counted or served (missing, unreadable, not text)
  {USAGE}  wrong usage: an unknown option, model or tokenizer
  {DAMAGED}  tokenizer data is missing or damaged
"""

UNKNOWN = "unknown"
"""Printed in place of a cost whose price is not known."""


def print_message(message: str) -> None:
    """Print one line on stderr."""
    print(f"tallystick: {message}", file=sys.stderr)


def fail(message: str, code: int) -> int:
    """Print why a command fails, and return its exit code."""
    print_message(message)
    return code


def print_json(value: Json) -> None:
    """Print indented JSON on stdout."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def print_columns(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]], right_from: int = 99) -> None:
    """Print a table on a terminal, and elsewhere the same cells separated by tabs."""
    if not sys.stdout.isatty():
        for row in (titles, *rows):
            print("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for i, title in enumerate(titles):
        table.add_column(Text(title), justify="right" if i >= right_from else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
