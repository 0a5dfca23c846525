"""From segments to tokens. What was counted before is looked up, the rest is given to the tokenizer.

A short request is counted at once, since looking it up would cost as much. In a longer one the messages are looked up
by their prefixes, as an earlier version of the same conversation. Every other long text is looked up by itself.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from service.cache.base import Counts, segment_key
from service.cache.memory import MemoryCache
from service.cache.tiered import TieredCache
from service.concurrency.single_flight import SingleFlight
from service.counting.prefix import (
    NO_TOKENS,
    PLACES,
    Conversation,
    Job,
    Spans,
    add_spans,
    count_chars,
    find_edge,
    make_conversation,
    make_job,
)
from service.tokenizers.base import Splittable, Tokenizer
from service.types import SECTIONS, Edge, Section, Segment

CACHE_MIN_CHARS = 6_000
"""Characters of a request that is looked up. Counting a shorter one takes less than 0.1 ms, as would looking."""

PARTS_MIN_CHARS, PART_CHARS, MAX_PARTS = 1 << 16, 1 << 15, 64
"""A text of at least PARTS_MIN_CHARS is looked up in parts, if its tokenizer says where it may be cut. So when a
document changes somewhere, only some parts are counted again. Redis can be asked for all parts at once (MAX_ASKED).
"""

LONG_CHARS = 1_000
"""Characters of a text that is looked up by itself, in a request that is looked up."""

SINGLE_FLIGHT_MIN_CHARS = 1 << 15
"""Characters of a text that only one thread counts while others wait. For a shorter one, waiting would take as long."""

MAX_ASKED = 64
"""How many prefixes, and how many texts, Redis is asked for at once: the longest ones."""


class SegmentCounter:
    """Counts segments through a cache. `secret` keys the hashes under which counts are cached."""

    def __init__(self, cache: TieredCache, secret: bytes) -> None:
        self.cache = cache
        self.secret = secret
        self.flights: SingleFlight[bytes, Counts] = SingleFlight()

    @classmethod
    def in_memory(cls, cache_bytes: int) -> SegmentCounter:
        """A counter whose cache is in this process, with a random secret."""
        return cls(TieredCache(MemoryCache(cache_bytes)), secrets.token_bytes(32))

    def texts(self, texts: Sequence[str], tokenizer: Tokenizer) -> list[int]:
        """The tokens of each text by itself."""
        if len(texts) == 1 and len(texts[0]) < CACHE_MIN_CHARS:
            return [sum(self._count_few((Segment((("messages", texts[0]),)),), tokenizer))]
        call = _CountingCall(self, tokenizer)
        counts = call.count_texts(texts)
        call.report()
        return counts

    def _count_few(self, segments: Sequence[Segment], tokenizer: Tokenizer) -> list[int]:
        """The tokens of short texts by section. A `_CountingCall` counts short texts in the same way."""
        began, sums, texts, chars, size = time.perf_counter(), [0] * len(SECTIONS), 0, 0, 0
        for segment in segments:
            add_spans(sums, segment.spans, count_spans(segment.spans, segment.edge, tokenizer))
            texts += 1
            for _, text in segment.spans:
                chars += len(text)
                size += _count_bytes(text)
        if texts:
            seconds = time.perf_counter() - began
            self.cache.costs.record(tokenizer.name, chars, seconds)
            self.cache.events.record_tokenized(tokenizer.name, texts, size, seconds)
        return sums

    def by_section(self, segments: Sequence[Segment], tokenizer: Tokenizer) -> dict[Section, int]:
        """The tokens of segments by section, without the zeros."""
        sums: Sequence[int]
        if sum([count_chars(segment) for segment in segments]) < CACHE_MIN_CHARS:
            sums = self._count_few(segments, tokenizer)
        else:
            call = _CountingCall(self, tokenizer)
            fixed = [job for segment in segments if not _is_message(segment) for job in call.make_jobs(segment)]
            messages = [segment for segment in segments if _is_message(segment)]
            conversation = make_conversation(messages, tokenizer, self.secret, call.long_chars)
            sums = call.look_up_and_count(fixed, conversation)
            call.report()
        return {section: tokens for section, tokens in zip(SECTIONS, sums, strict=True) if tokens}


def _is_message(segment: Segment) -> bool:
    """Whether the segment belongs to the messages, which grow at their end."""
    return segment.spans[0][0] == "messages"


@dataclass(slots=True)
class _CountingCall:
    """One call of SegmentCounter, with the texts, characters, bytes, seconds, hits and misses of its counting."""

    counter: SegmentCounter
    tokenizer: Tokenizer
    texts: int = 0
    chars: int = 0
    size: int = 0
    seconds: float = 0.0
    hits: int = 0
    misses: int = 0

    def count_texts(self, texts: Iterable[str]) -> list[int]:
        """The tokens of texts that are not part of a conversation."""
        began, counts, count = time.perf_counter(), [], self.tokenizer.count
        for text in texts:
            if len(text) < CACHE_MIN_CHARS:
                counts.append(count(text))
                self.texts += 1
                self.chars += len(text)
                self.size += _count_bytes(text)
            else:
                counts.append(self._count_long_text(text))
        self.seconds = time.perf_counter() - began
        return counts

    def _count_long_text(self, text: str) -> int:
        jobs = self.make_jobs(Segment((("system", text),)))
        return sum(self.look_up_and_count(jobs, make_conversation((), self.tokenizer, b"", range(0))))

    @property
    def long_chars(self) -> range:
        """Lengths of texts that are looked up whole. Longer ones are looked up in parts, if they can be cut."""
        return range(LONG_CHARS, PARTS_MIN_CHARS if isinstance(self.tokenizer, Splittable) else sys.maxsize)

    def make_jobs(self, segment: Segment) -> list[Job]:
        """A text as one job, or as several when it is looked up in parts."""
        tokenizer = self.tokenizer
        if len(segment.spans) > 1 or count_chars(segment) < PARTS_MIN_CHARS or not isinstance(tokenizer, Splittable):
            return [make_job(segment, self.make_key(segment))]
        (section, text), size = segment.spans[0], PART_CHARS
        while size * MAX_PARTS < len(text):
            size *= 2  # in steps, so that a slightly longer text is cut in the same places
        parts, jobs = tokenizer.cut(text, size), []
        for number, part in enumerate(parts):
            edge = find_edge(segment.edge, first=number == 0, last=number == len(parts) - 1)
            piece = Segment(((section, part),), edge)
            jobs.append(make_job(piece, self.make_key(piece)))
        return jobs

    def make_key(self, segment: Segment) -> bytes | None:
        if count_chars(segment) < LONG_CHARS:
            return None
        return segment_key(segment, self.tokenizer.fingerprint, self.counter.secret)

    # ------------------------------------------------------------ looking up

    def look_up_and_count(self, fixed: Sequence[Job], conversation: Conversation) -> Counts:
        """The tokens of `fixed` and `conversation` by section, in the order of SECTIONS."""
        cache = self.counter.cache
        known = self._find_longest_known(conversation)
        if cache.remote is not None and self._ask_redis(fixed, conversation, known):
            known = self._find_longest_known(conversation)
        return self.add(self._count_conversation(conversation, known), fixed)

    def _ask_redis(self, fixed: Sequence[Job], conversation: Conversation, known: int) -> bool:
        """Ask Redis for what memory does not have, if that is faster than counting. Returns whether it was asked."""
        cache = self.counter.cache
        jobs = [*fixed, *(job for stretch in conversation.list_uncounted(known) for job in conversation.jobs(*stretch))]
        missing = [job for job in jobs if job.key is None or not cache.has(job.key)]
        if not missing:
            return False
        if not cache.would_ask(cache.costs.predict(self.tokenizer.name, sum(job.size for job in missing))):
            cache.events.record_lookup("redis", "skipped")
            return False
        prefixes = [conversation.key(number) for number in conversation.hashes if number > known]
        texts = sorted((job for job in missing if job.key is not None), key=lambda job: -job.size)
        cache.ask([*prefixes[-MAX_ASKED:], *(job.key for job in texts[:MAX_ASKED] if job.key is not None)])
        return True

    def _find_longest_known(self, conversation: Conversation) -> int:
        """The number of units in the longest prefix whose count is in memory."""
        has = self.counter.cache.has
        return next((number for number in reversed(conversation.hashes) if has(conversation.key(number))), 0)

    # ------------------------------------------------------------ counting

    def _count_conversation(self, conversation: Conversation, known: int) -> Counts:
        """The tokens of the conversation by section. Those of its kept prefixes are cached."""
        cache = self.counter.cache
        sums = cache.get(conversation.key(known)) if known else NO_TOKENS
        if sums is None:  # evicted in this very moment
            known, sums = 0, NO_TOKENS
        self.hits += bool(known)
        for first, last in conversation.list_uncounted(known):
            count = partial(self._count_units, conversation, first, last, sums)
            size = conversation.sizes[last] - conversation.sizes[first]
            sums = self._find_or_count(conversation.key(last), size, count)
        return sums

    def _count_units(self, conversation: Conversation, first: int, last: int, sums: Counts) -> tuple[Counts, float]:
        """(`sums` with the units from `first` to before `last` added, seconds that the whole prefix takes to count)."""
        seconds = self.counter.cache.costs.predict(self.tokenizer.name, conversation.sizes[last])
        return self.add(sums, conversation.jobs(first, last)), seconds

    def add(self, sums: Counts, jobs: Iterable[Job]) -> Counts:
        """`sums` with the tokens of `jobs` added."""
        added, began, tokenizer = list(sums), time.perf_counter(), self.tokenizer
        for spans, edge, size, key in jobs:
            if key is not None:
                looked = time.perf_counter()
                add_spans(added, spans, self._find_or_count(key, size, partial(self._count, spans, edge)))
                began += time.perf_counter() - looked  # _find_or_count notes its own time
            elif len(spans) == 1:
                section, text = spans[0]
                if size >= PARTS_MIN_CHARS and len(parts := self.make_jobs(Segment(spans, edge))) > 1:
                    looked = time.perf_counter()
                    added = list(self.add(tuple(added), parts))
                    began += time.perf_counter() - looked  # so does this call
                else:
                    added[PLACES[section]] += tokenizer.count(text, edge)
                    self._note(spans)
            else:
                add_spans(added, spans, count_spans(spans, edge, tokenizer))
                self._note(spans)
        self.seconds += time.perf_counter() - began
        return tuple(added)

    def _find_or_count(self, key: bytes, size: int, count: Callable[[], tuple[Counts, float]]) -> Counts:
        """The counts cached under `key`. If there are none, `count` gives them with the seconds they took, and they are
        cached. If another thread is counting the same text, wait for its result."""
        cache = self.counter.cache

        def find() -> Counts:
            counts = cache.get(key)
            if counts is not None:
                self.hits += 1
                return counts
            self.misses += 1
            counts, seconds = count()
            cache.put(key, counts, seconds)
            return counts

        if size < SINGLE_FLIGHT_MIN_CHARS or cache.must_not_wait():
            return find()
        return self.counter.flights.run(key, find)

    def _count(self, spans: Spans, edge: Edge) -> tuple[Counts, float]:
        """The counts of a text, and the seconds that counting took."""
        began = time.perf_counter()
        counts = count_spans(spans, edge, self.tokenizer)
        seconds = time.perf_counter() - began
        self.seconds += seconds
        self._note(spans)
        return counts, seconds

    def _note(self, spans: Spans) -> None:
        self.texts += 1
        for _, text in spans:
            self.chars += len(text)
            self.size += _count_bytes(text)

    def report(self) -> None:
        """Report what the call took, to metrics and to the cost model that predicts what such texts will take."""
        cache, name = self.counter.cache, self.tokenizer.name
        cache.record_lookup(self.hits, self.misses)
        if self.texts:
            cache.costs.record(name, self.chars, self.seconds)
            cache.events.record_tokenized(name, self.texts, self.size, self.seconds)


def _count_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def count_spans(spans: Spans, edge: Edge, tokenizer: Tokenizer) -> Counts:
    """The tokens of the text up to the end of each span. The whole is always counted as one text."""
    if len(spans) == 1:
        return (tokenizer.count(spans[0][1], edge),)
    whole = "".join(span for _, span in spans)
    ends, at = [], 0
    for _, span in spans:
        at += len(span)
        ends.append(at)
    return (*(tokenizer.count(whole[:end], edge) for end in ends[:-1]), tokenizer.count(whole, edge))
