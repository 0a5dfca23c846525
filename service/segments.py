"""From segments to tokens: what was counted before is looked up, the rest is given to the tokenizer.

Little text is counted at once; that costs no more than looking. Of more, the messages are looked up as a run (the
beginning of a conversation that was counted before), and every other long text by itself.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from service.cache.base import Counts, segment_key
from service.cache.memory import MemoryCache
from service.cache.runs import NOTHING, Run, Unit, add_spans, joined, make_run, size_of, whole_unit
from service.cache.single_flight import SingleFlight
from service.cache.tiered import TieredCache
from service.tokenizers.base import Tokenizer
from service.types import SECTIONS, Section, Segment

CACHE_FROM_CHARS = 2_000
"""Fewer characters are counted again: hashing them and taking the cache's lock costs as much as counting."""

FLIGHT_FROM_CHARS = 1 << 15
"""What is shorter is counted by whoever wants it; waiting for another thread would take as long."""

MOST_ASKED = 64
"""Beginnings, and texts, that Redis is asked for at once: the longest ones."""

Job = tuple[Unit, bytes | None]
"""A text to be counted and, where it is long enough to be kept by itself, its key."""


class SegmentCounter:
    """Counts segments through a cache. `secret` keys the hashes; without Redis it may be random, and is."""

    def __init__(self, cache: TieredCache, secret: bytes) -> None:
        self.cache = cache
        self.secret = secret
        self.flights: SingleFlight[bytes, Counts] = SingleFlight()

    @classmethod
    def in_memory(cls, cache_bytes: int) -> SegmentCounter:
        return cls(TieredCache(MemoryCache(cache_bytes)), secrets.token_bytes(32))

    def texts(self, texts: Iterable[str], tokenizer: Tokenizer) -> list[int]:
        """Tokens of each text by itself."""
        case = _Case(self, tokenizer)
        counts = case.count_texts(texts)
        case.tell()
        return counts

    def by_section(self, segments: Sequence[Segment], tokenizer: Tokenizer) -> dict[Section, int]:
        """Tokens of segments by section, zeros left out."""
        case = _Case(self, tokenizer)
        if sum(map(size_of, segments)) < CACHE_FROM_CHARS:
            sums = case.add(NOTHING, ((whole_unit(segment), None) for segment in segments))
        else:
            fixed = [(unit, case.key_of(unit)) for s in segments if not _grows(s) for unit in (whole_unit(s),)]
            run = make_run([s for s in segments if _grows(s)], tokenizer, self.secret, CACHE_FROM_CHARS)
            sums = case.look_up_and_count(fixed, run)
        case.tell()
        return {section: tokens for section, tokens in zip(SECTIONS, sums, strict=True) if tokens}


def _grows(segment: Segment) -> bool:
    """Whether it belongs to the conversation, which grows at its end."""
    return segment.spans[0][0] == "messages"


