"""The minimum tiling of marked text over a vocabulary: the fewest tokens that spell it."""

from __future__ import annotations

import re

from service.tokenizers.claude.tables import NO_CODE, Vocabulary

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
        if len(marked) <= _LONG:
            return self.best(marked)[-1]
        marked, dropped = self._shorten(marked)
        return self.best(marked)[-1] + sum(repeats for _, _, repeats in dropped)

    def best(self, marked: str) -> list[int]:
        """best[n] is the fewest tokens that spell the first n characters."""
        cells, root, floor = self._vocabulary.cells, self._vocabulary.root, self._vocabulary.floor
        codes = [self._codes.get(char, NO_CODE) for char in marked]
        best = [0]
        for end, char in enumerate(marked):
            least = best[end] + floor(char)
            base, at = root, end
            while at >= 0:
                cell = cells[base + codes[at]]
                if cell & 0xFFF != codes[at]:
                    break
                if cell & 0x1000 and best[at] < least:
                    least = best[at] + 1
                base = cell >> 13
                at -= 1
            best.append(least)
        return best

    def spans(self, marked: str) -> list[tuple[int, int]]:
        """One tiling with the fewest tokens: [start, end) of each piece, a character without a piece as one span."""
        if len(marked) <= _LONG:
            return self._spans(marked)
        marked, dropped = self._shorten(marked)
        spans: list[tuple[int, int]] = []
        shift = 0
        for start, end in self._spans(marked):
            while dropped and dropped[0][0] <= start:  # the first piece that begins in a shortened run
                _, longest, repeats = dropped.pop(0)
                spans += ((at, at + longest) for at in range(start + shift, start + shift + repeats * longest, longest))
                shift += repeats * longest
            spans.append((start + shift, end + shift))
        return spans

    def _spans(self, marked: str) -> list[tuple[int, int]]:
        best = self.best(marked)
        codes = [self._codes.get(char, NO_CODE) for char in marked]
        spans, end = [], len(marked)
        while end:
            start = self._start(codes, best, end)
            spans.append((start, end))
            end = start
        return spans[::-1]

    def _start(self, codes: list[int], best: list[int], end: int) -> int:
        """Where the longest last piece of a best tiling of the first `end` characters starts."""
        start, base, at = end - 1, self._vocabulary.root, end - 1
        while at >= 0:
            cell = self._vocabulary.cells[base + codes[at]]
            if cell & 0xFFF != codes[at]:
                break
            if cell & 0x1000 and best[at] + 1 == best[end]:
                start = at
            base = cell >> 13
            at -= 1
        return start

    def _shorten(self, marked: str) -> tuple[str, list[tuple[int, int, int]]]:
        """Long runs of one character without their repeats; where each such run begins in the shorter text, and the
        length and number of the pieces that it lost.

        Pieces that reach over an end of the run cover at most `longest` of it on either side; what is between costs
        one token more for every `longest` characters more, from `periodic_from` on.
        """
        dropped: list[tuple[int, int, int]] = []
        gone = 0

        def shorten(match: re.Match[str]) -> str:
            nonlocal gone
            run = self._vocabulary.runs.get(match[1])
            if run is None:
                return match[0]
            longest, periodic_from = run
            repeats = (len(match[0]) - periodic_from - 2 * longest) // longest
            if repeats <= 0:
                return match[0]
            dropped.append((match.start() - gone, longest, repeats))
            gone += repeats * longest
            return match[0][repeats * longest :]

        return _RUN.sub(shorten, marked), dropped

    def blanks(self, unit: str) -> int:
        """Tokens of a unit of blanks: pieces of one to sixteen for spaces and tabs, a ladder for newlines."""
        total = 0
        for run in self.blank_runs(unit):
            if run[0] == "\n":
                total += self.newlines(len(run))
            elif run[0] == "\u3000":
                total += len(run)
            else:
                total += -(-len(run) // 16)
        return total

    @staticmethod
    def blank_runs(unit: str) -> list[str]:
        """The unit cut where the blank changes."""
        return _BLANKS.findall(unit)

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
