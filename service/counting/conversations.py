"""Conversations that were counted before, but for their newest messages: found again in the bytes of a body.

A client sends a conversation again with each turn: the same bytes, but for some messages at the end of one list. Of a
body that was counted this keeps the place where its last message of the user begins, how many bytes stand behind the
list, a keyed hash of the bytes up to the one and of the others, and what all of that came to in tokens. No text is
kept. Of a body that has the same bytes in both places, what stands between them is messages and nothing else, since
JSON is read from left to right: only those are decoded, rendered and counted.

Where tokens add up is said by `service.counting.split_points`. A request with anything else, or of another dialect,
goes the long way; tests/counting/test_conversations.py proves the two to be equal.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple

import pydantic_core

from service import catalog
from service.counting.features import features
from service.counting.split_points import LOOK_BACK, find_split_point, is_self_contained, starts_with_user_text
from service.dialects.detect import infer_dialect, signs_of_messages
from service.dialects.json import MAX_DEPTH, check_depth
from service.dialects.readers import READERS
from service.types import (
    CountedPrefix,
    CountRequest,
    Doubt,
    Json,
    Prompt,
    TokenCount,
)

MIN_CONVERSATION_BYTES, MAX_CONVERSATION_BYTES = 1 << 12, 1 << 20
"""Of a body. A smaller one is counted in no more time than looking takes; a larger one is not hashed on the loop."""

MAX_HASHED_BYTES = 1 << 20
"""Of the seams that are tried in a body: 0.6 us a KB."""

GROWTH = 1.1
"""Of a conversation, between two times that it is counted the long way where others are to find it."""

MIN_MESSAGES_WITH_SPLIT = 3
"""Newest messages in which there may be another seam: of the user, of the model, of the user."""

MAX_ENTRIES, ENTRY_BYTES = 8_192, 1_024
"""Beginnings, and what one takes of memory at most."""

MAX_NOTES_CHARS = 500
"""Characters of what is said of a request beside its messages; one of which more is said is not kept."""

MESSAGE_LISTS: Mapping[str, str] = {
    "anthropic.messages": "messages", "openai.chat": "messages", "openai.responses": "input",
    "google.generateContent": "contents",
}
"""Dialect -> the list that grows."""

MESSAGE_STARTS: Mapping[str, bytes] = {name: b'{"%b"' % name.encode() for name in ("role", "parts", "content", "type")}
"""First field of a message -> how it begins, as clients write it. Others are not found, and counted as ever."""

PLACEHOLDER = "seam"
"""Stands for the newest messages in a list where it is looked whether they are in it."""

_decode_from = json.JSONDecoder().raw_decode
_BLANKS = re.compile(r"[ \t\n\r]*")

Count = Callable[[CountRequest], TokenCount]


class NewMessages(NamedTuple):
    """The newest messages of a body: where their bytes are, decoded, and as a request that has them alone and what
    came `before` them. `whole` and `levels` as of what is kept."""

    start: int
    end: int
    messages: list[Json]
    request: CountRequest
    whole: int
    levels: int

    def has_same_notes(self, counted: TokenCount) -> bool:
        """Whether nothing was said of the newest messages: it would say where they are in what was read of them."""
        before = self.request.prefix
        return before is not None and (before.uncounted, before.warnings) == (counted.uncounted, counted.warnings)


class _Entry(NamedTuple):
    """What a body was asked for, without its messages; what it says is of this edition of the catalog. `whole` are the
    bytes that the conversation had when all of it was counted, `levels` those of nesting around its list."""

    revision: object
    request: CountRequest
    dialect: str
    platform: str | None
    whole: int
    levels: int


class ConversationCache:
    """One an app. Thread-safe."""

    def __init__(self, count: Count, max_bytes: int = MAX_ENTRIES * ENTRY_BYTES, *, shared: bool = False) -> None:
        """`count` counts a request; what is kept takes about `max_bytes` at most, of which 0 keeps nothing.

        Where counts are `shared` with other processes, a conversation that has grown by a tenth is counted the long
        way, so that they find it when its next message comes to them.
        """
        self._count = count
        self._max_entries = min(MAX_ENTRIES, max_bytes // ENTRY_BYTES)
        self._shared = shared
        self._seed = hashlib.sha256(secrets.token_bytes(32))
        self._entries: dict[bytes, _Entry] = {}
        self._places: dict[bytes, tuple[int, int]] = {}
        self._tails: dict[int, Counter[int]] = {}
        """Where a seam is -> length of the tail -> how many are kept that have both."""
        self._message_starts: set[bytes] = set()
        self._lock = threading.Lock()

    # ------------------------------------------------------------ finding

    def find(self, route: bytes, body: bytes) -> NewMessages | None:
        """What is new in a body that was sent to a route. Raises ServiceError where a new message is wrong."""
        if not _fits(body):
            return None
        left = MAX_HASHED_BYTES
        for start, tail in self._find_candidates(body):
            end = len(body) - tail
            if start >= end:
                continue
            if left <= 0:
                break
            left -= start + tail
            entry = self._entries.get(self._key(route, body, start, end))
            if entry is not None and entry.revision is catalog.current().revision:
                grown = self._shared and len(body) > GROWTH * entry.whole
                return None if grown else _read_new_messages(entry, body, start, end)
        return None

    def _find_candidates(self, body: bytes) -> Iterator[tuple[int, int]]:
        """Where something that is kept may end in a body, and the length of the tail that it has."""
        for opening in tuple(self._message_starts):
            for start in islice(_find_starts(body, opening, len(body)), LOOK_BACK):
                for tail in tuple(self._tails.get(start, ())):
                    yield start, tail

    def _key(self, route: bytes, body: bytes, start: int, end: int) -> bytes:
        view, digest = memoryview(body), self._seed.copy()
        digest.update(b"%d|%b|%d|" % (len(route), route, start))
        digest.update(view[:start])
        digest.update(view[end:])
        return digest.digest()

    # ------------------------------------------------------------ keeping

    def learn(self, route: bytes, body: bytes, value: Json, request: CountRequest, counted: TokenCount) -> None:
        """Keep what can be of a body that decodes to `value`, was asked for by `request`, and `counted`."""
        prompt = request.prompt
        if prompt is None or prompt.dialect not in MESSAGE_LISTS or not _fits(body) or not self._max_entries:
            return
        at, names = find_split_point(prompt, counted, request), _find_list_path(prompt)
        messages = value
        for name in names:
            messages = messages.get(name) if isinstance(messages, dict) else None
        if not at or not names or not isinstance(messages, list) or len(messages) != len(prompt.messages):
            return
        start = _locate_start(body, 0, len(body), messages[at:])
        end = None if start is None else _locate_list_end(body, start)
        if start is None or end is None or not _keeps_its_dialect(value, names, messages[:at], request):
            return
        cut = _replace_list(value, names, [*messages[:at], PLACEHOLDER])
        if _decode_or_none(b'%b"%b"%b' % (body[:start], PLACEHOLDER.encode(), body[end:])) == cut:
            self._learn(route, body, NewMessages(start, end, messages[at:], request, len(body), len(names)), counted)

    def learn_newer(self, route: bytes, body: bytes, newest: NewMessages, counted: TokenCount) -> None:
        """The same of a body whose newest messages were found and counted: the seam may be in them now."""
        request = newest.request
        if request.prompt is None or len(newest.messages) < MIN_MESSAGES_WITH_SPLIT:
            return
        at = find_split_point(request.prompt, counted, request)
        start = _locate_start(body, newest.start, newest.end, newest.messages[at:]) if at else None
        if start is None:
            return
        cut = b'[%b"%b"]' % (body[newest.start : start], PLACEHOLDER.encode())
        if _decode_or_none(cut) == [*newest.messages[:at], PLACEHOLDER]:
            behind = newest._replace(start=start, messages=newest.messages[at:])
            self._learn(route, body, behind, counted)

    def _learn(self, route: bytes, body: bytes, newest: NewMessages, counted: TokenCount) -> None:
        """Keep a seam: `newest` is what stands behind it, of a request that `counted`."""
        request, prompt = newest.request, newest.request.prompt
        assert prompt is not None
        bare = CountRequest(model_ref=request.model_ref, engine=request.engine)
        revision = catalog.current().revision
        entry = _Entry(revision, bare, prompt.dialect, prompt.platform, newest.whole, newest.levels)
        alone = _read_new_messages(entry, body, newest.start, newest.end)
        if alone is None or alone.messages != newest.messages:
            return
        before = _subtract(counted, self._count(alone.request), MESSAGE_LISTS[prompt.dialect])
        if before is None:
            return
        older = replace(prompt, messages=prompt.messages[: len(prompt.messages) - len(newest.messages)])
        had = request.prefix.features if request.prefix else frozenset()
        before = replace(before, features=had.union(features(older), ("multi_turn",)))
        key = self._key(route, body, newest.start, newest.end)
        self._message_starts.add(_find_message_start(newest.messages))
        self._put(key, entry._replace(request=replace(bare, prefix=before)), newest.start, len(body) - newest.end)

    def _put(self, key: bytes, entry: _Entry, start: int, tail: int) -> None:
        with self._lock:
            if key not in self._entries:
                self._tails.setdefault(start, Counter())[tail] += 1
            self._entries[key], self._places[key] = entry, (start, tail)
            if len(self._entries) > self._max_entries:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: bytes) -> None:
        del self._entries[key]
        start, tail = self._places.pop(key)
        tails = self._tails[start]
        tails[tail] -= 1
        if not tails[tail]:
            del tails[tail]
        if not tails:
            del self._tails[start]


# ---------------------------------------------------------------- bytes


def _fits(body: bytes) -> bool:
    return MIN_CONVERSATION_BYTES <= len(body) <= MAX_CONVERSATION_BYTES


def _find_starts(body: bytes, opening: bytes, end: int) -> Iterator[int]:
    """Where `opening` stands before `end`, from the last one back."""
    while (end := body.rfind(opening, 0, end)) >= 0:
        yield end


def _find_message_start(messages: Sequence[Json]) -> bytes:
    """How the first of the messages begins; b"" where it is none that is known."""
    first = messages[0]
    return MESSAGE_STARTS.get(next(iter(first), ""), b"") if isinstance(first, dict) else b""


def _locate_start(body: bytes, first: int, end: int, messages: Sequence[Json]) -> int | None:
    """Where the `messages` that end at `end` seem to begin; not before `first`."""
    opening = _find_message_start(messages)
    if not opening:
        return None
    alike = sum(_find_message_start([message]) == opening for message in messages)
    found = next(islice(_find_starts(body, opening, end), alike - 1, None), None)
    return None if found is None or found <= first else found


def _locate_list_end(body: bytes, start: int) -> int | None:
    """Where the items that begin at `start` end, which are the last of their list."""
    try:
        text, at = body[start:].decode(), 0
        while True:
            _, end = _decode_from(text, at)
            after = _skip_blanks(text, end)
            if text[after : after + 1] != ",":
                break
            at = _skip_blanks(text, after + 1)
    except (ValueError, RecursionError):
        return None
    return start + len(text[:end].encode()) if text[after : after + 1] == "]" else None


def _skip_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _decode_or_none(content: bytes) -> Json:
    try:
        return pydantic_core.from_json(content, allow_inf_nan=False)
    except ValueError:
        return None


def _read_new_messages(entry: _Entry, body: bytes, start: int, end: int) -> NewMessages | None:
    content = body[start:end]
    messages = _decode_or_none(b"[%b]" % content)
    if not isinstance(messages, list):
        return None
    if content.count(b"{") + content.count(b"[") + entry.levels > MAX_DEPTH - 1:
        check_depth(messages, MAX_DEPTH - entry.levels)
    prompt: Prompt = READERS[entry.dialect]({MESSAGE_LISTS[entry.dialect]: messages}, "")
    if prompt.warnings or not starts_with_user_text(prompt.messages) or not is_self_contained(prompt.messages):
        return None
    if _may_be_other_dialect(entry.dialect, messages):
        return None
    if entry.platform is not None:
        prompt = replace(prompt, platform=entry.platform)
    asked = entry.request
    request = CountRequest(model_ref=asked.model_ref, prompt=prompt, prefix=asked.prefix, engine=asked.engine)
    return NewMessages(start, end, messages, request, entry.whole, entry.levels)


def _find_list_path(prompt: Prompt) -> list[str]:
    """The fields that lead to the list which the messages were read from; none where it is no list, or another."""
    path, bracket, rest = prompt.messages[0].path.rpartition("[0]") if prompt.messages else ("", "", "")
    names = path.split(".") if bracket and not rest else []
    return names if names and names[-1] == MESSAGE_LISTS[prompt.dialect] else []


def _replace_list(value: Json, names: Sequence[str], messages: list[Json]) -> Json:
    """The decoded body with another list."""
    name, *others = names
    return {**value, name: _replace_list(value[name], others, messages) if others else messages}


def _keeps_its_dialect(value: Json, names: Sequence[str], older: list[Json], request: CountRequest) -> bool:
    """Whether the messages before the seam tell the same dialect alone, where messages may tell it."""
    if names[-1] != "messages" or request.prompt is None:
        return True
    holder = _replace_list(value, names, older)
    for name in names[:-1]:
        holder = holder[name]
    return infer_dialect(holder, catalog.resolve(request.model_ref or "").provider_id) == request.prompt.dialect


def _may_be_other_dialect(dialect: str, messages: list[Json]) -> bool:
    """Whether a dialect that was told by the messages might be another one by these, the first of which is a text."""
    if MESSAGE_LISTS[dialect] != "messages" or (len(messages) == 1 and len(messages[0]) == len(("role", "content"))):
        return False
    of_anthropic, of_openai = signs_of_messages(messages)
    return of_openai if dialect == "anthropic.messages" else of_anthropic


# ---------------------------------------------------------------- tokens


def _subtract(counted: TokenCount, newest: TokenCount, field: str) -> CountedPrefix | None:
    """What was counted beside the newest messages; None where that cannot be told from them."""
    said = [(item.path, item.kind, item.reason) for item in counted.uncounted]
    said += [(item.path, item.code, "") for item in counted.warnings]
    if sum(map(len, chain.from_iterable(said))) > MAX_NOTES_CHARS:
        return None
    if newest.uncounted or newest.warnings or newest.rules != counted.rules or newest.modalities or counted.modalities:
        return None
    if any(f"{field}[" in path for path, _, _ in said):
        return None
    doubts, theirs = Counter(counted.doubts), Counter(newest.doubts)
    if theirs - doubts:
        return None
    older = [*(doubts - theirs).elements()]
    doubt = Doubt(sum(doubt.low for doubt in older), sum(doubt.high for doubt in older), "before")
    details: Counter[Any] = Counter(dict(counted.details))
    details.subtract(newest.details)
    return CountedPrefix(
        tuple(details.items()), doubts=(doubt,) if older else (), uncounted=counted.uncounted, warnings=counted.warnings
    )
