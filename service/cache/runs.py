"""A conversation as a run of units, so that the next, longer version of it finds what was counted of this one.

A unit is a segment or, where the tokenizer proves that a text may be cut, a piece of one. A beginning of a run has a
key of its own (one rolling hash gives them all). The tokens of some beginnings are kept: the whole, the whole but its
last unit (which in Claude's running text goes on in the next version), and one about every 64 Ki characters. The next
version looks for the last 32 beginnings and for the coarse ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

from service.cache.base import Counts, add_text, open_digest, segment_key
from service.tokenizers.base import Tokenizer
from service.types import SECTIONS, Edge, Section, Segment

PIECE_CHARS = 512
"""A text is cut no finer: a piece costs 2 to 3 us of hashing (2026-11, CPython 3.13)."""

MOST_REFUSED = 20_000
"""Ends of lines where a text must not be cut; after so many (10 ms) the rest stays one piece."""

LOOK_BACK = 32
"""Ends of units, from the last one back, at which a shorter version may have ended."""

COARSE_CHARS = 1 << 16
"""Distance of the beginnings that are kept for versions that part from each other earlier than that."""


@runtime_checkable
class Cuttable(Protocol):
    """A tokenizer that knows where a text may be cut with the same sum (see its docstring for the edges)."""

    def can_cut(self, left: str, right: str) -> bool: ...


# ---------------------------------------------------------------- units


@dataclass(frozen=True)
class Unit:
    """A segment, or the piece from `start` to `end` of its one text; `edge` is where that piece stands."""

    segment: Segment
    start: int
    end: int
    edge: Edge

    @property
    def size(self) -> int:
        """Characters."""
        return self.end - self.start

    @property
    def whole(self) -> bool:
        return self.start == 0 and self.end == size_of(self.segment)

    @cached_property
    def spans(self) -> tuple[tuple[Section, str], ...]:
        if self.whole:
            return self.segment.spans
        section, text = self.segment.spans[0]
        return ((section, text[self.start : self.end]),)


def size_of(segment: Segment) -> int:
    """Characters."""
    return sum(len(text) for _, text in segment.spans)


def whole_unit(segment: Segment) -> Unit:
    return Unit(segment, 0, size_of(segment), segment.edge)


def piece_of(segment: Segment, start: int, end: int) -> Unit:
    """A piece with the edge that keeps the sum: of an open text the first piece opens and the last ends it."""
    at_end = end == size_of(segment)
    if start == 0 and (at_end or segment.edge == "open"):
        return Unit(segment, start, end, segment.edge)
    return Unit(segment, start, end, "end" if at_end and segment.edge != "inside" else "inside")


def units_of(segment: Segment, tokenizer: Tokenizer) -> Iterator[Unit]:
    """The segment cut where that is proved; where texts agree up to a point, so do their cuts before it."""
    start, size = 0, size_of(segment)
    if len(segment.spans) == 1 and size > 2 * PIECE_CHARS and isinstance(tokenizer, Cuttable):
        for cut in _cuts(segment.spans[0][1], tokenizer.can_cut):
            yield piece_of(segment, start, cut)
            start = cut
    yield piece_of(segment, start, size)


def _cuts(text: str, can_cut: Callable[[str, str], bool]) -> Iterator[int]:
    refused, at = 0, text.find("\n", PIECE_CHARS)
    while at >= 0 and refused < MOST_REFUSED:
        if can_cut(text[at - 1], "\n"):
            yield at
            at += PIECE_CHARS
        else:
            refused += 1
            at += 1
        at = text.find("\n", at)


def joined(units: Sequence[Unit]) -> Iterator[Unit]:
    """Neighbouring pieces of one text as one: counting one long text is faster than many short ones."""
    at = 0
    while at < len(units):
        first = last = units[at]
        while at + 1 < len(units) and units[at + 1].segment is first.segment and units[at + 1].start == last.end:
            at += 1
            last = units[at]
        yield first if first is last else piece_of(first.segment, first.start, last.end)
        at += 1


# ---------------------------------------------------------------- runs


@dataclass(frozen=True, slots=True)
class Run:
    """`keys` has the key of each beginning that is looked for, by the number of its units, in rising order; what is
    found of those in `kept` is kept. `sizes[n]` are the characters of the first n units. `unit_keys` are the keys of
    long segments by themselves, by the place of their unit."""

    units: tuple[Unit, ...]
    keys: dict[int, bytes]
    kept: tuple[int, ...]
    sizes: tuple[int, ...]
    unit_keys: Mapping[int, bytes]

    def stretches(self, known: int) -> Iterator[tuple[int, int]]:
        """What has to be counted behind the first `known` units: from which unit to which, up to each kept end."""
        for end in self.kept:
            if end > known:
                yield known, end
                known = end


def make_run(segments: Sequence[Segment], tokenizer: Tokenizer, secret: bytes, long_chars: int) -> Run:
    """The run of `segments`; a segment from `long_chars` characters on is long."""
    units = tuple(unit for segment in segments for unit in units_of(segment, tokenizer))
    sizes, coarse = [0], []
    for number, unit in enumerate(units, start=1):
        sizes.append(sizes[-1] + unit.size)
        if sizes[-1] // COARSE_CHARS > sizes[-2] // COARSE_CHARS:
            coarse.append(number)
    last = len(units)
    kept = sorted({*coarse, last - 1, last} - {0, -1})
    looked_for = {*kept, *range(max(1, last - LOOK_BACK), last + 1)} if units else set()
    digest = open_digest(b"run", tokenizer.fingerprint, secret)
    keys: dict[int, bytes] = {}
    unit_keys: dict[int, bytes] = {}
    for place, unit in enumerate(units):
        digest.update(f"|{unit.edge}|{len(unit.spans)}".encode())
        if unit.whole and unit.size >= long_chars:
            unit_keys[place] = segment_key(unit.segment, tokenizer.fingerprint, secret)
            digest.update("|".join(section for section, _ in unit.spans).encode())
            digest.update(unit_keys[place])
        else:
            for section, text in unit.spans:
                add_text(digest, text, section)
        if place + 1 in looked_for:
            keys[place + 1] = digest.copy().digest()
    return Run(units, keys, tuple(kept), tuple(sizes), unit_keys)


# ---------------------------------------------------------------- tokens by section, as counts

NOTHING: Counts = (0,) * len(SECTIONS)

_PLACES = {section: place for place, section in enumerate(SECTIONS)}


def add_spans(sums: list[int], spans: Sequence[tuple[Section, str]], counts: Counts) -> None:
    """Add the counts up to each span to the sums by section."""
    before = 0
    for (section, _), upto in zip(spans, counts, strict=True):
        sums[_PLACES[section]] += upto - before
        before = upto
