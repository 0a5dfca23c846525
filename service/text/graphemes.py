"""Finding where a text may be cut without breaking what readers see as one character (grapheme clusters of UAX #29)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import regex

_PLAIN = (
    r"[\p{GCB=Other}&&[\p{ASCII}\p{Latin}\p{Greek}\p{Cyrillic}\p{Armenian}\p{Hebrew}\p{Arabic}\p{Georgian}\p{Ethiopic}"
    r"\p{Thai}\p{Lao}\p{Han}\p{Hiragana}\p{Katakana}]]"
)
_ANCHOR = regex.compile(
    # between two characters that never join, or between a line end and such a character
    r"(?<=[\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}\n])(?=[\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}\n\r])"
    # before a character that joins with nothing before it but a prefix: no emoji, no consonant of an Indic script
    rf"|(?<=\P{{GCB=Prepend}})(?={_PLAIN})"
    # after a vowel sign, before any such character: conjuncts are joined by other marks
    r"|(?<=\p{GCB=SpacingMark})(?=\p{GCB=Other})"
    # before a Hangul syllable or a leading jamo, after anything but a leading jamo
    r"|(?<=[^\p{GCB=Prepend}\p{GCB=L}])(?=[\p{GCB=L}\p{GCB=LV}\p{GCB=LVT}])",
    regex.VERSION1 | regex.REVERSE,
)
"""Places that are boundaries whatever stands before them. Clusters are searched from the nearest of them, and not from
the start of the text."""

_CLUSTER = regex.compile(r"\X")

_SLICE = 64
"""Characters that are searched for clusters at a time. In a sequence of flags the library looks back over the whole
sequence for each match, which takes quadratic time: minutes for 50,000 flags."""


class Graphemes:
    """The boundaries of `text` from `start` on, which is taken for a boundary. Only those asked for are searched.

    A search for a cut asks for places that lie closer and closer together, so the clusters since the last anchor are
    remembered. A text without anchors (flags, conjuncts) is then searched once, and not once for each place.
    """

    def __init__(self, text: str, start: int = 0) -> None:
        self._text = text
        self._start = start
        self._known = [start]

    def before(self, at: int) -> int:
        """The last boundary that is <= `at`."""
        if at >= len(self._text):
            return len(self._text)
        self._reach(at)
        return self._known[bisect_right(self._known, at) - 1]

    def after(self, at: int) -> int:
        """The first boundary that is >= `at`."""
        if at >= len(self._text):
            return len(self._text)
        self._reach(at)
        return self._known[bisect_left(self._known, at)]

    def _reach(self, at: int) -> None:
        """Make the boundaries on both sides of `at` known."""
        known = self._known
        if known[0] <= at <= known[-1]:
            return
        floor = known[-1] if at > known[-1] else self._start
        anchor = _ANCHOR.search(self._text, floor, at + 1)
        if anchor is not None and anchor.start() > floor:
            known = [anchor.start()]
        elif at < known[0]:
            known = [floor]
        size = _SLICE
        while known[-1] < at:
            start = known[-1]
            slice_ = self._text[start : start + size]
            ends = [start + cluster.end() for cluster in _CLUSTER.finditer(slice_)]
            if start + len(slice_) < len(self._text):
                ends.pop()  # the last cluster may continue behind the slice
            known.extend(ends)
            size = _SLICE if ends else size * 2
        self._known = known
