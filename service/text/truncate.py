"""Cutting a text to at most N tokens, and into pieces of at most N tokens, on character boundaries.

A cut is searched by counting candidate texts, never by cutting a list of token ids: ids break characters in two, and
text made of them may count differently. Counts of growing texts are not quite monotonic, so every result is one that
was counted itself. The search looks at texts not much longer than the result, so it is linear in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import regex

from service.errors import InvalidRequest, TooLarge
from service.text.graphemes import Graphemes

Count = Callable[[str], int]
CutFrom = Literal["end", "start", "middle"]
SplitAt = Literal["character", "word", "sentence", "line", "paragraph"]

MAX_PIECES = 100_000
"""Most pieces of one split."""

MAX_REPEATS = 5
"""How many times the text all pieces together may be: an overlap of four fifths. It bounds the work, too."""

ALWAYS_ALLOWED_CHARACTERS = 1_000_000
"""Of all pieces together, however often they repeat a short text."""

_FIRST_CHARS_PER_TOKEN = 4
_MOST_CHARS_PER_TOKEN = 1024
"""No vocabulary has a longer token (the longest, runs of blanks, are 512 characters)."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A text cut to size. `kept` are the (start, end) of what is left of the input, in characters."""

    text: str
    tokens: int
    input_tokens: int
    kept: tuple[tuple[int, int], ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text: characters `start` to `end`, `tokens` long."""

    start: int
    end: int
    tokens: int


def truncate(text: str, limit: int, count: Count, cut_from: CutFrom = "end", marker: str = "") -> Cut:
    """`text` with as much as needed taken away at its end, start or middle, so that it counts at most `limit` tokens.

    `marker` stands where text was taken away and is counted in. What is kept of the text ends on grapheme boundaries
    and cannot grow by one more character. Raises InvalidRequest where the marker alone is too long.
    """
    input_tokens = count(text)
    if input_tokens <= limit:
        return Cut(text, input_tokens, input_tokens, ((0, len(text)),), truncated=False)
    if marker and count(marker) > limit:
        raise InvalidRequest("marker alone takes more tokens than max_tokens allows.", field="marker")
    keep = _KEEPING[cut_from]
    graphemes = Graphemes(text)

    def render(length: int) -> str:
        head, tail = keep(graphemes, len(text), length)
        return text[:head] + marker + text[tail:]

    length, tokens = _longest(len(text), limit, lambda size: count(render(size)))
    head, tail = keep(graphemes, len(text), length)
    kept = tuple((start, end) for start, end in ((0, head), (tail, len(text))) if start < end)
    return Cut(render(length), tokens, input_tokens, kept, truncated=True)


def _keep_start(graphemes: Graphemes, whole: int, length: int) -> tuple[int, int]:
    """(end of what is kept at the start, start of what is kept at the end) for about `length` characters in all."""
    return graphemes.before(length), whole


def _keep_end(graphemes: Graphemes, whole: int, length: int) -> tuple[int, int]:
    return 0, graphemes.after(whole - length)


def _keep_both(graphemes: Graphemes, whole: int, length: int) -> tuple[int, int]:
    head = graphemes.before(length - length // 2)
    return head, max(head, graphemes.after(whole - length // 2))


_KEEPING: dict[CutFrom, Callable[[Graphemes, int, int], tuple[int, int]]] = {
    "end": _keep_start, "start": _keep_end, "middle": _keep_both,
}


def _longest(most: int, limit: int, tokens_of: Callable[[int], int], first: int = 0) -> tuple[int, int]:
    """(length, tokens) of a length that fits `limit` where the next longer one does not; `most` is known not to fit.

    `tokens_of(0)` fits. Gallops from `first` (a guess, or 4 characters a token), then narrows by interpolation and,
    every third step, by halving: about ten counts of texts at most twice as long as the result.
    """
    low, low_tokens = 0, 0
    high = min(most, first or limit * _FIRST_CHARS_PER_TOKEN + 16)
    while high < most and (tokens := tokens_of(high)) <= limit:
        low, low_tokens = high, tokens
        high = min(most, high * 2)
    high_tokens = limit + 1 if high == most else tokens_of(high)
    step = 0
    while high - low > 1:
        step += 1
        span, share = high - low, (limit - low_tokens) / max(1, high_tokens - low_tokens)
        middle = low + (span // 2 if step % 3 == 0 else min(span - 1, max(1, int(span * share))))
        tokens = tokens_of(middle)
        if tokens <= limit:
            low, low_tokens = middle, tokens
        else:
            high, high_tokens = middle, tokens
    return low, tokens_of(low)


# ---------------------------------------------------------------- splitting

_NATURAL: dict[SplitAt, regex.Pattern[str] | None] = {
    "character": None,
    "word": regex.compile(r"(?r)(?<=\s)(?=\S)"),
    "sentence": regex.compile(r"(?r)(?<=[.!?…。！？][\p{Pe}\p{Pf}\"']*\s+)(?=\S)|(?<=[。！？])"),
    "line": regex.compile(r"(?r)(?<=\n)"),
    "paragraph": regex.compile(r"(?r)(?<=\n[^\S\n]*\n)(?=\S)"),
}


def split(text: str, limit: int, count: Count, overlap: int = 0, at: SplitAt = "character") -> list[Piece]:
    """`text` in pieces of at most `limit` tokens; each begins up to `overlap` tokens before the end of the last.

    Pieces end on grapheme boundaries, at the last `at` in their second half where there is one. A single grapheme of
    more than `limit` tokens is cut between its code points. Raises InvalidRequest where one code point takes more than
    `limit`, TooLarge for more than MAX_PIECES, or where the overlap repeats the text more than MAX_REPEATS times.
    """
    if len(text) > limit * MAX_PIECES and count(text) > 2 * limit * MAX_PIECES:  # seen at once, not after seconds
        raise _too_many_pieces()
    splitter = _Splitter(text, limit, count, overlap, at, Graphemes(text))
    room = max(ALWAYS_ALLOWED_CHARACTERS, MAX_REPEATS * len(text))
    pieces: list[Piece] = []
    for piece in splitter.pieces():
        pieces.append(piece)
        room -= piece.end - piece.start
        if len(pieces) > MAX_PIECES:
            raise _too_many_pieces()
        if room < 0:
            raise TooLarge(
                f"The pieces repeat the text more than {MAX_REPEATS} times: lower overlap_tokens.",
                field="overlap_tokens",
            )
    return pieces


def _too_many_pieces() -> TooLarge:
    return TooLarge(f"The text makes more than {MAX_PIECES} pieces: raise max_tokens.", field="max_tokens")


@dataclass(frozen=True, slots=True)
class _Splitter:
    text: str
    limit: int
    count: Count
    overlap: int
    at: SplitAt
    graphemes: Graphemes

    def pieces(self) -> Iterator[Piece]:
        start, end, length = 0, 0, 0
        while end < len(self.text):
            piece = self.piece(start, length)
            if piece.end <= end and start < end:  # the overlap leaves no room for one more character
                piece = self.piece(end, length)
            found = [piece] if piece.end > piece.start else self.parts(piece.start)
            yield from found
            piece = found[-1]
            end, length = piece.end, piece.end - piece.start
            start = self.overlap_start(piece) if self.overlap else end

    def piece(self, start: int, length: int) -> Piece:
        """The longest piece from `start`, empty where one grapheme is too long; the search begins at `length`."""
        rest = len(self.text) - start
        if rest <= max(length, self.limit * _FIRST_CHARS_PER_TOKEN):
            tokens = self.count(self.text[start:])
            if tokens <= self.limit:
                return Piece(start, len(self.text), tokens)

        def end_of(size: int) -> int:
            return self.graphemes.before(start + size)

        size, tokens = _longest(rest + 1, self.limit, lambda size: self.count(self.text[start : end_of(size)]), length)
        return self.natural(Piece(start, end_of(size), tokens))

    def natural(self, piece: Piece) -> Piece:
        """`piece` up to its last `at`, or whole where it has none in its second half."""
        pattern = _NATURAL[self.at]
        if pattern is None or piece.end == len(self.text):
            return piece
        found = pattern.search(self.text, piece.start + (piece.end - piece.start) // 2, piece.end + 1)
        if found is None or not piece.start < found.start() < piece.end:
            return piece
        end = found.start()
        tokens = self.count(self.text[piece.start : end])
        return Piece(piece.start, end, tokens) if tokens <= self.limit and self.graphemes.before(end) == end else piece

    def parts(self, start: int) -> list[Piece]:
        """The grapheme at `start` cut between code points."""
        end = self.graphemes.after(start + 1)
        found: list[Piece] = []
        while start < end:
            part = self.part(start, end, found[-1].end - found[-1].start if found else 1)
            found.append(part)
            start = part.end
        return found

    def part(self, start: int, end: int, length: int) -> Piece:
        """The longest part from `start` of a grapheme that ends at `end`; the search begins at `length`."""
        rest = self.text[start : min(end, start + self.limit * _MOST_CHARS_PER_TOKEN)]
        size, tokens = _longest(len(rest) + 1, self.limit, lambda size: self.count(rest[:size]), length)
        if size == 0:
            raise InvalidRequest("One character takes more tokens than max_tokens allows.", field="max_tokens")
        return Piece(start, start + size, tokens)

    def overlap_start(self, piece: Piece) -> int:
        """Where the last `overlap` tokens of a piece begin; its end where not one character fits."""

        def start_of(size: int) -> int:
            return min(piece.end, self.graphemes.after(piece.end - size))

        length = piece.end - piece.start
        size, _ = _longest(length, self.overlap, lambda size: self.count(self.text[start_of(size) : piece.end]))
        start = start_of(size)
        return start if start > piece.start else self.graphemes.after(piece.start + 1)
