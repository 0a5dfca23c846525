"""What /metrics shows. Every label comes from a closed set, so no caller can add a series.

With several workers each writes its own files and a scrape sums them (service.observability.multiprocess); a gauge
is then the sum over the workers that live, unless its row says `livemax`.
"""

from __future__ import annotations

import os
import resource
import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from service import __version__
from service.concurrency.byte_budget import ByteBudget
from service.concurrency.thread_pool import ThreadPool
from service.errors import ServiceError
from service.families import FAMILIES
from service.observability import multiprocess
from service.tokenizers import registry as tokenizers
from service.types import TokenCount

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

SIZES = (0, 1 << 14, 1 << 18, 1 << 22)
SIZE_CLASSES = ("none", "to_16_kib", "to_256_kib", "to_4_mib", "over_4_mib")
"""Upper bounds of the size classes of bodies, the last class having none."""

OTHER = "other"
"""The label of whatever is not in a closed set: an unknown path, a model outside every family."""

NONE = "none"
"""The provider, family and model of a count that was asked of a tokenizer, not of a model."""

MAX_MODELS = 500
"""Canonical models that get a series of their own, the first ones that are asked for; the others are `other`."""

STATUS_CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx")

MOST_UNTOLD = 1_000
"""What tokenizers did, where nobody asks for it."""

GOLDEN = ("ok", "unconfirmed", "not checked")
"""What the self-check against the reference said; anything else is a mismatch."""


def error_codes(root: type[ServiceError] = ServiceError) -> frozenset[str]:
    """The code of every error there is."""
    return frozenset({root.code}.union(*(error_codes(leaf) for leaf in root.__subclasses__())))