@dataclass(slots=True)
class _Case:
    """One call, and what its counting took."""

    counter: SegmentCounter
    tokenizer: Tokenizer
    texts: int = 0
    chars: int = 0
    size: int = 0
    seconds: float = 0.0

    def count_texts(self, texts: Iterable[str]) -> list[int]:
        """Tokens of texts that are no part of a conversation."""
        began, counts, count = time.perf_counter(), [], self.tokenizer.count
        for text in texts:
            if len(text) < CACHE_FROM_CHARS:
                counts.append(count(text))
                self.texts += 1
                self.chars += len(text)
                self.size += _bytes_in(text)
            else:
                counts.append(self._count_long_text(text))
        self.seconds = time.perf_counter() - began
        return counts

    def _count_long_text(self, text: str) -> int:
        unit = whole_unit(Segment((("system", text),)))
        return sum(self.look_up_and_count([(unit, self.key_of(unit))], make_run((), self.tokenizer, b"", 0)))

    def key_of(self, unit: Unit) -> bytes | None:
        if unit.size < CACHE_FROM_CHARS:
            return None
        return segment_key(unit.segment, self.tokenizer.fingerprint, self.counter.secret)

    # ------------------------------------------------------------ looking up

    def look_up_and_count(self, fixed: Sequence[Job], run: Run) -> Counts:
        """Sums by section."""
        cache = self.counter.cache
        known = self._longest_known(run)
        jobs = [*fixed, *(job for stretch in run.stretches(known) for job in _jobs(run, *stretch))]
        missing = [(unit, key) for unit, key in jobs if key is None or not cache.has(key)]
        cache.looked_up(hits=len(jobs) - len(missing) + bool(known), misses=len(missing))
        if cache.remote is not None and missing:
            at_stake = cache.costs.predict(self.tokenizer.name, sum(unit.size for unit, _ in missing))
            if cache.would_ask(at_stake):
                cache.ask([*_longer(run, known), *_longest(missing)])
                known = self._longest_known(run)
            else:
                cache.events.looked_up("redis", "skipped")
        return self.add(self._count_run(run, known), fixed)

    def _longest_known(self, run: Run) -> int:
        """How many units of the run were counted before, as far as memory tells."""
        return next((number for number in reversed(run.keys) if self.counter.cache.has(run.keys[number])), 0)

    # ------------------------------------------------------------ counting

    def _count_run(self, run: Run, known: int) -> Counts:
        """Sums of the run; those of its beginnings are kept."""
        sums = self.counter.cache.get(run.keys[known]) if known else NOTHING
        if sums is None:  # thrown out by others in this very moment
            known, sums = 0, NOTHING
        for first, last in run.stretches(known):
            key, begun = run.keys[last], sums

            def count_stretch(first: int = first, last: int = last, begun: Counts = begun) -> tuple[Counts, float]:
                seconds = self.counter.cache.costs.predict(self.tokenizer.name, run.sizes[last])
                return self.add(begun, _jobs(run, first, last)), seconds

            sums = self._once(key, run.sizes[last] - run.sizes[first], count_stretch)
        return sums

    def add(self, sums: Counts, jobs: Iterable[Job]) -> Counts:
        """The sums with those of `jobs`."""
        added = list(sums)
        for unit, key in jobs:
            if key is None:
                counts, _ = self._count(unit)
            else:
                counts = self._once(key, unit.size, lambda unit=unit: self._count(unit))  # type: ignore[misc]
            add_spans(added, unit.spans, counts)
        return tuple(added)

    def _once(self, key: bytes, size: int, count: Callable[[], tuple[Counts, float]]) -> Counts:
        """What is kept under a key or else what `count` finds (and its seconds), which is then kept. Where another
        thread is at it, wait for that one."""
        cache = self.counter.cache

        def find() -> Counts:
            counts = cache.get(key)
            if counts is None:
                counts, seconds = count()
                cache.put(key, counts, seconds)
            return counts

        if size < FLIGHT_FROM_CHARS or cache.must_not_wait():
            return find()
        return self.counter.flights.run(key, find)

    def _count(self, unit: Unit) -> tuple[Counts, float]:
        """The counts of a text and the seconds they took."""
        began = time.perf_counter()
        counts = count_spans(unit, self.tokenizer)
        seconds = time.perf_counter() - began
        self.texts += 1
        self.size += sum(_bytes_in(text) for _, text in unit.spans)
        self.chars += unit.size
        self.seconds += seconds
        return counts, seconds

    def tell(self) -> None:
        if self.texts:
            self.counter.cache.costs.took(self.tokenizer.name, self.chars, self.seconds)
            self.counter.cache.events.tokenized(self.tokenizer.name, self.texts, self.size, self.seconds)


def _jobs(run: Run, first: int, last: int) -> Iterator[Job]:
    """Units from `first` to before `last`: long segments by themselves, pieces of a text joined."""
    together: list[Unit] = []
    for place in range(first, last):
        if place in run.unit_keys:
            yield from ((unit, None) for unit in joined(together))
            together = []
            yield run.units[place], run.unit_keys[place]
        else:
            together.append(run.units[place])
    yield from ((unit, None) for unit in joined(together))


def _longer(run: Run, known: int) -> list[bytes]:
    """Keys of the longest beginnings beyond what is known."""
    return [key for number, key in run.keys.items() if number > known][-MOST_ASKED:]


def _longest(jobs: Iterable[Job]) -> list[bytes]:
    """Keys of the longest texts."""
    keyed = [(unit.size, key) for unit, key in jobs if key is not None]
    keyed.sort(key=lambda pair: -pair[0])
    return [key for _, key in keyed[:MOST_ASKED]]


def _bytes_in(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def count_spans(text: Segment | Unit, tokenizer: Tokenizer) -> Counts:
    """Tokens of the text up to the end of each span; the whole is always counted as one text."""
    spans, edge = text.spans, text.edge
    if len(spans) == 1:
        return (tokenizer.count(spans[0][1], edge),)
    whole = "".join(span for _, span in spans)
    ends, at = [], 0
    for _, span in spans:
        at += len(span)
        ends.append(at)
    return (*(tokenizer.count(whole[:end], edge) for end in ends[:-1]), tokenizer.count(whole, edge))
