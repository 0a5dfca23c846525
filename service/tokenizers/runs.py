"""Finding very long runs of blanks without looking at every character."""

from __future__ import annotations

import re
from collections.abc import Iterator

WHITE_SPACE = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The Unicode property White_Space, which `\\s` means in the patterns (Python's `\\s` also has U+001C to U+001F)."""

LONG_RUN = 100_000
"""Runs at least this long, in characters, are treated apart; tiktoken 0.14.0 panics at 1,000,000."""


def find_long_runs(text: str, members: frozenset[str], shortest: int) -> Iterator[tuple[int, int]]:
    """(start, end) of every maximal run of `members` with at least `shortest` characters, in order.

    A run that long covers a multiple of `shortest`, so only those positions are probed: the cost is their number plus
    the length of the runs they hit.
    """
    rest_of_run = re.compile(f"[{re.escape(''.join(sorted(members)))}]*+")
    done = 0
    for probe in range(0, len(text), shortest):
        if probe < done or text[probe] not in members:
            continue
        start = probe
        while start > done and text[start - 1] in members:
            start -= 1
        end = rest_of_run.match(text, probe).end()  # type: ignore[union-attr]  # it may match nothing, but it matches
        if end - start >= shortest:
            yield start, end
        done = end
