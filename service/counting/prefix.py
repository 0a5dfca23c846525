"""A conversation as a sequence of units. Counts of its prefixes are cached, so its next, longer version finds them.

A unit is a segment or a piece of one. A text is cut into pieces only where the tokenizer proves that this changes no
count. A prefix is the first n units. Each has a key of its own; one rolling hash gives them all.

The counts of these prefixes are kept: the whole; the whole without its last unit, since Claude's running text goes on
in that unit; and one about every 64 Ki characters. The next version looks for its last 32 prefixes and for the latter.

Counting takes about 12 us a KB, so this must be quick: about 3 us a unit, hash included (CPython 3.13, 2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from service.cache.base import Counts, finish_key, segment_key, start_digest
from service.tokenizers.base import EdgeSplittable, Tokenizer
from service.types import SECTIONS, Edge, Section, Segment

CUT_MIN_CHARS = 1 << 12
"""A shorter text is not cut. It is counted in 0.05 ms."""

PIECE_CHARS = 1_024
"""The shortest piece that is cut off a text."""

MAX_REFUSED = 20_000
"""Line ends where a text must not be cut. After so many (10 ms) the rest stays one piece."""

LOOK_BACK = 32
"""How many of the last prefixes are looked for. A shorter version of the conversation may have ended at any of them."""

COARSE_CHARS = 1 << 16
"""Distance between the prefixes that are kept for versions which differ further back."""

Spans = tuple[tuple[Section, str], ...]

Unit = tuple[int, int, int]
"""(index of a segment, first character, end): the part of the segment that is the unit."""


class Job(NamedTuple):
    """A text to be counted. `size` is in characters. It has a `key` when it is long enough to be cached by itself."""

    spans: Spans
    edge: Edge
    size: int
    key: bytes | None


def count_chars(segment: Segment) -> int:
    """The characters of a segment."""
    spans = segment.spans
    return len(spans[0][1]) if len(spans) == 1 else sum(len(text) for _, text in spans)


def make_job(segment: Segment, key: bytes | None = None) -> Job:
    return Job(segment.spans, segment.edge, count_chars(segment), key)


# ---------------------------------------------------------------- pieces


def find_edge(edge: Edge, *, first: bool, last: bool) -> Edge:
    """The edge of a piece of a text with `edge`, so that the pieces add up to the text. The first piece of an open text
    opens it, the last one ends it."""
    if first and (last or edge == "open"):
        return edge
    return "end" if last and edge != "inside" else "inside"


def make_piece(segment: Segment, start: int, end: int) -> Job:
    section, text = segment.spans[0]
    edge = find_edge(segment.edge, first=start == 0, last=end == len(text))
    return Job(((section, text[start:end]),), edge, end - start, None)


def find_cuts(segment: Segment, tokenizer: Tokenizer) -> Sequence[int]:
    """Where the segment is cut. Texts that are equal up to a point have the same cuts before it."""
    if len(segment.spans) > 1 or len(segment.spans[0][1]) < CUT_MIN_CHARS or not isinstance(tokenizer, EdgeSplittable):
        return ()
    text, cuts, refused = segment.spans[0][1], [], 0
    find, at = text.find, text.find("\n", PIECE_CHARS)
    while at >= 0 and refused < MAX_REFUSED:
        if tokenizer.can_cut(text[at - 1], "\n"):
            cuts.append(at)
            at += PIECE_CHARS
        else:
            refused += 1
            at += 1
        at = find("\n", at)
    return cuts


# ---------------------------------------------------------------- conversations


@dataclass(frozen=True, slots=True)
class Conversation:
    """Segments as units, with the hashes of their prefixes. A prefix is named by the number of its units.

    `hashes` has the hash of each prefix that is looked for, in rising order. `kept` lists the prefixes whose counts are
    kept. `sizes[n]` is the characters of the first n units. `long_keys` has the keys of long segments that are also
    cached by themselves, by the index of their unit.
    """

    segments: Sequence[Segment]
    units: Sequence[Unit]
    hashes: dict[int, Any]
    kept: Sequence[int]
    sizes: Sequence[int]
    long_keys: Mapping[int, bytes]

    def key(self, number: int) -> bytes:
        """The key of a prefix. Few keys are needed, and to finish a hash takes longer than to copy it."""
        return finish_key(self.hashes[number])

    def list_uncounted(self, known: int) -> Iterator[tuple[int, int]]:
        """The ranges of units to be counted behind the first `known` ones. Each range ends at a kept prefix."""
        for end in self.kept:
            if end > known:
                yield known, end
                known = end

    def jobs(self, first: int, last: int) -> Iterator[Job]:
        """The texts of the units from `first` to before `last`. Neighbouring pieces are counted as one text."""
        at = first
        while at < last:
            place, start, end = self.units[at]
            key = self.long_keys.get(at)
            at += 1
            while at < last and self.units[at][0] == place:
                end = self.units[at][2]
                at += 1
            segment = self.segments[place]
            if start == 0 and end == count_chars(segment):
                yield Job(segment.spans, segment.edge, end, key)
            else:
                yield make_piece(segment, start, end)


def make_conversation(
    segments: Sequence[Segment], tokenizer: Tokenizer, secret: bytes, long_chars: range
) -> Conversation:
    """The conversation of `segments`. Uncut segments with a length in `long_chars` are cached by themselves, too."""
    units, sizes, coarse = _units(segments, tokenizer)
    last = len(units)
    kept = sorted({*coarse, last - 1, last} - {0, -1})
    looked_for = {*kept, *range(max(1, last - LOOK_BACK), last + 1)} if units else set()
    digest = start_digest(b"prefix", tokenizer.fingerprint, secret)
    update, copy = digest.update, digest.copy
    hashes: dict[int, Any] = {}
    long_keys: dict[int, bytes] = {}
    for place, (which, start, end) in enumerate(units):
        segment = segments[which]
        if len(segment.spans) > 1 or (start == 0 and end in long_chars and end == count_chars(segment)):
            key = segment_key(segment, tokenizer.fingerprint, secret)
            update(f"|{'|'.join(section for section, _ in segment.spans)}|".encode() + key)
            if end in long_chars or (len(segment.spans) > 1 and end >= long_chars.stop):
                long_keys[place] = key
        else:
            section, text = segment.spans[0]
            edge = find_edge(segment.edge, first=start == 0, last=end == len(text))
            data = text[start:end].encode("utf-8", "surrogatepass")
            update(b"%b%d|%b" % (_heads[edge, section], len(data), data))
        if place + 1 in looked_for:
            hashes[place + 1] = copy()
    return Conversation(segments, units, hashes, kept, sizes, long_keys)


_EDGES: tuple[Edge, ...] = ("open", "inside", "end")

_heads = {(edge, section): f"|{edge}|{section}|".encode() for edge in _EDGES for section in SECTIONS}


def _units(segments: Sequence[Segment], tokenizer: Tokenizer) -> tuple[list[Unit], list[int], list[int]]:
    """(units, characters of each prefix, the prefixes at which another 64 Ki characters are full)."""
    units: list[Unit] = []
    sizes, size, coarse, full = [0], 0, [], COARSE_CHARS
    for place, segment in enumerate(segments):
        start = 0
        for end in (*find_cuts(segment, tokenizer), count_chars(segment)):
            units.append((place, start, end))
            size += end - start
            sizes.append(size)
            if size >= full:
                coarse.append(len(units))
                full = size - size % COARSE_CHARS + COARSE_CHARS
            start = end
    return units, sizes, coarse


# ---------------------------------------------------------------- tokens by section, as counts

NO_TOKENS: Counts = (0,) * len(SECTIONS)

PLACES: Mapping[Section, int] = {section: place for place, section in enumerate(SECTIONS)}


def add_spans(sums: list[int], spans: Spans, counts: Counts) -> None:
    """Add counts to sums by section. Each count is for the text up to the end of its span."""
    before = 0
    for (section, _), upto in zip(spans, counts, strict=True):
        sums[PLACES[section]] += upto - before
        before = upto
