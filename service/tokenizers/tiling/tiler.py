"""The minimum tiling of marked text over a vocabulary: the fewest tokens that spell it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .tables import Vocabulary

_LONG = 2_000
_RUN = re.compile(r"(.)\1{400,}", re.DOTALL)
"""Runs worth shortening: longer than `periodic_from` plus three times the longest piece of any vocabulary."""
_BLANKS = re.compile(r" +|\t+|\n+|\u3000+")


class Tiler:
    """Prices marked units. Time is linear in the text: a step looks back at most the longest piece."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._codes = {symbol: i + 1 for i, symbol in enumerate(vocabulary.symbols)}
        self._newlines = [0]

    def cost(self, marked: str) -> int:
        """Fewest tokens that spell a unit without blanks."""
        dropped = 0
        if len(marked) > _LONG:
            marked, dropped = self._shorten(marked)
        return self.best(marked)[-1] + dropped

    def best(self, marked: str) -> list[int]:
        """best[n] is the fewest tokens that spell the first n characters."""
        best = [0]
        codes = [self._codes.get(char, 0) for char in marked]
        floor = self._vocabulary.floor
        for end, char in enumerate(marked):
            least = best[end] + floor(char)
            for start in self._starts(codes, end):
                if best[start] < least:
                    least = best[start] + 1
            best.append(least)
        return best

    def spans(self, marked: str) -> list[tuple[int, int]]:
        """One tiling with the fewest tokens: [start, end) of each piece, a character without a piece as one span."""
        best = self.best(marked)
        codes = [self._codes.get(char, 0) for char in marked]
        spans, end = [], len(marked)
        while end:
            longest = [start for start in self._starts(codes, end - 1) if best[start] + 1 == best[end]]
            start = min(longest, default=end - 1)
            spans.append((start, end))
            end = start
        return spans[::-1]

    def _starts(self, codes: list[int], last: int) -> Iterator[int]:
        """Starts of the pieces of two or more characters that end with character `last`."""
        base, check = self._vocabulary.base, self._vocabulary.check
        node, at = 0, last
        while at >= 0 and (code := codes[at]):
            child = (base[node] >> 1) + code
            if check[child] != node:
                return
            if base[child] & 1:
                yield at
            node = child
            at -= 1

    def _shorten(self, marked: str) -> tuple[str, int]:
        """Long runs of one character without their repeats, and the tokens of those.

        Pieces that reach over an end of the run cover at most `longest` of it on either side; what is between costs
        one token more for every `longest` characters more, from `periodic_from` on.
        """
        dropped = 0

        def shorten(match: re.Match[str]) -> str:
            nonlocal dropped
            run = self._vocabulary.runs.get(match[1])
            if run is None:
                return match[0]
            longest, periodic_from = run
            repeats = (len(match[0]) - periodic_from - 2 * longest) // longest
            dropped += max(repeats, 0)
            return match[0][max(repeats, 0) * longest :]

        return _RUN.sub(shorten, marked), dropped

    def blanks(self, run: str) -> int:
        """Tokens of a run of blanks: pieces of one to sixteen for spaces and tabs, a ladder for newlines."""
        total = 0
        for match in _BLANKS.finditer(run):
            length = match.end() - match.start()
            if match[0][0] == "\n":
                total += self.newlines(length)
            elif match[0][0] == "\u3000":
                total += length
            else:
                total += -(-length // 16)
        return total

    def newlines(self, count: int) -> int:
        """Tokens of a run of newlines."""
        longest, periodic_from = self._vocabulary.runs["\n"]
        repeats = max((count - periodic_from - longest) // longest, 0)
        rest = count - repeats * longest
        costs = self._newlines
        while len(costs) <= rest:
            n = len(costs)
            costs.append(1 + min(costs[n - length] for length in self._vocabulary.newlines if length <= n))
        return costs[rest] + repeats
