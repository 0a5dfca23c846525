"""What all requests of one process share. Opened once from the settings, started and stopped with the app."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from service import catalog
from service.auth.admission import open_keys, open_limiter
from service.auth.key_store import Keys
from service.auth.rate_limits import RateLimiter
from service.budgets.leases import Leases, MemoryLeases
from service.budgets.named import Budget, read_budgets
from service.cache.memory import MemoryCache
from service.cache.responses import ResponseCache
from service.cache.tiered import TieredCache
from service.catalog import Catalog, CatalogFileError
from service.concurrency.byte_budget import BodyLimits, ByteBudget
from service.concurrency.periodic import PeriodicTask
from service.concurrency.thread_pool import ThreadPool
from service.counting.conversations import ConversationCache
from service.counting.counter import Counter
from service.counting.segments import SegmentCounter
from service.ledger.ledger import Ledger
from service.ledger.store import LedgerStore, MemoryLedger
from service.observability.metrics import Metrics
from service.readiness import Readiness
from service.redis.url import parse_redis_url
from service.settings import CatalogSettings, Settings
from service.types import Json

if TYPE_CHECKING:
    from service.cache.redis import RedisCache
    from service.redis.client import Client

LOG = logging.getLogger("tallystick")

HOUSEKEEPING_SECONDS = 1.0
"""How often `_keep_house` runs."""

LEDGER_SECONDS = 2.0
"""Longest wait for Redis by the ledger and the budgets. No count waits for either."""

STORE_THREADS = 4
"""Threads for requests that need an answer of Redis: budgets and the ledger. They are not the threads that count: a
Redis that hangs would block all of those."""

SPARE_CONNECTIONS = 4
"""Connections to Redis beyond one for each thread: for what is written in the background."""


@dataclass(slots=True)
class Services:
    """Each app has one.

    `pool` has the threads that count, `store_pool` those that may wait for Redis. `responses` holds whole responses of
    the current minute. `keys` is None when callers need no API key.
    """

    settings: Settings
    metrics: Metrics
    counter: Counter
    pool: ThreadPool
    store_pool: ThreadPool
    body_limits: BodyLimits
    body_budget: ByteBudget
    responses: ResponseCache[Any]
    conversations: ConversationCache
    redis_cache: RedisCache | None
    ledger: Ledger
    leases: Leases
    operator_files: OperatorFiles
    keys: Keys | None
    limiter: RateLimiter
    readiness: Readiness
    housekeeping: PeriodicTask

    async def start(self) -> None:
        """Start the background threads. Keys are read before the first request, which would be refused without them."""
        self.readiness.start()
        self.ledger.start()
        if self.redis_cache is not None:
            self.redis_cache.start()
        await self.limiter.open()
        if self.keys is not None and self.keys.ring is None:
            await asyncio.to_thread(self.keys.refresh)
        self.housekeeping.start()

    async def stop(self) -> None:
        """Write what waits for Redis, or give up on it; then close all connections. Blocks."""
        self.readiness.stop()
        self.pool.close()
        self.store_pool.close()
        await self.limiter.close()
        self.ledger.stop()
        if self.redis_cache is not None:
            self.redis_cache.stop()
        self.leases.close()
        self.housekeeping.stop()

    def reload(self) -> bool:
        """Read the catalog, the budgets and the keys again (SIGHUP). Call it in a thread, since it may take a while.

        Never raises. False when the catalog or the budgets cannot be used: both stay as they were; the log says why.
        """
        reloaded = self.operator_files.reload()
        if self.keys is not None:
            self.keys.refresh(force=True)
        return reloaded


def open_services(settings: Settings) -> Services:
    """What the settings ask for. Before `start` nothing is connected and no tokenizer is loaded.

    Raises CatalogFileError when the catalog or the budgets cannot be used, KeyStoreError when the keys cannot.
    """
    files = OperatorFiles(settings)
    metrics = Metrics()
    secret = make_cache_key(settings)
    redis_cache = _open_redis_cache(settings, secret, metrics)
    counter = Counter(SegmentCounter(_open_cache(settings, redis_cache, metrics), secret))
    keys = open_keys(settings)
    return Services(
        settings=settings,
        metrics=metrics,
        counter=counter,
        pool=ThreadPool(settings.threads, settings.queue, settings.request_seconds),
        store_pool=ThreadPool(STORE_THREADS, settings.queue, settings.request_seconds),
        body_limits=BodyLimits(settings.max_body_bytes, settings.body_seconds),
        body_budget=ByteBudget(settings.inflight_bytes),
        responses=ResponseCache(settings.cache_bytes // 4, metrics),
        conversations=ConversationCache(
            counter.count, settings.cache_bytes // 8, shared=settings.redis_url is not None
        ),
        redis_cache=redis_cache,
        ledger=_open_ledger(settings, metrics),
        leases=_open_leases(settings),
        operator_files=files,
        keys=keys,
        limiter=open_limiter(settings, metrics),
        readiness=Readiness(
            settings.warm, metrics, counter, lambda: _report_redis(redis_cache),
            lambda: keys is None or keys.ring is not None,
        ),
        housekeeping=PeriodicTask("housekeeping", HOUSEKEEPING_SECONDS, lambda: _keep_house(metrics, keys)),
    )


def _keep_house(metrics: Metrics, keys: Keys | None) -> None:
    """Runs every second. It sets the gauges that other workers' scrapes read, and finds added and revoked keys."""
    metrics.sample()
    if keys is not None:
        keys.refresh()


