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
from service.counting.split_points import LOOK_BACK, begins_anew, find_seam, is_closed
from service.dialects.detect import infer_dialect, signs_of_messages
from service.dialects.json import MAX_DEPTH, check_depth
from service.dialects.readers import READERS
from service.types import (
    Before,
    CountRequest,
    Doubt,
    Json,
    Prompt,
    TokenCount,
)

FROM_BYTES, TO_BYTES = 1 << 12, 1 << 20
"""Of a body. A smaller one is counted in no more time than looking takes; a larger one is not hashed on the loop."""

MOST_HASHED_BYTES = 1 << 20
"""Of the seams that are tried in a body: 0.6 us a KB."""

GROWTH = 1.1
"""Of a conversation, between two times that it is counted the long way where others are to find it."""

FEWEST_WITH_SEAM = 3
"""Newest messages in which there may be another seam: of the user, of the model, of the user."""

MOST_KEPT, KEPT_BYTES = 8_192, 1_024
"""Beginnings, and what one takes of memory at most."""

MOST_SAID = 500
"""Characters of what is said of a request beside its messages; one of which more is said is not kept."""

LISTS: Mapping[str, str] = {
    "anthropic.messages": "messages", "openai.chat": "messages", "openai.responses": "input",
    "google.generateContent": "contents",
}
"""Dialect -> the list that grows."""

OPENINGS: Mapping[str, bytes] = {name: b'{"%b"' % name.encode() for name in ("role", "parts", "content", "type")}
"""First field of a message -> how it begins, as clients write it. Others are not found, and counted as ever."""

SEAM = "seam"
"""Stands for the newest messages in a list where it is looked whether they are in it."""

_decode_from = json.JSONDecoder().raw_decode
_BLANKS = re.compile(r"[ \t\n\r]*")

Count = Callable[[CountRequest], TokenCount]


class Newest(NamedTuple):
    """The newest messages of a body: where their bytes are, decoded, and as a request that has them alone and what
    came `before` them. `whole` and `levels` as of what is kept."""

    start: int
    end: int
    messages: list[Json]
    request: CountRequest
    whole: int
    levels: int

    def tells_all(self, counted: TokenCount) -> bool:
        """Whether nothing was said of the newest messages: it would say where they are in what was read of them."""
        before = self.request.before
        return before is not None and (before.uncounted, before.warnings) == (counted.uncounted, counted.warnings)


class _Kept(NamedTuple):
    """What a body was asked for, without its messages; what it says is of this edition of the catalog. `whole` are the
    bytes that the conversation had when all of it was counted, `levels` those of nesting around its list."""

    edition: object
    request: CountRequest
    dialect: str
    platform: str | None
    whole: int
    levels: int