class AnsweredRequest(Protocol):
    """A request that was answered (service.api.request_log): the template of its path, its HTTP status, the
    seconds it took, the bytes of its body, the counts that were given, the code of the error."""

    @property
    def route(self) -> str: ...
    @property
    def status(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def body_bytes(self) -> int: ...
    @property
    def counts(self) -> Sequence[TokenCount]: ...
    @property
    def error(self) -> str | None: ...


class _Series(dict[str | tuple[str, ...], Callable[[float], None]]):
    """What adds a number to a series, by its labels; found once, since the library's own way there takes 5 us each
    time."""

    def __init__(self, metric: Counter | Histogram) -> None:
        super().__init__()
        self._metric = metric

    def __missing__(self, labels: str | tuple[str, ...]) -> Callable[[float], None]:
        series = self._metric.labels(*((labels,) if isinstance(labels, str) else labels))
        # not `inc`: it asks again whether the series is one, and whether the number is negative
        add: Callable[[float], None] = series.observe if isinstance(series, Histogram) else series._value.inc
        self[labels] = add
        return add


class Metrics:
    """One registry an app. `sample` is to be called before each scrape and, with several workers, every second."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each, which nobody asks for
        self.registry = CollectorRegistry()
        self._routes: frozenset[str] = frozenset()
        self._families = frozenset(family.name for family in FAMILIES)
        self._providers = frozenset(family.provider for family in FAMILIES)
        self._codes = error_codes()
        self._models: set[str] = set()
        self._readings: list[tuple[Gauge, Callable[[], float]]] = []
        self._samplers: list[Callable[[], None]] = []
        self._fallbacks_seen: dict[str, int] = {}
        self._sampling = threading.Lock()
        self._tokenized: deque[tuple[str, int, int, float]] = deque()
        self._make_request_rows()
        self._make_count_rows()
        self._make_tokenizer_rows()
        self._make_cache_rows()
        self._make_process_rows()

    # ------------------------------------------------------------ the rows

    def _counter(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Counter:
        return Counter(f"tallystick_{name}", text, labels, registry=self.registry)

    def _series(self, name: str, text: str, labels: tuple[str, ...]) -> _Series:
        return _Series(self._counter(name, text, labels))

    def _gauge(self, name: str, text: str, labels: tuple[str, ...] = (), mode: Any = "livesum") -> Gauge:
        return Gauge(f"tallystick_{name}", text, labels, registry=self.registry, multiprocess_mode=mode)

    def _make_request_rows(self) -> None:
        self._requests = self._series("requests", "Requests answered.", ("route", "status"))
        self._seconds = _Series(Histogram(
            "tallystick_request_seconds", "From the first byte of a request to the last of its answer.",
            ("route", "size"), buckets=SECONDS, registry=self.registry,
        ))
        self._body_bytes = self._series("request_body_bytes", "Bytes of bodies, decompressed.", ("route",))
        self._rejections = self._counter("rejections", "Requests refused or failed, by error code.", ("code",))
        self._turned_away = self._counter(
            "connections_refused", "Connections closed before they had a request: full, slow (headers or rest).",
            ("reason",),
        )
        self._limited_alone = self._counter(
            "rate_limit_fallbacks", "Requests whose rate one process judged alone, since Redis failed."
        )
        self.in_flight = 0
        self.read_at_sample(self._gauge("requests_in_flight", "Requests being answered."), lambda: self.in_flight)
        self._busy_workers = self._gauge("worker_queue_depth", "Large requests being counted or waiting.")
        self._held_bytes = self._gauge("held_body_bytes", "Bytes of bodies being read or counted.")

    def _make_count_rows(self) -> None:
        self._counts = self._series(
            "counts", "Counts given.", ("provider", "family", "method", "tokenizer", "engine")
        )
        labels = ("provider", "model")
        self._tokens = self._series("tokens_counted", "Input tokens counted.", (*labels, "method"))
        self._cost = self._series("cost_usd", "What the counted input tokens cost, uncached, by list price.", labels)
        self._unpriced = self._series("unpriced_tokens", "Input tokens counted whose price is not known.", labels)

    def _make_tokenizer_rows(self) -> None:
        own = ("tokenizer",)
        self._load_seconds = self._gauge("tokenizer_load_seconds", "Time to load at start.", own, "livemax")
        self._tokenized_texts = self._series("tokenized_texts", "Texts given to a tokenizer.", own)
        self._tokenized_bytes = self._series("tokenized_bytes", "Bytes (UTF-8) given to a tokenizer.", own)
        self._tokenize_seconds = self._series("tokenize_seconds", "Time tokenizers took to count.", own)
        self._engines = self._gauge("tokenizer_engine", "Workers in which this engine answers.", (*own, "engine"))
        self._golden = self._gauge(
            "tokenizer_golden", "Workers by what the self-check said: ok, unconfirmed, not_checked or mismatch.",
            (*own, "outcome"),
        )
        self._fallbacks = self._counter("tokenizer_fallbacks", "Loads that ended at the reference engine.", own)

    def _make_cache_rows(self) -> None:
        self._lookups = self._series(
            "cache_lookups",
            "Looks into a cache (request, conversation, memory, redis): hit, miss, skipped, failed or garbage.",
            ("tier", "outcome"),
        )
        self._redis_writes = self._counter("redis_writes", "Counts stored in Redis, dropped or failed.", ("outcome",))
        self.redis_up = self._gauge("redis_up", "Workers that may ask Redis now.")
        self.redis_degraded = self._gauge("redis_degraded", "Workers that cannot ask Redis, or not write to it.")
        self.redis_round_trip = self._gauge("redis_round_trip_seconds", "How long asking Redis takes.", mode="livemax")
        self.redis_waiting = self._gauge("redis_write_queue", "Counts that wait to be stored in Redis.")
        self.count_cost = self._gauge(
            "count_seconds_per_mib", "How long counting 2^20 characters takes; by it Redis is asked or not.",
            ("tokenizer",), "livemax",
        )

        self._ledger = self._counter("ledger_rows", "Rows of the ledger written, failed or dropped.", ("outcome",))
        self._drift_counted = self._counter("drift_counted_tokens", "Counted for calls whose bill came.", ("family",))
        self._drift_billed = self._counter("drift_billed_tokens", "Billed for calls that were counted.", ("family",))

    def _make_process_rows(self) -> None:
        self._gauge("build_info", "1, with the version.", ("version",), "livemax").labels(__version__).set(1)
        self._workers = self._gauge("workers", "Worker processes that answer.")
        gauge = {"registry": self.registry, "multiprocess_mode": "livesum"}
        self._resident = Gauge("process_resident_memory_bytes", "Resident memory; what workers share counts in each.",
                               **gauge)  # type: ignore[arg-type]
        self._open_files = Gauge("process_open_fds", "Open file descriptors.", **gauge)  # type: ignore[arg-type]
        self._cpu = Counter("process_cpu_seconds", "Processor time, user and system.", registry=self.registry)
        self._cpu_seen = 0.0

    # ------------------------------------------------------------ what others tell

    def watch(self, workers: ThreadPool, budget: ByteBudget, routes: Iterable[str]) -> None:
        """Read these at each sample. `routes` are the path templates that may appear as labels."""
        self.read_at_sample(self._busy_workers, lambda: workers.busy)
        self.read_at_sample(self._held_bytes, lambda: budget.held)
        self._routes = frozenset(routes)

    def read_at_sample(self, gauge: Gauge, reading: Callable[[], float]) -> None:
        """Set a gauge without labels to what `reading` gives, at each sample."""
        self._readings.append((gauge, reading))

    def call_at_sample(self, work: Callable[[], None]) -> None:
        """Let `work` set what it has to at each sample."""
        self._samplers.append(work)

    def record_requests(self, exchanges: Sequence[AnsweredRequest]) -> None:
        """Requests were answered, perhaps many together. Those alike are told as one."""
        alike: dict[tuple[str, int, str], list[AnsweredRequest]] = {}
        counts: list[TokenCount] = []
        for exchange in exchanges:
            key = exchange.route, exchange.status, _size_class(exchange.body_bytes)
            alike.setdefault(key, []).append(exchange)
            counts += exchange.counts
            if exchange.error is not None:
                self.record_rejection(exchange.error)
        for (route, status, size), group in alike.items():
            self._answered_alike(route if route in self._routes else OTHER, status or 500, size, group)
        if counts:
            self.record_counts(counts)
        self._add_tokenized()

    def _answered_alike(self, route: str, status: int, size: str, group: Sequence[AnsweredRequest]) -> None:
        self._requests[route, STATUS_CLASSES[status // 100 - 1]](len(group))
        observe = self._seconds[route, size]
        for exchange in group:
            observe(exchange.seconds)
        if size != SIZE_CLASSES[0]:
            self._body_bytes[route](sum([exchange.body_bytes for exchange in group]))

    def record_counts(self, counts: Sequence[TokenCount]) -> None:
        """Counts were given. Those alike are told as one: a batch has a thousand."""
        if len(counts) == 1:
            self._counted_alike(counts)
            return
        alike: dict[tuple[Any, ...], list[TokenCount]] = {}
        for count in counts:
            key = (count.provider, count.model, count.model_match, count.family, count.method, count.tokenizer,
                   count.engine)
            alike.setdefault(key, []).append(count)
        for group in alike.values():
            self._counted_alike(group)

    def _counted_alike(self, counts: Sequence[TokenCount]) -> None:
        one = counts[0]
        maker, family = _known(one.provider, self._providers), _known(one.family, self._families)
        self._counts[maker, family, one.method, one.tokenizer, one.engine](len(counts))
        model = NONE if one.model is None else self._model_label(one.model, one.model_match)
        self._tokens[maker, model, one.method](sum([count.input_tokens for count in counts]))
        if one.model is not None:
            self._price((maker, model), counts)

    def _price(self, labels: tuple[str, str], counts: Iterable[TokenCount]) -> None:
        cost = sum([count.cost.usd for count in counts if count.cost is not None])
        unpriced = sum([count.input_tokens for count in counts if count.cost is None])
        if cost:
            self._cost[labels](float(cost))
        if unpriced:
            self._unpriced[labels](unpriced)

    def _model_label(self, model: str, match: str | None) -> str:
        if match == "inferred":
            return OTHER
        if model not in self._models:
            if len(self._models) >= MAX_MODELS:
                return OTHER
            self._models.add(model)
        return model

    def record_tokenized(self, tokenizer: str, texts: int, size: int, seconds: float) -> None:
        """`texts` texts of `size` bytes together were given to a tokenizer that the registry knows."""
        self._tokenized.append((tokenizer, texts, size, seconds))
        if len(self._tokenized) >= MOST_UNTOLD:
            self._add_tokenized()

    def _add_tokenized(self) -> None:
        sums: dict[str, tuple[int, int, float]] = {}
        for _ in range(len(self._tokenized)):
            try:
                name, texts, size, seconds = self._tokenized.popleft()
            except IndexError:  # another thread was quicker
                break
            before = sums.get(name, (0, 0, 0.0))
            sums[name] = before[0] + texts, before[1] + size, before[2] + seconds
        for name, (texts, size, seconds) in sums.items():
            self._tokenized_texts[name](texts)
            self._tokenized_bytes[name](size)
            self._tokenize_seconds[name](seconds)

    def record_lookup(self, tier: str, outcome: str, number: int = 1) -> None:
        """`tier` and `outcome` are words of ours (service.cache.base)."""
        self._lookups[tier, outcome](number)

    def record_redis_write(self, outcome: str, number: int) -> None:
        """Counts were stored in Redis, dropped or failed."""
        self._redis_writes.labels(outcome).inc(number)

    def record_ledger_rows(self, outcome: str, number: int) -> None:
        """Rows of the ledger were written or dropped, or a batch of them failed."""
        self._ledger.labels(outcome).inc(number)

    def record_drift(self, family: str, counted: int, billed: int) -> None:
        """A call was billed that had been counted."""
        label = _known(family, self._families)
        self._drift_counted.labels(label).inc(counted)
        self._drift_billed.labels(label).inc(billed)

    def record_load(self, tokenizer: str, seconds: float) -> None:
        """A tokenizer was loaded; its name is one the registry knows."""
        self._load_seconds.labels(tokenizer).set(seconds)

    def record_rejection(self, code: str) -> None:
        """A request, or an item of a batch, was refused or failed."""
        self._rejections.labels(code if code in self._codes else OTHER).inc()

    def record_refused_connection(self, reason: str) -> None:
        """A connection was closed before it had a request; `reason` is a word of ours."""
        self._turned_away.labels(reason).inc()

    def record_rate_fallback(self) -> None:
        """A rate was judged by this process alone, though all were to judge it."""
        self._limited_alone.inc()

    # ------------------------------------------------------------ reading

    def sample(self) -> None:
        """Bring up to date what is read rather than told: gauges of this process, its engines, its processor time."""
        with self._sampling:
            self._sample()

    def _sample(self) -> None:
        self._add_tokenized()
        for gauge, reading in self._readings:
            gauge.set(reading())
        for work in self._samplers:
            work()
        self._workers.set(1)
        for state in tokenizers.engine_states():
            outcome = state.golden.replace(" ", "_") if state.golden in GOLDEN else "mismatch"
            self._engines.labels(state.name, state.engine).set(1)
            self._golden.labels(state.name, outcome).set(1)
            new = state.fallbacks - self._fallbacks_seen.get(state.name, 0)
            self._fallbacks.labels(state.name).inc(max(0, new))
            self._fallbacks_seen[state.name] = state.fallbacks
        self._resident.set(_resident_bytes())
        self._open_files.set(_open_files())
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu = used.ru_utime + used.ru_stime
        self._cpu.inc(max(0.0, cpu - self._cpu_seen))
        self._cpu_seen = cpu

    def scrape(self) -> CollectorRegistry:
        """What a scrape shows now: of this process or, with several workers, of all of them together."""
        self.sample()
        return multiprocess.read_all_workers() or self.registry


def _known(name: str | None, names: frozenset[str]) -> str:
    """`name` where it is of a closed set."""
    return NONE if name is None else name if name in names else OTHER


def _size_class(body_bytes: int) -> str:
    return SIZE_CLASSES[bisect_left(SIZES, body_bytes)]


def _resident_bytes() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:  # not Linux: the largest it ever was, in KiB (macOS: bytes)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _open_files() -> int:
    try:
        return len(os.listdir("/proc/self/fd")) - 1  # less the one that lists
    except OSError:
        return 0
