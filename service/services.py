"""What is kept beyond a request, in Redis where the settings name one, else in the memory of this process."""

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
from service.budgets.redis import RedisLeases
from service.cache.memory import MemoryCache
from service.cache.redis import RedisCache
from service.cache.tiered import TieredCache
from service.catalog import Catalog, CatalogFileError
from service.counting.segments import SegmentCounter
from service.ledger.ledger import Ledger
from service.ledger.redis import RedisLedger
from service.ledger.store import LedgerStore, MemoryLedger
from service.observability.metrics import Metrics
from service.redis.client import open_redis, parse_redis_url
from service.settings import CatalogSettings, Settings
from service.types import Json

if TYPE_CHECKING:
    from service.redis.client import Client

LOG = logging.getLogger("tallystick")

LEDGER_SECONDS = 2.0
"""Longest wait for Redis where nobody waits for the answer, or has asked for nothing else."""

STORE_THREADS = 4
"""Threads for requests that ask Redis and cannot do without: budgets and the ledger. Not those that count: a Redis that
hangs would hold them all for so long."""

SPARE_CONNECTIONS = 4
"""Beyond one for each thread that asks: for what is written behind."""


@dataclass(slots=True)
class Backends:
    """Opened by settings, started and stopped with the app."""

    segments: SegmentCounter
    redis_cache: RedisCache | None
    leases: Leases
    ledger: Ledger

    def start(self) -> None:
        self.ledger.start()
        if self.redis_cache is not None:
            self.redis_cache.start()

    def stop(self) -> None:
        """Blocks until what waits is written, or cannot be."""
        self.ledger.stop()
        if self.redis_cache is not None:
            self.redis_cache.stop()
        self.leases.close()

    def report(self) -> Mapping[str, Json]:
        """What /readyz shows of Redis; nothing where there is none."""
        if self.redis_cache is None:
            return {}
        reason = self.redis_cache.reason
        return {"redis": {"status": "ok"} if reason is None else {"status": "degraded", "reason": reason}}


def open_backends(settings: Settings, metrics: Metrics) -> Backends:
    """Nothing is connected to yet."""
    memory = MemoryCache(settings.cache_bytes - settings.cache_bytes // 4)  # the rest is for whole answers
    secret, cache = cache_key(settings), None
    if settings.redis_url is not None:
        cache = RedisCache(
            lambda: _connect(settings, settings.redis_seconds, settings.threads), secret, settings.cache_ttl_seconds,
            metrics,
        )
        _watch(metrics, cache)
    tiers = TieredCache(memory, cache, metrics, settings.ask_redis)

    def show_costs() -> None:
        for tokenizer, seconds in tiers.costs.list_costs().items():
            metrics.count_cost.labels(tokenizer).set(seconds * (1 << 20))

    metrics.call_at_sample(show_costs)
    leases: Leases = MemoryLeases()
    if settings.redis_url is not None:
        leases = RedisLeases(lambda: _connect(settings, LEDGER_SECONDS, STORE_THREADS))
    return Backends(SegmentCounter(tiers, secret), cache, leases, _open_ledger(settings, metrics))


def _open_ledger(settings: Settings, metrics: Metrics) -> Ledger:
    keep_seconds = settings.ledger_days * 86_400
    store: LedgerStore = MemoryLedger(keep_seconds)
    if settings.redis_url is not None:
        store = RedisLedger(lambda: _connect(settings, LEDGER_SECONDS, STORE_THREADS), keep_seconds)
    return Ledger(store, metrics, keep_seconds, alone=settings.workers == 1)


def cache_key(settings: Settings) -> bytes:
    """32 bytes: the secret at any length, or a random key where there is none."""
    if settings.cache_secret is None:
        return secrets.token_bytes(32)
    return hashlib.blake2b(settings.cache_secret.get_secret_value().encode(), digest_size=32).digest()


def _connect(settings: Settings, seconds: float, threads: int) -> Client:
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
    """The process's catalog follows `settings` from here on; `budgets` are the named budgets as they are now.

    Raises CatalogFileError where a file or an alias cannot be used.
    """

    def __init__(self, settings: CatalogSettings) -> None:
        self._settings = settings
        self._reading = threading.Lock()
        self.budgets: Mapping[str, Budget] = {}
        self._read()

    def reload(self) -> bool:
        """Read the files again. False where one cannot be used: then nothing has changed, and the log says why."""
        try:
            with self._reading:
                self._read()
        except CatalogFileError as error:
            LOG.error("catalog and budgets stay as they were", extra={"fields": {"reason": str(error)}})  # noqa: TRY400
            return False
        LOG.info("catalog and budgets read", extra={"fields": {"budgets": len(self.budgets)}})
        return True

    def _read(self) -> None:
        settings, now = self._settings, catalog.current()
        budgets = read_budgets(settings.catalog_file, settings.budgets_file)
        # The bundled data never changes: a catalog of nothing else is left alone, with what it has resolved.
        if settings.catalog_file or now.file or settings.aliases != now.aliases:
            catalog.use(Catalog(settings.catalog_file, settings.aliases))
        self.budgets = budgets
