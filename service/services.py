"""What outlives a request: the cache, the budgets and the ledger. Also the files that an operator wrote.

The settings decide where they are kept: in Redis when they name one, else in the memory of this process.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service import catalog
from service.budgets.leases import Leases, MemoryLeases
from service.budgets.named import Budget, read_budgets
from service.cache.memory import MemoryCache
from service.cache.tiered import TieredCache
from service.catalog import Catalog, CatalogFileError
from service.counting.segments import SegmentCounter
from service.ledger.ledger import Ledger
from service.ledger.store import LedgerStore, MemoryLedger
from service.observability.metrics import Metrics
from service.redis.url import parse_redis_url
from service.settings import CatalogSettings, Settings
from service.types import Json

if TYPE_CHECKING:
    from service.cache.redis import RedisCache
    from service.redis.client import Client

LOG = logging.getLogger("tallystick")

LEDGER_SECONDS = 2.0
"""Longest wait for Redis by the ledger and the budgets: no count waits for either."""

STORE_THREADS = 4
"""Threads for requests that need an answer of Redis: budgets and the ledger. They are not the threads that count: a
Redis that hangs would block all of those."""

SPARE_CONNECTIONS = 4
"""Connections beyond one for each thread: for the background writers."""


@dataclass(slots=True)
class Backends:
    """The cache, the budgets and the ledger. Opened from the settings; started and stopped with the app."""

    segments: SegmentCounter
    redis_cache: RedisCache | None
    leases: Leases
    ledger: Ledger

    def start(self) -> None:
        self.ledger.start()
        if self.redis_cache is not None:
            self.redis_cache.start()

    def stop(self) -> None:
        """Write what waits, or give up on it; then close all connections. Blocks."""
        self.ledger.stop()
        if self.redis_cache is not None:
            self.redis_cache.stop()
        self.leases.close()

    def report(self) -> Mapping[str, Json]:
        """What /readyz shows about Redis. Empty when there is none."""
        if self.redis_cache is None:
            return {}
        reason = self.redis_cache.reason
        return {"redis": {"status": "ok"} if reason is None else {"status": "degraded", "reason": reason}}


def open_backends(settings: Settings, metrics: Metrics) -> Backends:
    """What the settings ask for. Nothing is connected yet."""
    memory = MemoryCache(settings.cache_bytes - settings.cache_bytes // 4)  # a quarter is for whole responses
    secret = make_cache_key(settings)
    cache = None if settings.redis_url is None else _open_redis_cache(settings, secret, metrics)
    tiers = TieredCache(memory, cache, metrics, settings.ask_redis)

    def show_costs() -> None:
        for tokenizer, seconds in tiers.costs.list_costs().items():
            metrics.count_cost.labels(tokenizer).set(seconds * (1 << 20))

    metrics.call_at_sample(show_costs)
    return Backends(SegmentCounter(tiers, secret), cache, _open_leases(settings), _open_ledger(settings, metrics))


def _open_redis_cache(settings: Settings, secret: bytes, metrics: Metrics) -> RedisCache:
    from service.cache.redis import RedisCache

    cache = RedisCache(
        lambda: _connect(settings, settings.redis_seconds, settings.threads), secret, settings.cache_ttl_seconds,
        metrics,
    )
    _watch(metrics, cache)
    return cache


def _open_leases(settings: Settings) -> Leases:
    if settings.redis_url is None:
        return MemoryLeases()
    from service.budgets.redis import RedisLeases

    return RedisLeases(lambda: _connect(settings, LEDGER_SECONDS, STORE_THREADS))


def _open_ledger(settings: Settings, metrics: Metrics) -> Ledger:
    keep_seconds = settings.ledger_days * 86_400
    store: LedgerStore = MemoryLedger(keep_seconds)
    if settings.redis_url is not None:
        from service.ledger.redis import RedisLedger

        store = RedisLedger(lambda: _connect(settings, LEDGER_SECONDS, STORE_THREADS), keep_seconds)
    return Ledger(store, metrics, keep_seconds, alone=settings.workers == 1)


def make_cache_key(settings: Settings) -> bytes:
    """32 bytes: a hash of the secret, whatever its length; random bytes where no secret is set."""
    if settings.cache_secret is None:
        return secrets.token_bytes(32)
    return hashlib.blake2b(settings.cache_secret.get_secret_value().encode(), digest_size=32).digest()


def _connect(settings: Settings, seconds: float, threads: int) -> Client:
    from service.redis.client import open_redis

    assert settings.redis_url is not None
    address = parse_redis_url(settings.redis_url.get_secret_value())
    return open_redis(address, seconds, threads + SPARE_CONNECTIONS)


def _watch(metrics: Metrics, cache: RedisCache) -> None:
    metrics.read_at_sample(metrics.redis_up, lambda: cache.up)
    metrics.read_at_sample(metrics.redis_degraded, lambda: cache.reason is not None)
    metrics.read_at_sample(metrics.redis_round_trip, lambda: cache.round_trip_seconds or 0.0)
    metrics.read_at_sample(metrics.redis_waiting, lambda: cache.waiting)


# ---------------------------------------------------------------- files that the operator wrote


class OperatorFiles:
    """The catalog file and the budgets file. `budgets` are the named budgets as last read.

    Reading them also sets the catalog of the process. Raises CatalogFileError when a file or an alias cannot be used.
    """

    def __init__(self, settings: CatalogSettings) -> None:
        self._settings = settings
        self._reading = threading.Lock()
        self.budgets: Mapping[str, Budget] = {}
        self._read()

    def reload(self) -> bool:
        """Read the files again. False when one cannot be used: then nothing changes, and the log says why."""
        try:
            with self._reading:
                self._read()
        except CatalogFileError as error:
            LOG.error("catalog and budgets stay as they were", extra={"fields": {"reason": str(error)}})  # noqa: TRY400 - the operator's mistake: no traceback
            return False
        LOG.info("catalog and budgets read", extra={"fields": {"budgets": len(self.budgets)}})
        return True

    def _read(self) -> None:
        settings, now = self._settings, catalog.current()
        budgets = read_budgets(settings.catalog_file, settings.budgets_file)
        # The bundled data never changes. A catalog of nothing else is kept, with the names it has resolved.
        if settings.catalog_file or now.file or settings.aliases != now.aliases:
            catalog.use(Catalog(settings.catalog_file, settings.aliases))
        self.budgets = budgets
