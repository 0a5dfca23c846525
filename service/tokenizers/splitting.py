"""Where a long text may be cut without changing its tokens, and very long runs of white space."""

from __future__ import annotations

import re
from collections.abc import Iterator

WHITE_SPACE = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The Unicode property White_Space, which `\\s` means in the patterns (Python's `\\s` also has U+001C to U+001F)."""

LONG_RUN = 100_000
"""Characters from which on a run of white space is encoded by itself; tiktoken 0.14.0 panics at 1,000,000."""

BLOCK_CHARS = 2_000
"""Of a block of words: SentencePiece's merging is three times as fast on blocks as on a megabyte."""

_WORD_START = re.compile(r"(?<=[^\s>]) (?=\S)")
_REST_OF_RUN = re.compile(f"[{''.join(sorted(WHITE_SPACE))}]*+")


def find_long_runs(text: str, shortest: int) -> Iterator[tuple[int, int]]:
    """(start, end) of every maximal run of white space of at least `shortest` characters, in order.

    A run that long covers a multiple of `shortest`, so only those positions are probed: the cost is their number plus
    the length of the runs they hit.
    """
    done = 0
    for probe in range(0, len(text), shortest):
        if probe < done or text[probe] not in WHITE_SPACE:
            continue
        start = probe
        while start > done and text[start - 1] in WHITE_SPACE:
            start -= 1
        rest = _REST_OF_RUN.match(text, probe)
        done = rest.end() if rest else probe
        if done - start >= shortest:
            yield start, done


def cut_before_words(text: str, size: int = BLOCK_CHARS) -> list[str]:
    """`text` in blocks of about `size` characters, each but the first beginning with the one blank before a word.

    No pattern and no vocabulary of an open model joins such a blank to a visible character on its left, except that
    Gemma's has one piece `> </`: no cut is made after `>`.
    """
    blocks: list[str] = []
    done = 0
    while len(text) - done > size and (found := _WORD_START.search(text, done + size)):
        blocks.append(text[done:found.start()])
        done = found.start()
    blocks.append(text[done:])
    return blocks
