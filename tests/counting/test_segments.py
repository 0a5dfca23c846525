"""Looking up instead of counting never changes a number. Of a conversation that grew only the new part is counted."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.cache.memory import MemoryCache
from service.cache.tiered import TieredCache
from service.counting.prefix import (
    COARSE_CHARS,
    NO_TOKENS,
    Conversation,
    Job,
    add_spans,
    find_cuts,
    find_edge,
    make_conversation,
    make_piece,
)
from service.counting.segments import (
    LONG_CHARS,
    MAX_PARTS,
    PART_CHARS,
    PARTS_MIN_CHARS,
    SINGLE_FLIGHT_MIN_CHARS,
    SegmentCounter,
    _CountingCall,
    count_spans,
)
from service.tokenizers import registry
from service.tokenizers.base import Engine
from service.types import SECTIONS, Edge, Section, Segment

LONG = range(LONG_CHARS, PARTS_MIN_CHARS)
TOKENIZERS = ("o200k_base", "gemma3", "claude-v3", "claude-v4.8")

WORDS = (
    "the", "caf\u00e9", "return", "x = 1;", "\uc548\ub155", "don't", "\u2014", "  ", "\t", "1234567", "HTTP",
    "\U0001f600", "\u00a0",
)
ENDS = ("\n\n", ".\n\n", "\n", " \n", "'\n", "\n\nHuman:", "\n\nAssistant: ", "}\n  ", ". ", "\u0301\n")


def written(seed: int, length: int) -> str:
    """A text of about `length` characters in words and lines."""
    rand = random.Random(seed)
    out: list[str] = []
    size = 0
    while size < length:
        word = rand.choice(WORDS) + (rand.choice(ENDS) if rand.random() < 0.15 else " ")
        out.append(word)
        size += len(word)
    return "".join(out)


class Events:
    """Adds up what tokenizers counted."""

    def __init__(self) -> None:
        self.texts = 0
        self.size = 0

    def record_lookup(self, tier: str, outcome: str, number: int = 1) -> None: ...

    def record_redis_write(self, outcome: str, number: int) -> None: ...

    def record_tokenized(self, tokenizer: str, texts: int, size: int, seconds: float) -> None:
        self.texts += texts
        self.size += size

    def since(self) -> int:
        size, self.size = self.size, 0
        return size


def counter(cache_bytes: int = 1 << 24) -> tuple[SegmentCounter, Events]:
    events = Events()
    return SegmentCounter(TieredCache(MemoryCache(cache_bytes), None, events), b"s" * 32), events


def plain(segments: Sequence[Segment], tokenizer: str) -> dict[Section, int]:
    """The slow twin: it counts every segment whole and remembers nothing."""
    sums = list(NO_TOKENS)
    for segment in segments:
        add_spans(sums, segment.spans, count_spans(segment.spans, segment.edge, registry.get_tokenizer(tokenizer)))
    return {section: tokens for section, tokens in zip(SECTIONS, sums, strict=True) if tokens}


# ---------------------------------------------------------------- equal numbers

edges = st.sampled_from(["open", "inside", "end"])
sections = st.sampled_from(["system", "tools", "messages", "messages", "messages", "schema"])
texts = st.builds(written, st.integers(0, 50), st.sampled_from([1, 30, 400, 2_100, 6_000, 40_000]))
segment_lists = st.lists(
    st.builds(Segment, st.lists(st.tuples(sections, texts), min_size=1, max_size=2).map(tuple), edges), max_size=8
)


@settings(max_examples=60, deadline=None)
@given(segment_lists, st.sampled_from(TOKENIZERS), st.integers(1, 7))
def test_looked_up_equals_counted(segments: list[Segment], name: str, keep: int) -> None:
    segments = [segment for segment in segments if segment.spans[0][1]]
    tokenizer = registry.get_tokenizer(name)
    cached, _ = counter()
    assert cached.by_section(segments[:keep], tokenizer) == plain(segments[:keep], name)
    assert cached.by_section(segments, tokenizer) == plain(segments, name)
    assert cached.by_section(segments, tokenizer) == plain(segments, name)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(TOKENIZERS), edges, st.integers(30_000, 60_000))
def test_pieces_of_a_text_sum_to_the_whole(seed: int, name: str, edge: Edge, length: int) -> None:
    tokenizer, segment = registry.get_tokenizer(name), Segment((("messages", written(seed, length)),), edge)
    conversation = make_conversation([segment], tokenizer, b"", LONG)
    whole, number = tokenizer.count(segment.text, edge), len(conversation.units)
    pieces = [one_job(conversation, at, at + 1) for at in range(number)]
    assert "".join(piece.spans[0][1] for piece in pieces) == segment.text
    assert sum(tokenizer.count(piece.spans[0][1], piece.edge) for piece in pieces) == whole
    halves = [one_job(conversation, 0, (number + 1) // 2), *conversation.jobs((number + 1) // 2, number)]
    assert len(halves) <= 2
    assert sum(tokenizer.count(half.spans[0][1], half.edge) for half in halves) == whole


def one_job(conversation: Conversation, first: int, last: int) -> Job:
    (job,) = conversation.jobs(first, last)
    return job


def test_only_a_tokenizer_that_proves_it_has_its_texts_cut() -> None:
    segment = Segment((("messages", written(1, 40_000)),), "inside")
    assert len(find_cuts(segment, registry.get_tokenizer("o200k_base"))) == 0
    assert len(find_cuts(segment, registry.get_tokenizer("claude-v3", "reference"))) == 0
    assert len(find_cuts(segment, registry.get_tokenizer("claude-v3"))) > 10


@pytest.mark.parametrize(("edge", "expected"), [
    ("open", ["open", "inside", "end"]), ("inside", ["inside"] * 3), ("end", ["inside", "inside", "end"]),
])
def test_edges_of_pieces(edge: Edge, expected: list[str]) -> None:
    segment = Segment((("messages", "abcdef"),), edge)
    assert [make_piece(segment, at, at + 2).edge for at in (0, 2, 4)] == expected
    assert make_piece(segment, 0, 6).edge == edge


def test_a_text_full_of_lines_that_cannot_be_cut_takes_linear_time() -> None:
    tokenizer = registry.get_tokenizer("claude-v3")
    began = time.process_time()
    assert len(find_cuts(Segment((("messages", " \n" * 500_000),), "inside"), tokenizer)) == 0
    assert time.process_time() - began < 5


# ---------------------------------------------------------------- what is remembered


def conversation(turns: int, name: str, size: int = 1_000) -> list[Segment]:
    """Segments as the renderers write them. OpenAI has one per message, Claude 3 one text, then tools and system."""
    said = [written(i, size) for i in range(turns)]
    system = Segment((("system", written(999, 3_000)), ("tools", written(998, 9_000))))
    if name == "claude-v3":
        text = "".join(f"\n\n{'Assistant' if i % 2 else 'Human'}: {text}" for i, text in enumerate(said))
        return [Segment((("messages", text + "\n\nAssistant:"),), "inside"), system]
    return [system, *(Segment((("messages", text),)) for text in said)]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_conversation_that_grew_by_a_message_counts_at_most_2_percent(name: str) -> None:
    cached, events = counter()
    tokenizer = registry.get_tokenizer(name)
    before, after = conversation(200, name), conversation(201, name)
    assert cached.by_section(before, tokenizer) == plain(before, name)
    first = events.since()
    assert cached.by_section(after, tokenizer) == plain(after, name)
    second = events.since()
    assert first > 200_000
    assert second <= 0.02 * first
    assert cached.by_section(after, tokenizer) == plain(after, name)
    assert events.since() == 0


@pytest.mark.parametrize("name", TOKENIZERS)
def test_many_short_messages_are_remembered_too(name: str) -> None:
    cached, events = counter()
    tokenizer = registry.get_tokenizer(name)
    cached.by_section(conversation(1_000, name, 50), tokenizer)
    first = events.since()
    cached.by_section(conversation(1_010, name, 50), tokenizer)
    assert events.since() <= 0.03 * first


def test_versions_that_part_far_from_the_end_share_what_is_before() -> None:
    cached, events = counter()
    tokenizer = registry.get_tokenizer("o200k_base")
    left, right = conversation(400, "o200k_base"), conversation(250, "o200k_base")
    right = [*right, *(Segment((("messages", written(5_000 + i, 1_000)),)) for i in range(100))]
    cached.by_section(left, tokenizer)
    events.since()
    assert cached.by_section(right, tokenizer) == plain(right, "o200k_base")
    assert events.since() < 100 * 1_100 + 2 * COARSE_CHARS


def test_a_new_system_prompt_counts_no_message_again() -> None:
    cached, events = counter()
    tokenizer = registry.get_tokenizer("o200k_base")
    old = conversation(100, "o200k_base")
    cached.by_section(old, tokenizer)
    events.since()
    new = [Segment((("system", written(77, 5_000)),)), *old[1:]]
    assert cached.by_section(new, tokenizer) == plain(new, "o200k_base")
    assert events.since() < 7_000


def test_the_key_of_a_prefix_depends_on_tokenizer_edge_section_and_cut() -> None:
    """Everything that changes sums by section changes the key of a prefix."""
    o200k, gemma = (registry.get_tokenizer(name) for name in ("o200k_base", "gemma3"))
    texts_ab: list[list[tuple[Section, str]]] = [
        [("messages", "ab"), ("messages", "c")], [("messages", "a"), ("messages", "bc")], [("messages", "abc")],
        [("media", "ab"), ("messages", "c")], [("messages", "ab"), ("media", "c")],
    ]
    keys = [
        make_conversation([Segment((span,), edge) for span in spans], tokenizer, secret, LONG).key(len(spans))
        for spans in texts_ab for tokenizer in (o200k, gemma) for secret in (b"a" * 32, b"b" * 32)
        for edge in ("open", "inside")
    ]
    keys += [make_conversation([Segment(tuple(spans))], o200k, b"a" * 32, LONG).key(1) for spans in texts_ab[:2]]
    assert len(set(keys)) == len(keys)
    long = written(1, 3_000)
    in_sections = [
        make_conversation([Segment(((section, long),))], o200k, b"a" * 32, LONG).key(1)
        for section in ("messages", "media")
    ]
    assert len(set(in_sections)) == 2


def test_no_memory_at_all_still_counts() -> None:
    cached, _ = counter(cache_bytes=0)
    segments = conversation(100, "claude-v3")
    assert cached.by_section(segments, registry.get_tokenizer("claude-v3")) == plain(segments, "claude-v3")


def test_a_long_text_is_counted_once() -> None:
    cached, events = counter()
    tokenizer = registry.get_tokenizer("o200k_base")
    text = written(3, 50_000)
    assert cached.texts((text, "short", text, ""), tokenizer) == [tokenizer.count(t) for t in (text, "short", text, "")]
    assert events.size == len(text.encode()) + len("short")


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("edge", ["open", "inside", "end"])
@given(seed=st.integers(0, 10_000), size=st.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_the_parts_of_a_text_add_up(name: str, edge: Edge, seed: int, size: int) -> None:
    tokenizer = registry.get_tokenizer(name)
    text = written(seed, 3_000)
    parts = tokenizer.cut(text, size)  # type: ignore[attr-defined]
    assert "".join(parts) == text
    last = len(parts) - 1
    counts = [
        tokenizer.count(part, find_edge(edge, first=place == 0, last=place == last)) for place, part in enumerate(parts)
    ]
    assert sum(counts) == tokenizer.count(text, edge)


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("section", ["messages", "system"])
def test_only_some_parts_of_a_changed_document_are_counted_again(
    name: str, section: Section
) -> None:
    cached, events = counter()
    tokenizer = registry.get_tokenizer(name)
    text = "".join(f"{number} {written(number, 400)}a\n" for number in range(700))

    def count(text: str) -> int:
        return cached.by_section([Segment(((section, text),))], tokenizer)[section]

    assert len(text) > 2 * PARTS_MIN_CHARS
    assert count(text) == tokenizer.count(text)
    assert events.since() > len(text)
    for changed in ("new " + text, text[:100_000] + " another thought\n" + text[100_000:], text + " the end"):
        assert count(changed) == tokenizer.count(changed)
        assert events.since() < 8 * PART_CHARS
    assert cached.texts([text + " more"], tokenizer) == [tokenizer.count(text + " more")]


def test_the_number_of_parts_is_bounded() -> None:
    cached, _ = counter()
    for name in TOKENIZERS:
        tokenizer = registry.get_tokenizer(name)
        text = "what is one more word\n" * (PART_CHARS * MAX_PARTS // 8)
        jobs = _CountingCall(cached, tokenizer).make_jobs(Segment((("system", text),)))
        assert 1 < len(jobs) <= MAX_PARTS
        assert "".join(job.spans[0][1] for job in jobs) == text
        assert len(_CountingCall(cached, tokenizer).make_jobs(Segment((("system", "x" * 10**6),)))) == 1


# ---------------------------------------------------------------- many at once


class SlowTokenizer:
    """Counts characters slowly, and notes how many threads count at once. Raises for the first calls, as often as
    asked."""

    name, fingerprint, added_tokens, verified = "slow", "00000000", 0, True
    engine: Engine = "fast"

    def __init__(self, failures: int = 0) -> None:
        self.calls = 0
        self.failures = failures
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def count(self, text: str, edge: Edge = "open") -> int:
        self.calls += 1
        self.begun.set()
        assert self.go_on.wait(60)
        if self.failures:
            self.failures -= 1
            raise RuntimeError
        return len(text)

    def count_batch(self, texts: Sequence[str], edge: Edge = "open") -> list[int]:
        return [self.count(text, edge) for text in texts]

    def pieces(self, text: str) -> list[bytes]:
        return [char.encode() for char in text]


def at_once(number: int, tokenizer: SlowTokenizer, work: Callable[[], object]) -> list[object]:
    with ThreadPoolExecutor(number) as pool:
        futures = [pool.submit(work) for _ in range(number)]
        assert tokenizer.begun.wait(60)
        time.sleep(0.2)  # the others come to the door in the meantime
        tokenizer.go_on.set()
        return [future.exception() or future.result() for future in futures]


@pytest.mark.parametrize("section", ["messages", "system"])
def test_threads_that_want_the_same_count_it_once(section: Section) -> None:
    cached, _ = counter()
    tokenizer, text = SlowTokenizer(), "x" * (2 * SINGLE_FLIGHT_MIN_CHARS)
    found = at_once(8, tokenizer, lambda: cached.by_section([Segment(((section, text),))], tokenizer))
    assert found == [{section: len(text)}] * 8
    assert tokenizer.calls == 1


def test_where_the_first_fails_the_others_count_themselves() -> None:
    cached, _ = counter()
    tokenizer, text = SlowTokenizer(failures=1), "x" * (2 * SINGLE_FLIGHT_MIN_CHARS)
    found = at_once(4, tokenizer, lambda: cached.by_section([Segment((("system", text),))], tokenizer))
    assert sum(isinstance(one, RuntimeError) for one in found) == 1
    assert sum(one == {"system": len(text)} for one in found) == 3
