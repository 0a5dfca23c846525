"""The second tier: counts in Redis, for all processes that share it.

Worker threads read with one pipeline of GETs. No command has two keys, so this works with any cluster. A thread of its
own writes in the background, measures the round trip, and asks whether a Redis that failed is back. Nothing here
raises: a failure is a miss, a metric and, when the state changes, a log line.
"""

from __future__ import annotations

import logging
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from service.cache.base import CacheEvents, Counts
from service.cache.codec import pack, unpack
from service.concurrency.periodic import PeriodicTask
from service.redis.circuit_breaker import CircuitBreaker
from service.redis.client import REDIS_ERRORS, UNREACHABLE, Client, Reason, classify_error

LOG = logging.getLogger("tallystick")

KEY_PREFIX = b"tallystick:count:"
"""What stands before a key, which is in hexadecimal digits."""

PROBE_KEY = KEY_PREFIX + b"probe"

TTL_JITTER = 0.1
"""Each entry lives shorter or longer by up to this share, so that what was written together does not expire
together."""

MAX_QUEUED = 10_000
"""Entries that may wait to be written, 0.2 KB each. More are dropped and counted as dropped."""

BATCH_ENTRIES = 500
"""Entries written in one pipeline."""

TASK_SECONDS = 0.25
"""How often the background thread runs."""

PROBE_SECONDS = 2.0
"""How often a probe measures the round trip."""

_WEIGHT = 0.3
"""Weight of a new round trip in the running mean if it is shorter than the mean. A longer one replaces the mean."""


class RedisCache:
    """Counts in Redis. `connect` opens a client or raises one of REDIS_ERRORS. Only the background thread calls it."""

    def __init__(
        self, connect: Callable[[], Client], secret: bytes, ttl_seconds: int, events: CacheEvents,
    ) -> None:
        self.round_trip_seconds: float | None = None
        self.reason: Reason | None = "connecting"
        """Why Redis is not asked, or takes no writes. None when all is well."""
        self._connect = connect
        self._secret = secret
        self._ttl_seconds = ttl_seconds
        self._events = events
        self._client: Client | None = None
        self._breaker = CircuitBreaker()
        self._queue: deque[tuple[bytes, Counts]] = deque()
        self._probed_at = 0.0
        self._task = PeriodicTask("redis-cache", TASK_SECONDS, self._run_once)

    def start(self) -> None:
        self._task.start()

    def stop(self) -> None:
        """Write what waits, then close the connections."""
        self._task.stop()
        if self._client is not None:
            self._client.close()

    @property
    def up(self) -> bool:
        return self._client is not None and self._breaker.closed

    @property
    def waiting(self) -> int:
        """Entries that wait to be written."""
        return len(self._queue)

    # ------------------------------------------------------------ called by requests

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Counts]:
        client = self._client
        if client is None or not keys:
            return {}
        began = time.perf_counter()
        try:
            pipeline = client.pipeline(transaction=False)
            for key in keys:
                pipeline.get(_redis_key(key))
            values = pipeline.execute(raise_on_error=False)
        except REDIS_ERRORS as error:
            self._note_failure(error)
            self._events.record_lookup("redis", "failed")
            return {}
        self._note_round_trip(time.perf_counter() - began)
        return self._read(keys, values)

    def _read(self, keys: Sequence[bytes], values: Sequence[object]) -> dict[bytes, Counts]:
        found: dict[bytes, Counts] = {}
        for key, value in zip(keys, values, strict=True):
            if isinstance(value, Exception):
                self._note_failure(value)
                self._events.record_lookup("redis", "failed")
                return found
            if value is None:
                continue
            counts = unpack(key, value, self._secret)
            if counts is None:
                self._events.record_lookup("redis", "garbage")
            else:
                found[key] = counts
        self._breaker.succeeded()
        self._events.record_lookup("redis", "hit" if found else "miss")
        return found

    def put(self, key: bytes, counts: Counts) -> None:
        if len(self._queue) >= MAX_QUEUED:
            self._events.record_redis_write("dropped", 1)
            return
        self._queue.append((key, counts))
        if len(self._queue) >= BATCH_ENTRIES:
            self._task.wake()

    # ------------------------------------------------------------ in the background thread

    def _run_once(self) -> None:
        """Reconnect if Redis is back, measure now and then, and write what waits."""
        if self._is_probe_due():
            self._probe()
        while self._queue and self.up and self.reason is None and self._write():
            pass

    def _is_probe_due(self) -> bool:
        if self._breaker.closed:
            return time.monotonic() - self._probed_at > PROBE_SECONDS
        return self._breaker.probe_due()

    def _probe(self) -> None:
        """Write and read one entry. This tells whether Redis answers, how fast, and whether it takes writes."""
        self._probed_at = time.monotonic()
        try:
            client = self._client or self._connect()
            pipeline = client.pipeline(transaction=False)
            pipeline.set(PROBE_KEY, b"", ex=60)
            pipeline.get(PROBE_KEY)
            began = time.perf_counter()
            written, read = pipeline.execute(raise_on_error=False)
        except REDIS_ERRORS as error:
            self._note_failure(error)
            return
        if isinstance(read, Exception):
            self._note_failure(read)
            return
        self._note_round_trip(time.perf_counter() - began)
        self._client = client
        self._breaker.probed()
        if isinstance(written, Exception):
            self._note_failure(written)
        elif self.reason is not None:
            self.reason = None
            LOG.info("redis answers", extra={"fields": {"ms": round(1000 * (self.round_trip_seconds or 0), 2)}})

    def _write(self) -> bool:
        """Write one batch. False when that failed."""
        batch = [self._queue.popleft() for _ in range(min(BATCH_ENTRIES, len(self._queue)))]
        assert self._client is not None
        pipeline: Any = self._client.pipeline(transaction=False)
        for key, counts in batch:
            value = pack(key, counts, self._secret)
            if value is not None:
                seconds = self._ttl_seconds * random.uniform(1 - TTL_JITTER, 1 + TTL_JITTER)
                pipeline.set(_redis_key(key), value, ex=max(1, round(seconds)))
        try:
            answers = pipeline.execute(raise_on_error=False)
        except REDIS_ERRORS as error:
            self._events.record_redis_write("failed", len(batch))
            self._note_failure(error)
            return False
        refused = [answer for answer in answers if isinstance(answer, Exception)]
        self._events.record_redis_write("stored", len(answers) - len(refused))
        if refused:
            self._events.record_redis_write("failed", len(refused))
            self._note_failure(refused[0])
            return False
        self._breaker.succeeded()
        return True

    # ------------------------------------------------------------ state

    def _note_round_trip(self, seconds: float) -> None:
        mean = self.round_trip_seconds
        weight = 1.0 if mean is None or seconds > mean else _WEIGHT
        self.round_trip_seconds = seconds if mean is None else mean + weight * (seconds - mean)

    def _note_failure(self, error: Exception) -> None:
        reason = classify_error(error)
        changed, self.reason = self.reason != reason, reason
        if reason in UNREACHABLE:
            self._breaker.failed()
        if changed:
            LOG.warning("redis fails; counting goes on without it", extra={"fields": {"reason": reason}})


def _redis_key(key: bytes) -> bytes:
    return KEY_PREFIX + key.hex().encode()
