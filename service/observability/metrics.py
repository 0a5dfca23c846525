"""Records what /metrics shows. Every label comes from a closed set, so no caller can add a series.

With several workers each writes its own files, and a scrape adds them up (service.observability.multiprocess).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from prometheus_client import CollectorRegistry

from service import __version__
from service.concurrency.byte_budget import ByteBudget
from service.concurrency.thread_pool import ThreadPool
from service.families import FAMILIES
from service.observability import multiprocess
from service.observability.metric_rows import (
    BODY_SIZES,
    MAX_MODELS,
    NONE,
    OTHER,
    SIZE_CLASSES,
    STATUS_CLASSES,
    error_codes,
)
from service.observability.metric_set import MetricSet
from service.observability.sampling import Sampler
from service.types import TokenCount

MAX_UNADDED = 1_000
"""Counts of texts that may wait to be added to the counters, where no request is answered and nobody scrapes."""


class AnsweredRequest(Protocol):
    """A request that was answered. service.api.context.RequestContext is one."""

    @property
    def route(self) -> str:
        """The template of its path."""
        ...

    @property
    def status(self) -> int:
        """HTTP status; 0 where none was sent."""
        ...

    @property
    def seconds(self) -> float:
        """How long the answer took."""
        ...

    @property
    def body_bytes(self) -> int:
        """Size of its body, decompressed."""
        ...

    @property
    def counts(self) -> Sequence[TokenCount]:
        """The counts that were given."""
        ...

    @property
    def error(self) -> str | None:
        """The code of the error, where it was refused or failed."""
        ...


class Metrics:
    """One registry an app. Call `sample` before each scrape and, with several workers, every second."""

    def __init__(self) -> None:
        metrics = MetricSet()
        self.registry, self._series, self._gauges = metrics.registry, metrics.series, metrics.gauges
        self._sampler = Sampler(metrics)
        self._routes: frozenset[str] = frozenset()
        self._families = frozenset(family.name for family in FAMILIES)
        self._providers = frozenset(family.provider for family in FAMILIES)
        self._error_codes = error_codes()
        self._models: set[str] = set()
        self._tokenized: deque[tuple[str, int, int, float]] = deque()
        self.in_flight = 0
        """Requests being answered. Whoever answers them adds and subtracts."""
        self.read_at_sample("requests_in_flight", lambda: self.in_flight)
        self._gauges["build_info"].labels(__version__).set(1)

    # ------------------------------------------------------------ sampling

    def watch(self, workers: ThreadPool, budget: ByteBudget, routes: Iterable[str]) -> None:
        """Read `workers` and `budget` at each sample. `routes` are the path templates that may appear as labels."""
        self.read_at_sample("worker_queue_depth", lambda: workers.busy)
        self.read_at_sample("held_body_bytes", lambda: budget.held)
        self._routes = frozenset(routes)

    def read_at_sample(self, gauge: str, read: Callable[[], float]) -> None:
        """Set a gauge without labels to the result of `read` at each sample. `gauge` is the name of its row."""
        self._sampler.add_reading(gauge, read)

    def call_at_sample(self, callback: Callable[[], None]) -> None:
        """Call `callback`, which sets gauges, at each sample."""
        self._sampler.add_callback(callback)

    def sample(self) -> None:
        """Update what is read instead of recorded: gauges, tokenizers, memory and processor time of this process."""
        self._add_tokenized()
        self._sampler.sample()

    def scrape(self) -> CollectorRegistry:
        """What a scrape shows now: of this process or, with several workers, of all of them together."""
        self.sample()
        return multiprocess.read_all_workers() or self.registry

    # ------------------------------------------------------------ requests

    def record_requests(self, contexts: Sequence[AnsweredRequest]) -> None:
        """Requests were answered, perhaps many at once. Those of the same route, status and size are added together."""
        groups: dict[tuple[str, int, str], list[AnsweredRequest]] = {}
        counts: list[TokenCount] = []
        for context in contexts:
            key = context.route, context.status, _get_size_class(context.body_bytes)
            groups.setdefault(key, []).append(context)
            counts += context.counts
            if context.error is not None:
                self.record_rejection(context.error)
        for (route, status, size), group in groups.items():
            self._add_requests(route if route in self._routes else OTHER, status or 500, size, group)
        if counts:
            self.record_counts(counts)
        self._add_tokenized()

    def _add_requests(self, route: str, status: int, size: str, group: Sequence[AnsweredRequest]) -> None:
        self._series["requests"][route, STATUS_CLASSES[status // 100 - 1]](len(group))
        observe = self._series["request_seconds"][route, size]
        for context in group:
            observe(context.seconds)
        if size != SIZE_CLASSES[0]:
            self._series["request_body_bytes"][route](sum([context.body_bytes for context in group]))

    def record_rejection(self, code: str) -> None:
        """A request, or an item of a batch, was refused or failed."""
        self._series["rejections"][code if code in self._error_codes else OTHER](1)

    def record_refused_connection(self, reason: str) -> None:
        """A connection was closed before it had a request (service.server.http.connection.Reason)."""
        self._series["connections_refused"][reason](1)

    def record_rate_fallback(self) -> None:
        """This process alone checked the rate of a request, because Redis failed."""
        self._series["rate_limit_fallbacks"][()](1)

    # ------------------------------------------------------------ counts

    def record_counts(self, counts: Sequence[TokenCount]) -> None:
        """Counts were given. Those with the same labels are added together: a batch has up to a thousand."""
        if len(counts) == 1:
            self._add_counts(counts)
            return
        groups: dict[tuple[Any, ...], list[TokenCount]] = {}
        for count in counts:
            key = (count.provider, count.model, count.model_match, count.family, count.method, count.tokenizer,
                   count.engine)
            groups.setdefault(key, []).append(count)
        for group in groups.values():
            self._add_counts(group)

    def _add_counts(self, counts: Sequence[TokenCount]) -> None:
        first = counts[0]
        provider, family = _label(first.provider, self._providers), _label(first.family, self._families)
        self._series["counts"][provider, family, first.method, first.tokenizer, first.engine](len(counts))
        model = NONE if first.model is None else self._label_model(first.model, first.model_match)
        self._series["tokens_counted"][provider, model, first.method](sum([count.input_tokens for count in counts]))
        if first.model is not None:
            self._add_cost((provider, model), counts)

    def _add_cost(self, labels: tuple[str, str], counts: Iterable[TokenCount]) -> None:
        cost = sum([count.cost.usd for count in counts if count.cost is not None])
        unpriced = sum([count.input_tokens for count in counts if count.cost is None])
        if cost:
            self._series["cost_usd"][labels](float(cost))
        if unpriced:
            self._series["unpriced_tokens"][labels](unpriced)

    def _label_model(self, model: str, match: str | None) -> str:
        if match == "inferred":
            return OTHER
        if model not in self._models:
            if len(self._models) >= MAX_MODELS:
                return OTHER
            self._models.add(model)
        return model

    # ------------------------------------------------------------ tokenizers

    def record_load(self, tokenizer: str, seconds: float) -> None:
        """A tokenizer was loaded. Its name is one that the registry knows."""
        self._gauges["tokenizer_load_seconds"].labels(tokenizer).set(seconds)

    def record_tokenized(self, tokenizer: str, texts: int, size: int, seconds: float) -> None:
        """A tokenizer of the registry counted `texts` texts of `size` bytes together. Threads that count call this, so
        it only notes the numbers; `_add_tokenized` adds them to the counters."""
        self._tokenized.append((tokenizer, texts, size, seconds))
        if len(self._tokenized) >= MAX_UNADDED:
            self._add_tokenized()

    def _add_tokenized(self) -> None:
        sums: dict[str, tuple[int, int, float]] = {}
        for _ in range(len(self._tokenized)):
            try:
                name, texts, size, seconds = self._tokenized.popleft()
            except IndexError:  # another thread took the rest
                break
            before = sums.get(name, (0, 0, 0.0))
            sums[name] = before[0] + texts, before[1] + size, before[2] + seconds
        for name, (texts, size, seconds) in sums.items():
            self._series["tokenized_texts"][name](texts)
            self._series["tokenized_bytes"][name](size)
            self._series["tokenize_seconds"][name](seconds)

    def set_count_cost(self, tokenizer: str, seconds: float) -> None:
        """How long `tokenizer` takes to count 2^20 characters."""
        self._gauges["count_seconds_per_mib"].labels(tokenizer).set(seconds)

    # ------------------------------------------------------------ caches and the ledger

    def record_lookup(self, tier: str, outcome: str, number: int = 1) -> None:
        """service.cache.base lists the values of `tier` and `outcome`."""
        self._series["cache_lookups"][tier, outcome](number)

    def record_redis_write(self, outcome: str, number: int) -> None:
        """Counts were stored in Redis, dropped, or could not be stored."""
        self._series["redis_writes"][outcome](number)

    def record_ledger_rows(self, outcome: str, number: int) -> None:
        """Rows of the ledger were written or dropped, or a batch of them failed."""
        self._series["ledger_rows"][outcome](number)

    def record_drift(self, family: str, counted: int, billed: int) -> None:
        """A bill came for a call that had been counted."""
        label = _label(family, self._families)
        self._series["drift_counted_tokens"][label](counted)
        self._series["drift_billed_tokens"][label](billed)


def _label(name: str | None, known: frozenset[str]) -> str:
    """`name` where it is in the closed set `known`."""
    return NONE if name is None else name if name in known else OTHER


def _get_size_class(body_bytes: int) -> str:
    return SIZE_CLASSES[bisect_left(BODY_SIZES, body_bytes)]