# ---------------------------------------------------------------- kept in Redis, or else in this process


def _open_redis_cache(settings: Settings, secret: bytes, metrics: Metrics) -> RedisCache | None:
    if settings.redis_url is None:
        return None
    from service.cache.redis import RedisCache

    cache = RedisCache(
        lambda: _connect(settings, settings.redis_seconds, settings.threads), secret, settings.cache_ttl_seconds,
        metrics,
    )
    metrics.read_at_sample("redis_up", lambda: cache.up)
    metrics.read_at_sample("redis_degraded", lambda: cache.reason is not None)
    metrics.read_at_sample("redis_round_trip_seconds", lambda: cache.round_trip_seconds or 0.0)
    metrics.read_at_sample("redis_write_queue", lambda: cache.waiting)
    return cache


def _open_cache(settings: Settings, redis_cache: RedisCache | None, metrics: Metrics) -> TieredCache:
    memory = MemoryCache(settings.cache_bytes - settings.cache_bytes // 4)  # that quarter is for whole responses
    tiers = TieredCache(memory, redis_cache, metrics, settings.ask_redis)

    def show_costs() -> None:
        for tokenizer, seconds in tiers.costs.list_costs().items():
            metrics.set_count_cost(tokenizer, seconds * (1 << 20))

    metrics.call_at_sample(show_costs)
    return tiers


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


def _report_redis(cache: RedisCache | None) -> Mapping[str, Json]:
    """What /readyz shows about Redis. Empty when there is none."""
    if cache is None:
        return {}
    return {"redis": {"status": "ok"} if cache.reason is None else {"status": "degraded", "reason": cache.reason}}


def make_cache_key(settings: Settings) -> bytes:
    """32 bytes: a hash of the secret, which may have any length, or random bytes when no secret is set."""
    if settings.cache_secret is None:
        return secrets.token_bytes(32)
    return hashlib.blake2b(settings.cache_secret.get_secret_value().encode(), digest_size=32).digest()


def _connect(settings: Settings, seconds: float, threads: int) -> Client:
    from service.redis.client import open_redis

    assert settings.redis_url is not None
    address = parse_redis_url(settings.redis_url.get_secret_value())
    return open_redis(address, seconds, threads + SPARE_CONNECTIONS)


# ---------------------------------------------------------------- files that the operator wrote


class OperatorFiles:
    """The catalog file and the budgets file of the operator. `budgets` are the named budgets as last read.

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
            fields = {"reason": str(error)}
            LOG.error(  # noqa: TRY400 - a mistake in a file needs no traceback
                "catalog and budgets stay as they were", extra={"fields": fields}
            )
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