class Beginnings:
    """One an app. Thread-safe."""

    def __init__(self, count: Count, max_bytes: int = MOST_KEPT * KEPT_BYTES, *, shared: bool = False) -> None:
        """`count` counts a request; what is kept takes about `max_bytes` at most, of which 0 keeps nothing.

        Where counts are `shared` with other processes, a conversation that has grown by a tenth is counted the long
        way, so that they find it when its next message comes to them.
        """
        self._count = count
        self._most = min(MOST_KEPT, max_bytes // KEPT_BYTES)
        self._shared = shared
        self._seed = hashlib.sha256(secrets.token_bytes(32))
        self._kept: dict[bytes, _Kept] = {}
        self._seam_of: dict[bytes, tuple[int, int]] = {}
        self._tails: dict[int, Counter[int]] = {}
        """Where a seam is -> length of the tail -> how many are kept that have both."""
        self._openings: set[bytes] = set()
        self._lock = threading.Lock()

    # ------------------------------------------------------------ finding

    def find(self, route: bytes, body: bytes) -> Newest | None:
        """What is new in a body that was sent to a route. Raises ServiceError where a new message is wrong."""
        if not FROM_BYTES <= len(body) <= TO_BYTES:
            return None
        left = MOST_HASHED_BYTES
        for start, tail in self._seams(body):
            end = len(body) - tail
            if start >= end:
                continue
            if left <= 0:
                break
            left -= start + tail
            kept = self._kept.get(self._key(route, body, start, end))
            if kept is not None and kept.edition is catalog.current().edition:
                grown = self._shared and len(body) > GROWTH * kept.whole
                return None if grown else _read(kept, body, start, end)
        return None

    def _seams(self, body: bytes) -> Iterator[tuple[int, int]]:
        """Where something that is kept may end in a body, and the length of the tail that it has."""
        for opening in tuple(self._openings):
            for start in islice(_places(body, opening, len(body)), LOOK_BACK):
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
        if prompt is None or prompt.dialect not in LISTS or not FROM_BYTES <= len(body) <= TO_BYTES or not self._most:
            return
        at, names = find_seam(prompt, counted, request), _names_of_list(prompt)
        messages = value
        for name in names:
            messages = messages.get(name) if isinstance(messages, dict) else None
        if not at or not names or not isinstance(messages, list) or len(messages) != len(prompt.messages):
            return
        start = _start(body, 0, len(body), messages[at:])
        end = None if start is None else _end_of_list(body, start)
        if start is None or end is None or not _keeps_its_dialect(value, names, messages[:at], request):
            return
        seamed = _with_list(value, names, [*messages[:at], SEAM])
        if _decode(b'%b"%b"%b' % (body[:start], SEAM.encode(), body[end:])) == seamed:
            self._learn(route, body, Newest(start, end, messages[at:], request, len(body), len(names)), counted)

    def learn_more(self, route: bytes, body: bytes, newest: Newest, counted: TokenCount) -> None:
        """The same of a body whose newest messages were found and counted: the seam may be in them now."""
        request = newest.request
        if request.prompt is None or len(newest.messages) < FEWEST_WITH_SEAM:
            return
        at = find_seam(request.prompt, counted, request)
        start = _start(body, newest.start, newest.end, newest.messages[at:]) if at else None
        if start is None:
            return
        seamed = b'[%b"%b"]' % (body[newest.start : start], SEAM.encode())
        if _decode(seamed) == [*newest.messages[:at], SEAM]:
            behind = newest._replace(start=start, messages=newest.messages[at:])
            self._learn(route, body, behind, counted)

    def _learn(self, route: bytes, body: bytes, newest: Newest, counted: TokenCount) -> None:
        """Keep a seam: `newest` is what stands behind it, of a request that `counted`."""
        request, prompt = newest.request, newest.request.prompt
        assert prompt is not None
        bare = CountRequest(model_ref=request.model_ref, engine=request.engine)
        edition = catalog.current().edition
        kept = _Kept(edition, bare, prompt.dialect, prompt.platform, newest.whole, newest.levels)
        alone = _read(kept, body, newest.start, newest.end)
        if alone is None or alone.messages != newest.messages:
            return
        before = _difference(counted, self._count(alone.request), LISTS[prompt.dialect])
        if before is None:
            return
        older = replace(prompt, messages=prompt.messages[: len(prompt.messages) - len(newest.messages)])
        had = request.before.features if request.before else frozenset()
        before = replace(before, features=had.union(features(older), ("multi_turn",)))
        key = self._key(route, body, newest.start, newest.end)
        self._openings.add(_opening(newest.messages))
        self._keep(key, kept._replace(request=replace(bare, before=before)), newest.start, len(body) - newest.end)

    def _keep(self, key: bytes, kept: _Kept, start: int, tail: int) -> None:
        with self._lock:
            if key not in self._kept:
                self._tails.setdefault(start, Counter())[tail] += 1
            self._kept[key], self._seam_of[key] = kept, (start, tail)
            if len(self._kept) > self._most:
                self._forget(next(iter(self._kept)))

    def _forget(self, key: bytes) -> None:
        del self._kept[key]
        start, tail = self._seam_of.pop(key)
        tails = self._tails[start]
        tails[tail] -= 1
        if not tails[tail]:
            del tails[tail]
        if not tails:
            del self._tails[start]


# ---------------------------------------------------------------- bytes


def _places(body: bytes, opening: bytes, end: int) -> Iterator[int]:
    """Where `opening` stands before `end`, from the last one back."""
    while (end := body.rfind(opening, 0, end)) >= 0:
        yield end


def _opening(messages: Sequence[Json]) -> bytes:
    """How the first of the messages begins; b"" where it is none that is known."""
    first = messages[0]
    return OPENINGS.get(next(iter(first), ""), b"") if isinstance(first, dict) else b""


def _start(body: bytes, first: int, end: int, messages: Sequence[Json]) -> int | None:
    """Where the `messages` that end at `end` seem to begin; not before `first`."""
    opening = _opening(messages)
    if not opening:
        return None
    alike = sum(_opening([message]) == opening for message in messages)
    found = next(islice(_places(body, opening, end), alike - 1, None), None)
    return None if found is None or found <= first else found


def _end_of_list(body: bytes, start: int) -> int | None:
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


def _decode(content: bytes) -> Json:
    try:
        return pydantic_core.from_json(content, allow_inf_nan=False)
    except ValueError:
        return None


def _read(kept: _Kept, body: bytes, start: int, end: int) -> Newest | None:
    content = body[start:end]
    messages = _decode(b"[%b]" % content)
    if not isinstance(messages, list):
        return None
    if content.count(b"{") + content.count(b"[") + kept.levels > MAX_DEPTH - 1:
        check_depth(messages, MAX_DEPTH - kept.levels)
    prompt: Prompt = READERS[kept.dialect]({LISTS[kept.dialect]: messages}, "")
    if prompt.warnings or not begins_anew(prompt.messages) or not is_closed(prompt.messages):
        return None
    if _may_be_of_another_dialect(kept.dialect, messages):
        return None
    if kept.platform is not None:
        prompt = replace(prompt, platform=kept.platform)
    asked = kept.request
    request = CountRequest(model_ref=asked.model_ref, prompt=prompt, before=asked.before, engine=asked.engine)
    return Newest(start, end, messages, request, kept.whole, kept.levels)


def _names_of_list(prompt: Prompt) -> list[str]:
    """The fields that lead to the list which the messages were read from; none where it is no list, or another."""
    path, bracket, rest = prompt.messages[0].path.rpartition("[0]") if prompt.messages else ("", "", "")
    names = path.split(".") if bracket and not rest else []
    return names if names and names[-1] == LISTS[prompt.dialect] else []


def _with_list(value: Json, names: Sequence[str], messages: list[Json]) -> Json:
    """The decoded body with another list."""
    name, *others = names
    return {**value, name: _with_list(value[name], others, messages) if others else messages}


def _keeps_its_dialect(value: Json, names: Sequence[str], older: list[Json], request: CountRequest) -> bool:
    """Whether the messages before the seam tell the same dialect alone, where messages may tell it."""
    if names[-1] != "messages" or request.prompt is None:
        return True
    holder = _with_list(value, names, older)
    for name in names[:-1]:
        holder = holder[name]
    return infer_dialect(holder, catalog.resolve(request.model_ref or "").provider_id) == request.prompt.dialect


def _may_be_of_another_dialect(dialect: str, messages: list[Json]) -> bool:
    """Whether a dialect that was told by the messages might be another one by these, the first of which is a text."""
    if LISTS[dialect] != "messages" or (len(messages) == 1 and len(messages[0]) == len(("role", "content"))):
        return False
    of_anthropic, of_openai = signs_of_messages(messages)
    return of_openai if dialect == "anthropic.messages" else of_anthropic


# ---------------------------------------------------------------- tokens


def _difference(counted: TokenCount, newest: TokenCount, field: str) -> Before | None:
    """What was counted beside the newest messages; None where that cannot be told from them."""
    said = [(item.path, item.kind, item.reason) for item in counted.uncounted]
    said += [(item.path, item.code, "") for item in counted.warnings]
    if sum(map(len, chain.from_iterable(said))) > MOST_SAID:
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
    return Before(
        tuple(details.items()), doubts=(doubt,) if older else (), uncounted=counted.uncounted, warnings=counted.warnings
    )
