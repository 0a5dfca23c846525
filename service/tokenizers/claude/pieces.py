"""One valid minimum tiling of a text, piece by piece, to be shown to people."""

from __future__ import annotations

import itertools

from service.tokenizers.claude.normalize import restore
from service.tokenizers.claude.tables import BOW, CAPS, EOW, SHIFT, Family, Vocabulary, vocabulary
from service.tokenizers.claude.tiler import Tiler
from service.tokenizers.claude.units import FRAME, NO_SPACE, OPTIONAL_SPACE, Marked, Marker, unit_pattern

MARKERS = frozenset((BOW, EOW, SHIFT, CAPS))
BLANKS = frozenset(" \t\n\u3000")

type Stream = list[tuple[str, str]]
"""Characters of the marked stream, each with what it spells: itself, or nothing (a marker), or a space (a ⟨bow⟩)."""


class Splitter:
    """Splits normalized texts of one family."""

    def __init__(self, family: Family) -> None:
        self._vocabulary: Vocabulary = vocabulary(family.vocabulary)
        self._tiler = Tiler(self._vocabulary)
        self._marker = Marker(family)
        self._head = FRAME if family.frame_bow else NO_SPACE
        self._byte_tokens = frozenset(bytes.fromhex(token) for token in self._vocabulary.byte_tokens)

    def split(self, text: str) -> list[bytes]:
        """As many pieces as MemoCounter counts tokens in the text, which does not end in a newline."""
        if not text:
            return [b""] if self._head == FRAME else []
        pieces: list[bytes] = []
        known: dict[tuple[str, int], tuple[list[bytes], int]] = {}
        context = self._head
        for unit in unit_pattern().findall(text):
            found = known.get((unit, context))
            if found is None:
                found = known[unit, context] = self._unit(unit, context)
            pieces += found[0]
            context = found[1]
        return [*pieces, b" "] if context == OPTIONAL_SPACE else pieces

    def _unit(self, unit: str, context: int) -> tuple[list[bytes], int]:
        """The pieces of a unit in its context, and the context it leaves."""
        marked = self._marker.mark(unit)
        if unit[0] not in BLANKS:
            return self._tiles(_stream(unit, marked, context)), marked.right
        pieces = [b" "] * (context == OPTIONAL_SPACE) + [b""] * (context == FRAME and marked.opening == "bare")
        return pieces + self._blanks(unit), marked.right

    def newlines(self, count: int) -> list[int]:
        """Lengths of the pieces of a run of newlines, the longest last."""
        lengths = []
        while count:
            cost = self._tiler.newlines(count)
            fits = (n for n in reversed(self._vocabulary.newlines) if n <= count)
            lengths.append(next(n for n in fits if self._tiler.newlines(count - n) + 1 == cost))
            count -= lengths[-1]
        return sorted(lengths)

    def _blanks(self, unit: str) -> list[bytes]:
        pieces = []
        for run in self._tiler.blank_runs(unit):
            if run[0] == "\n":
                pieces += [b"\n" * length for length in self.newlines(len(run))]
            else:
                step = 1 if run[0] == "\u3000" else 16
                pieces += [run[i : i + step].encode() for i in range(0, len(run), step)]
        return pieces

    def _tiles(self, stream: Stream) -> list[bytes]:
        pieces = []
        for start, end in self._tiler.spans("".join(char for char, _ in stream)):
            spelled = restore("".join(source for _, source in stream[start:end])).encode()
            char = stream[start][0]
            if end - start == 1 and char not in MARKERS and self._vocabulary.floor(char) > 1:
                pieces += self._chunks(restore(char).encode(), spelled)
            else:
                pieces.append(spelled)
        return pieces

    def _chunks(self, char: bytes, spelled: bytes) -> list[bytes]:
        """A character that no piece covers, in the fewest byte tokens (at most four).

        What is tiled may be the lower case of what the text spells: the text's bytes are cut at the same places.
        """
        best: list[list[int]] = [[0]]
        for end in range(1, len(char) + 1):
            starts = [i for i in range(end) if end - i == 1 or char[i:end] in self._byte_tokens]
            start = min(starts, key=lambda i: len(best[i]))
            best.append([*best[start], end])
        edges = [*best[-1][:-1], len(spelled)]
        return [spelled[a:b] for a, b in itertools.pairwise(edges)]


def _stream(unit: str, marked: Marked, context: int) -> Stream:
    """The unit as it is tiled in its context. Its own last space is the next unit's, if it wrote ⟨eow⟩."""
    space = " " if context == OPTIONAL_SPACE else ""
    stream: Stream = []
    if marked.opening == "border" and context != NO_SPACE:
        stream.append((BOW, space))
        space = ""
    elif marked.opening == "bare" and context == FRAME:
        stream.append((BOW, ""))
    elif marked.opening == "quote" and context == FRAME:
        stream.append((" ", ""))
    elif space and marked.opening != "word":
        stream.append((" ", " "))
        space = ""
    source = iter(unit)
    for char in marked.body:
        if char not in MARKERS:
            stream.append((char, next(source)))
            continue
        stream.append((char, space if char == BOW else ""))
        space = "" if char == BOW else space
    return stream
