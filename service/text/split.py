"""Splitting a text into pieces of at most N tokens, on character boundaries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import regex

from service.errors import InvalidRequest, TooLarge
from service.text.graphemes import Graphemes
from service.text.search import GUESSED_CHARS_PER_TOKEN, Count, find_longest

SplitAt = Literal["character", "word", "sentence", "line", "paragraph"]

MAX_PIECES = 100_000
"""Pieces of one split."""

MAX_REPEATS = 5
"""All pieces together may be this many times as long as the text, which is an overlap of four fifths. It also limits
the work."""

ALWAYS_ALLOWED_CHARACTERS = 1_000_000
"""All pieces together may always have this many characters, however often they repeat a short text."""

_MAX_CHARS_PER_TOKEN = 1024
"""No vocabulary has a longer token. The longest are blanks, 512 characters."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text: the characters from `start` to `end`, which are `tokens` tokens."""

    start: int
    end: int
    tokens: int

_SPLIT_POINTS: dict[SplitAt, regex.Pattern[str] | None] = {
    "character": None,
    "word": regex.compile(r"(?r)(?<=\s)(?=\S)"),
    "sentence": regex.compile(r"(?r)(?<=[.!?…。！？][\p{Pe}\p{Pf}\"']*\s+)(?=\S)|(?<=[。！？])"),
    "line": regex.compile(r"(?r)(?<=\n)"),
    "paragraph": regex.compile(r"(?r)(?<=\n[^\S\n]*\n)(?=\S)"),
}


def split(text: str, limit: int, count: Count, overlap: int = 0, at: SplitAt = "character") -> list[Piece]:
    """`text` in pieces of at most `limit` tokens. Each begins up to `overlap` tokens before the end of the one before.

    A piece ends on a grapheme boundary: at the last `at` in its second half, where there is one. A single grapheme of
    more than `limit` tokens is cut between code points. Raises InvalidRequest where one code point has more than
    `limit` tokens, and TooLarge for more than MAX_PIECES or where the overlap repeats the text more than MAX_REPEATS
    times.
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
        """The longest piece from `start`, empty where one grapheme is too long. The search begins at `length`."""
        rest = len(self.text) - start
        if rest <= max(length, self.limit * GUESSED_CHARS_PER_TOKEN):
            tokens = self.count(self.text[start:])
            if tokens <= self.limit:
                return Piece(start, len(self.text), tokens)

        def end_of(size: int) -> int:
            return self.graphemes.before(start + size)

        size, tokens = find_longest(
            rest + 1, self.limit, lambda size: self.count(self.text[start : end_of(size)]), length
        )
        return self.natural(Piece(start, end_of(size), tokens))

    def natural(self, piece: Piece) -> Piece:
        """`piece` up to the last `at` in its second half. The whole piece where there is none."""
        pattern = _SPLIT_POINTS[self.at]
        if pattern is None or piece.end == len(self.text):
            return piece
        found = pattern.search(self.text, piece.start + (piece.end - piece.start) // 2, piece.end + 1)
        if found is None or not piece.start < found.start() < piece.end:
            return piece
        end = found.start()
        tokens = self.count(self.text[piece.start : end])
        return Piece(piece.start, end, tokens) if tokens <= self.limit and self.graphemes.before(end) == end else piece

    def parts(self, start: int) -> list[Piece]:
        """The grapheme at `start`, cut between code points."""
        end = self.graphemes.after(start + 1)
        found: list[Piece] = []
        while start < end:
            part = self.part(start, end, found[-1].end - found[-1].start if found else 1)
            found.append(part)
            start = part.end
        return found

    def part(self, start: int, end: int, length: int) -> Piece:
        """The longest part from `start` of a grapheme that ends at `end`. The search begins at `length`."""
        rest = self.text[start : min(end, start + self.limit * _MAX_CHARS_PER_TOKEN)]
        size, tokens = find_longest(len(rest) + 1, self.limit, lambda size: self.count(rest[:size]), length)
        if size == 0:
            raise InvalidRequest("One character takes more tokens than max_tokens allows.", field="max_tokens")
        return Piece(start, start + size, tokens)

    def overlap_start(self, piece: Piece) -> int:
        """Where the last `overlap` tokens of a piece begin. Its end where not one character fits."""

        def start_of(size: int) -> int:
            return min(piece.end, self.graphemes.after(piece.end - size))

        length = piece.end - piece.start
        size, _ = find_longest(length, self.overlap, lambda size: self.count(self.text[start_of(size) : piece.end]))
        start = start_of(size)
        return start if start > piece.start else self.graphemes.after(piece.start + 1)
