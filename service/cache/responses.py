"""Answers to whole requests, for bursts of the same one: an editor that starts asks 50 times in a second.

A request is known by a hash of everything its answer depends on. Nothing leaves the process: an answer repeats names
that the caller wrote. Answers are kept to the end of the minute they were made in, since a price may change with the
minute, and until the catalog is read again. The first of a kind is not kept, but the second: most come once. While an
answer is being made, others that want it wait for it without holding a thread.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from service import catalog
from service.cache.base import CacheEvents

MIN_CACHED_BODY_BYTES = 1 << 16
"""A smaller body is counted again, in half a millisecond; looking in vain would add a tenth to each that is new."""

MAX_LOOP_HASH_BYTES = 1 << 20
"""A larger body is hashed in a thread: hashing takes 0.6 ms a MiB."""

SAMPLES, SAMPLE_BYTES, MAX_FINGERPRINTS = 32, 256, 100_000
"""Of a body: so many stretches of so many bytes; and of all bodies of a minute."""

MAX_RESPONSE_BYTES = 1 << 16


class ResponseCache[R]:
    """At most `max_bytes` of answers. Used from one event loop, so without a lock; only `key` may run in a thread."""

    def __init__(self, max_bytes: int, events: CacheEvents, clock: Callable[[], float] = time.time) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._events = events
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._edition: tuple[int, object] = (0, None)
        self._fingerprints: set[int] = set()
        self._entries: OrderedDict[bytes, tuple[R, int]] = OrderedDict()
        self._pending: dict[bytes, asyncio.Future[R]] = {}

    def may_have_seen(self, place: bytes, body: bytes) -> bool:
        """Whether a body that looks like this one came before, to the same place, in this minute. It goes by some of
        its bytes: all of a body that is new need not be hashed, and most are."""
        self._drop_old()
        step = max(1, len(body) // SAMPLES)
        slices = [body[at : at + SAMPLE_BYTES] for at in range(0, len(body), step)]
        fingerprint = hash((place, len(body), *slices, body[-SAMPLE_BYTES:]))
        known = fingerprint in self._fingerprints
        if len(self._fingerprints) < MAX_FINGERPRINTS:
            self._fingerprints.add(fingerprint)
        return known

    def key(self, *parts: bytes) -> bytes:
        """Stands for a request: route, path, query, content type, body; whatever else its answer depends on is added
        here or leads past this cache."""
        digest = hashlib.sha256(self._secret)
        for part in parts:
            digest.update(b"%d|" % len(part))
            digest.update(part)
        return digest.digest()

    def find(self, key: bytes) -> R | None:
        """The answer that was given before."""
        self._drop_old()
        entry = self._entries.get(key)
        self._events.record_lookup("request", "miss" if entry is None else "hit")
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def keep(self, key: bytes, response: R, size: int) -> None:
        """Remember an answer that is `size` bytes on the wire (in memory about three times as much)."""
        self._drop_old()
        size = 3 * size + 1_000
        if size > min(3 * MAX_RESPONSE_BYTES, self.max_bytes) or key in self._entries:
            return
        self._entries[key] = (response, size)
        self.bytes += size
        while self.bytes > self.max_bytes:
            _, (_, dropped) = self._entries.popitem(last=False)
            self.bytes -= dropped

    async def share(self, key: bytes, make: Callable[[], Awaitable[R]]) -> tuple[R, bool]:
        """What `make` gives or raises, and whether it was called for this request. It goes on where this request is
        given up, since others may wait for it."""
        task = self._pending.get(key)
        first = task is None
        if task is None:
            task = self._pending[key] = asyncio.ensure_future(make())
            task.add_done_callback(lambda done: self._finish(key, done))
        return await asyncio.shield(task), first

    def _finish(self, key: bytes, task: asyncio.Future[R]) -> None:
        del self._pending[key]
        if not task.cancelled():
            task.exception()  # or asyncio complains, where all who waited have gone

    def _drop_old(self) -> None:
        revision = int(self._clock() // 60), catalog.current().revision
        if revision != self._edition:
            self._edition = revision
            self._entries.clear()
            self._fingerprints.clear()
            self.bytes = 0
