"""Responses to whole requests, for bursts of the same request: an editor that starts may send it 50 times in a second.

A request is known by a hash of everything that its response depends on. Responses stay in this process, because they
repeat names that the caller wrote. They are kept until the minute ends, since a price may change with the minute, or
until the catalog is read again. A response is kept only when its request comes a second time, since most come once.
While a response is being made, further requests for it wait without holding a thread.
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
"""A smaller body is always counted again, in half a millisecond. A lookup in vain would add a tenth to that."""

MAX_LOOP_HASH_BYTES = 1 << 20
"""A larger body is hashed in a thread. Hashing takes 0.6 ms a MiB."""

SAMPLES, SAMPLE_BYTES, MAX_FINGERPRINTS = 32, 256, 100_000
"""A fingerprint of a body is made of so many samples of so many bytes. The last number is how many a minute may
have."""

MAX_RESPONSE_BYTES = 1 << 16
"""A longer response is not kept."""


class ResponseCache[R]:
    """At most `max_bytes` of responses. Used from one event loop, so it has no lock. Only `key` may run in a thread."""

    def __init__(self, max_bytes: int, events: CacheEvents, clock: Callable[[], float] = time.time) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._events = events
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._period: tuple[int, object] = (0, None)
        """(minute, revision of the catalog) of all that is kept."""
        self._fingerprints: set[int] = set()
        self._entries: OrderedDict[bytes, tuple[R, int]] = OrderedDict()
        self._pending: dict[bytes, asyncio.Future[R]] = {}

    def may_have_seen(self, place: bytes, body: bytes) -> bool:
        """Whether a body like this one came to the same place earlier in this minute. Only samples of the body are
        compared. Most bodies are new, and those need not be hashed as a whole."""
        self._drop_old()
        step = max(1, len(body) // SAMPLES)
        slices = [body[at : at + SAMPLE_BYTES] for at in range(0, len(body), step)]
        fingerprint = hash((place, len(body), *slices, body[-SAMPLE_BYTES:]))
        known = fingerprint in self._fingerprints
        if len(self._fingerprints) < MAX_FINGERPRINTS:
            self._fingerprints.add(fingerprint)
        return known

    def key(self, *parts: bytes) -> bytes:
        """The key of a request: route, path, query, content type and body. If the response depends on anything else,
        that must be one of the `parts` or the request must not use this cache."""
        digest = hashlib.sha256(self._secret)
        for part in parts:
            digest.update(b"%d|" % len(part))
            digest.update(part)
        return digest.digest()

    def find(self, key: bytes) -> R | None:
        """The response that was given before; None when there is none."""
        self._drop_old()
        entry = self._entries.get(key)
        self._events.record_lookup("request", "miss" if entry is None else "hit")
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def keep(self, key: bytes, response: R, size: int) -> None:
        """Keep a response of `size` bytes on the wire. It takes about three times as much memory."""
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
        """(what `make` gives, whether this call started it). Raises what `make` raises.

        `make` goes on when this request is given up, since others may wait for the same response.
        """
        task = self._pending.get(key)
        first = task is None
        if task is None:
            task = self._pending[key] = asyncio.ensure_future(make())
            task.add_done_callback(lambda done: self._finish(key, done))
        return await asyncio.shield(task), first

    def _finish(self, key: bytes, task: asyncio.Future[R]) -> None:
        del self._pending[key]
        if not task.cancelled():
            task.exception()  # else asyncio complains when nobody waits any more

    def _drop_old(self) -> None:
        period = int(self._clock() // 60), catalog.current().revision
        if period != self._period:
            self._period = period
            self._entries.clear()
            self._fingerprints.clear()
            self.bytes = 0
