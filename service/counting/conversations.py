"""Conversations that were counted before. They are found again in the bytes of a body, so that only new messages count.

A client sends its conversation again with each turn: the same bytes, except for some messages at the end of one list.
For a counted body the cache keeps a split point: where the last message of the user begins, and how many bytes follow
the list. It also keeps a keyed hash of the bytes before that point and behind the list, and what they came to in
tokens. It keeps no text. When a later body has the same bytes in both places, only messages can stand between them,
because JSON is read from left to right. Only those are decoded, rendered and counted.

`service.counting.split_points` says where tokens add up. All other requests take the slow path.
tests/counting/test_conversations.py proves that both give the same count.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from service import catalog
from service.counting.features import features
from service.counting.message_bytes import (
    PLACEHOLDER,
    are_last_messages,
    find_message_start,
    find_positions,
    is_message_boundary,
    locate_list_end,
    locate_messages,
    replace_list,
)
from service.counting.new_messages import (
    MESSAGE_LISTS,
    KnownConversation,
    NewMessages,
    find_list,
    find_list_path,
    keeps_dialect,
    read_new_messages,
    subtract,
)
from service.counting.split_points import LOOK_BACK, find_split_point
from service.types import CountRequest, Json, TokenCount

MIN_CONVERSATION_BYTES, MAX_CONVERSATION_BYTES = 1 << 12, 1 << 20
"""Sizes of bodies that are looked up. A smaller one is counted as fast; hashing a larger one would block the loop."""

MAX_HASHED_BYTES = 1 << 20
"""Bytes that are hashed for one body, for all split points that are tried: 0.6 us a KB."""

MAX_GROWTH = 1.1
"""When caches are shared: a conversation that grew by more than this factor is counted whole again."""

MIN_MESSAGES_WITH_SPLIT = 3
"""New messages that may contain another split point: the user, the model, the user again."""

MAX_ENTRIES, ENTRY_BYTES = 8_192, 1_024
"""Conversations kept at most, and the memory that one takes at most."""


class ConversationCache:
    """Each app has one. Thread-safe."""

    def __init__(
        self, count: Callable[[CountRequest], TokenCount], max_bytes: int = MAX_ENTRIES * ENTRY_BYTES, *,
        shared: bool = False,
    ) -> None:
        """`count` counts a request. The entries take about `max_bytes` of memory at most; 0 keeps none.

        `shared` says that other processes share a cache of counts with this one. Then a conversation that grew by a
        tenth takes the slow path, which fills that cache. So another process finds it there when it gets the next turn.
        """
        self._count = count
        self._max_entries = min(MAX_ENTRIES, max_bytes // ENTRY_BYTES)
        self._shared = shared
        self._seed = hashlib.sha256(secrets.token_bytes(32))
        self._entries: dict[bytes, KnownConversation] = {}
        self._places: dict[bytes, tuple[int, int]] = {}
        """Key of an entry -> (split point, bytes behind the list)."""
        self._tails: dict[int, Counter[int]] = {}
        """Split point -> bytes behind the list -> number of entries that have both."""
        self._message_starts: set[bytes] = set()
        self._lock = threading.Lock()

    # ------------------------------------------------------------ finding

    def find(self, route: bytes, body: bytes) -> NewMessages | None:
        """The new messages of a body sent to `route`; None when the conversation is not known.

        Raises ServiceError when a new message is invalid.
        """
        if not _has_usual_size(body):
            return None
        left = MAX_HASHED_BYTES
        for start, tail in self._list_candidates(body):
            end = len(body) - tail
            if start >= end:
                continue
            if left <= 0:
                break
            left -= start + tail
            known = self._entries.get(self._make_key(route, body, start, end))
            if known is not None and known.revision is catalog.current().revision:
                grown = self._shared and len(body) > MAX_GROWTH * known.full_bytes
                return None if grown else read_new_messages(known, body, start, end)
        return None

    def _list_candidates(self, body: bytes) -> Iterator[tuple[int, int]]:
        """Places in `body` where an entry may fit: (split point, bytes behind the list)."""
        for message_start in tuple(self._message_starts):
            for start in islice(find_positions(body, message_start, len(body)), LOOK_BACK):
                for tail in tuple(self._tails.get(start, ())):
                    yield start, tail

    def _make_key(self, route: bytes, body: bytes, start: int, end: int) -> bytes:
        view, digest = memoryview(body), self._seed.copy()
        digest.update(b"%d|%b|%d|" % (len(route), route, start))
        digest.update(view[:start])
        digest.update(view[end:])
        return digest.digest()

    # ------------------------------------------------------------ learning

    def learn(self, route: bytes, body: bytes, value: Json, request: CountRequest, counted: TokenCount) -> None:
        """Keep a split point of a body that was counted whole, if it has one.

        The body decodes to `value`, was read as `request`, and came to `counted`.
        """
        prompt = request.prompt
        if prompt is None or prompt.dialect not in MESSAGE_LISTS or not _has_usual_size(body) or not self._max_entries:
            return
        at, path = find_split_point(prompt, counted, request), find_list_path(prompt)
        messages = find_list(value, path)
        if not at or messages is None or len(messages) != len(prompt.messages):
            return
        older, newest = messages[:at], messages[at:]
        start = locate_messages(body, 0, len(body), newest)
        end = None if start is None else locate_list_end(body, start)
        if start is None or end is None or not keeps_dialect(value, path, older, prompt.dialect, counted.provider):
            return
        if are_last_messages(body, start, end, replace_list(value, path, [*older, PLACEHOLDER])):
            self._learn(route, body, NewMessages(start, end, newest, request, len(body), len(path)), counted)

    def learn_newer(self, route: bytes, body: bytes, newest: NewMessages, counted: TokenCount) -> None:
        """Keep a split point among the new messages of a known conversation, if they have one."""
        request = newest.request
        if request.prompt is None or len(newest.messages) < MIN_MESSAGES_WITH_SPLIT:
            return
        at = find_split_point(request.prompt, counted, request)
        start = locate_messages(body, newest.start, newest.end, newest.messages[at:]) if at else None
        if start is not None and is_message_boundary(body[newest.start : start], newest.messages[:at]):
            self._learn(route, body, newest._replace(start=start, messages=newest.messages[at:]), counted)

    def _learn(self, route: bytes, body: bytes, newest: NewMessages, counted: TokenCount) -> None:
        """Keep the split point before `newest`, whose request came to `counted` with all that stands before them."""
        request, prompt = newest.request, newest.request.prompt
        assert prompt is not None
        bare = CountRequest(model_ref=request.model_ref, engine=request.engine)
        revision = catalog.current().revision
        known = KnownConversation(
            revision, bare, prompt.dialect, prompt.platform, newest.full_bytes, newest.list_depth
        )
        alone = read_new_messages(known, body, newest.start, newest.end)
        if alone is None or alone.messages != newest.messages:
            return
        prefix = subtract(counted, self._count(alone.request), MESSAGE_LISTS[prompt.dialect])
        if prefix is None:
            return
        older = replace(prompt, messages=prompt.messages[: len(prompt.messages) - len(newest.messages)])
        earlier = request.prefix.features if request.prefix else frozenset()
        prefix = replace(prefix, features=earlier.union(features(older), ("multi_turn",)))
        key = self._make_key(route, body, newest.start, newest.end)
        self._message_starts.add(find_message_start(newest.messages))
        self._put(key, known._replace(request=replace(bare, prefix=prefix)), newest.start, len(body) - newest.end)

    def _put(self, key: bytes, known: KnownConversation, start: int, tail: int) -> None:
        with self._lock:
            if key not in self._entries:
                self._tails.setdefault(start, Counter())[tail] += 1
            self._entries[key], self._places[key] = known, (start, tail)
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


def _has_usual_size(body: bytes) -> bool:
    return MIN_CONVERSATION_BYTES <= len(body) <= MAX_CONVERSATION_BYTES
