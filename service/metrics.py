"""What /metrics shows. Every label comes from a closed set, so no caller can add a series."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from service import __version__, catalog
from service.bodies import ByteBudget
from service.errors import ServiceError
from service.families import FAMILIES
from service.tokenizers import registry as tokenizers
from service.types import TokenCount
from service.workers import Workers

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

OTHER = "other"
"""The label of whatever is not in a closed set: an unknown path, a model outside every family."""

NONE = "none"
"""The provider and family of a count that was asked of a tokenizer, not of a model."""

STATUS_CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx")


def error_codes(root: type[ServiceError] = ServiceError) -> frozenset[str]:
    """The code of every error there is."""
    return frozenset({root.code}.union(*(error_codes(leaf) for leaf in root.__subclasses__())))


class Metrics:
    """One registry an app."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each, which nobody asks for
        self.registry = CollectorRegistry()
        self._routes: frozenset[str] = frozenset()
        self._families = frozenset(family.name for family in FAMILIES)
        self._providers = frozenset(family.provider for family in FAMILIES)
        self._codes = error_codes()
        self.in_flight = Gauge("tallystick_requests_in_flight", "Requests being answered.", registry=self.registry)
        self._busy_workers = Gauge(
            "tallystick_worker_queue_depth", "Large requests being counted or waiting.", registry=self.registry
        )
        self._held_bytes = Gauge(
            "tallystick_held_body_bytes", "Bytes of bodies being read or counted.", registry=self.registry
        )
        self._requests = Counter(
            "tallystick_requests", "Requests answered.", ("route", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "tallystick_request_seconds", "From the first byte of a request to the last of its answer.", ("route",),
            buckets=SECONDS, registry=self.registry,
        )
        self._body_bytes = Counter(
            "tallystick_request_body_bytes", "Bytes of bodies, decompressed.", ("route",), registry=self.registry
        )
        labels = ("provider", "family", "method", "tokenizer", "engine")
        self._counts = Counter("tallystick_counts", "Counts given.", labels, registry=self.registry)
        self._tokens = Counter("tallystick_tokens_counted", "Input tokens counted.", labels, registry=self.registry)
        self._rejections = Counter(
            "tallystick_rejections", "Requests refused or failed, by error code.", ("code",), registry=self.registry
        )
        self._load_seconds = Gauge(
            "tallystick_tokenizer_load_seconds", "Time to load at start.", ("tokenizer",), registry=self.registry
        )
        Gauge("tallystick_build_info", "1, with the version.", ("version",), registry=self.registry).labels(
            __version__
        ).set(1)
        ProcessCollector(registry=self.registry)
        self.registry.register(TokenizerCollector())

    def watch(self, workers: Workers, budget: ByteBudget, routes: Iterable[str]) -> None:
        """Read these at each scrape. `routes` are the path templates that may appear as labels."""
        self._busy_workers.set_function(lambda: workers.busy)
        self._held_bytes.set_function(lambda: budget.held)
        self._routes = frozenset(routes)

    def answered(self, route: str, status: int, seconds: float, body_bytes: int) -> None:
        """A request was answered with an HTTP status."""
        route = route if route in self._routes else OTHER
        self._requests.labels(route, STATUS_CLASSES[status // 100 - 1]).inc()
        self._seconds.labels(route).observe(seconds)
        if body_bytes:
            self._body_bytes.labels(route).inc(body_bytes)

    def counted(self, count: TokenCount) -> None:
        """A count was given."""
        labels = (
            NONE if count.provider is None else count.provider if count.provider in self._providers else OTHER,
            self._family_of(count),
            count.method,
            count.tokenizer,
            count.engine,
        )
        self._counts.labels(*labels).inc()
        self._tokens.labels(*labels).inc(count.input_tokens)

    def _family_of(self, count: TokenCount) -> str:
        if count.model_ref is None:
            return NONE
        name = catalog.resolve(count.model_ref).family.name
        return name if name in self._families else OTHER

    def loaded(self, tokenizer: str, seconds: float) -> None:
        """A tokenizer was loaded; its name is one the registry knows."""
        self._load_seconds.labels(tokenizer).set(seconds)

    def rejected(self, code: str) -> None:
        """A request, or an item of a batch, was refused or failed."""
        self._rejections.labels(code if code in self._codes else OTHER).inc()


class TokenizerCollector(Collector):
    """Which engine answers for each loaded tokenizer, read at the moment of the scrape."""

    def collect(self) -> Iterator[Metric]:
        engines = GaugeMetricFamily(
            "tallystick_tokenizer_engine", "1 for the engine that answers.", labels=("tokenizer", "engine")
        )
        fallbacks = CounterMetricFamily(
            "tallystick_tokenizer_fallbacks", "Loads that ended at the reference engine.", labels=("tokenizer",)
        )
        for state in tokenizers.engine_states():
            engines.add_metric((state.name, state.engine), 1)
            fallbacks.add_metric((state.name,), state.fallbacks)
        yield from (engines, fallbacks)
