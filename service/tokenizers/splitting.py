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
"""Runs at least this long, in characters, are treated apart; tiktoken 0.14.0 panics at 1,000,000."""

SLOW_RUN = 1_000
"""Splintr 0.22.0 is quadratic on Gemma's blank runs with newlines or tabs: 125,000 characters take 5 s."""

WORDS = 2_000
"""Characters of a block of words: SentencePiece's merging is three times as fast on blocks as on a megabyte."""

_WORD_START = re.compile(r"(?<=[^\s>]) (?=\S)")
_REST_OF_RUN = re.compile(f"[{''.join(sorted(WHITE_SPACE))}]*+")
_CUT_HERE = re.compile(r"(?:\n{1,31}|\t{1,31}|[^\n\t]++){1,128}")


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


def cut_blank_runs(text: str, shortest: int = SLOW_RUN) -> list[str]:
    """`text` in parts that Gemma's vocabulary tokenizes separately, with no part that splintr is slow on.

    Newlines and tabs occur in the vocabulary only in runs of 1 to 31 of one of them, which match before anything is
    merged. So a text may be cut on both sides of a maximal run of either, and inside one after every 31.
    """
    parts: list[str] = []
    done = 0
    for start, end in find_long_runs(text, shortest):
        for units in _CUT_HERE.finditer(text, start, end):
            if units.end() < end:
                parts.append(text[done:units.end()])
                done = units.end()
    parts.append(text[done:])
    return parts


def cut_before_words(text: str, size: int = WORDS) -> list[str]:
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


_APART = re.compile(r"[\x00-\x7f]*[!-~](?=\n)|.+?[!-~](?=\n)|.+", re.DOTALL)


def cut_ascii_apart(text: str) -> list[str]:
    """`text` in parts that the legacy Claude vocabulary tokenizes separately, most of them ASCII: splintr normalises
    those without looking at a character (140 instead of 45 MB/s of English with a few accents; 2-core machine,
    2026-11).

    It cuts between a visible ASCII character and a newline, where no pre-token spans and nothing composes.
    """
    return [text] if text.isascii() else _APART.findall(text)
