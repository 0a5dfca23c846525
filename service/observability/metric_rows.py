"""What /metrics shows, one row a metric, and the closed sets that its labels come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from service.errors import ServiceError

GaugeMode = Literal["livesum", "livemax"]
"""What a scrape shows when there are several workers: the sum, or the maximum, over those that are alive."""

TOKENIZER = ("tokenizer",)
PROVIDER_AND_MODEL = ("provider", "model")


@dataclass(frozen=True, slots=True)
class Row:
    """One metric. `name` gets the prefix `tallystick_`, unless it starts with `process_`, the prefix that Prometheus
    itself defines. `mode` matters for gauges alone."""

    kind: Literal["counter", "histogram", "gauge"]
    name: str
    help: str
    labels: tuple[str, ...] = ()
    mode: GaugeMode = "livesum"

    @property
    def full_name(self) -> str:
        return self.name if self.name.startswith("process_") else f"tallystick_{self.name}"


ROWS = (
    # requests
    Row("counter", "requests", "Requests answered.", ("route", "status")),
    Row("histogram", "request_seconds", "From the first byte of a request to the last of its answer.",
        ("route", "size")),
    Row("counter", "request_body_bytes", "Bytes of bodies, decompressed.", ("route",)),
    Row("counter", "rejections", "Requests refused or failed, by error code.", ("code",)),
    Row("counter", "connections_refused",
        "Connections closed before they had a request: full, slow (headers or rest).", ("reason",)),
    Row("counter", "rate_limit_fallbacks", "Requests whose rate one process judged alone, since Redis failed."),
    Row("gauge", "requests_in_flight", "Requests being answered."),
    Row("gauge", "worker_queue_depth", "Large requests being counted or waiting."),
    Row("gauge", "held_body_bytes", "Bytes of bodies being read or counted."),
    # counts
    Row("counter", "counts", "Counts given.", ("provider", "family", "method", "tokenizer", "engine")),
    Row("counter", "tokens_counted", "Input tokens counted.", (*PROVIDER_AND_MODEL, "method")),
    Row("counter", "cost_usd", "What the counted input tokens cost, uncached, by list price.", PROVIDER_AND_MODEL),
    Row("counter", "unpriced_tokens", "Input tokens counted whose price is not known.", PROVIDER_AND_MODEL),
    # tokenizers
    Row("gauge", "tokenizer_load_seconds", "Time to load at start.", TOKENIZER, "livemax"),
    Row("counter", "tokenized_texts", "Texts given to a tokenizer.", TOKENIZER),
    Row("counter", "tokenized_bytes", "Bytes (UTF-8) given to a tokenizer.", TOKENIZER),
    Row("counter", "tokenize_seconds", "Time tokenizers took to count.", TOKENIZER),
    Row("gauge", "tokenizer_engine", "Workers in which this engine answers.", (*TOKENIZER, "engine")),
    Row("gauge", "tokenizer_golden",
        "Workers by what the self-check said: ok, unconfirmed, not_checked or mismatch.", (*TOKENIZER, "outcome")),
    Row("counter", "tokenizer_fallbacks", "Loads that ended at the reference engine.", TOKENIZER),
    # caches and Redis
    Row("counter", "cache_lookups",
        "Looks into a cache (request, conversation, memory, redis): hit, miss, skipped, failed or garbage.",
        ("tier", "outcome")),
    Row("counter", "redis_writes", "Counts stored in Redis, dropped or failed.", ("outcome",)),
    Row("gauge", "redis_up", "Workers that may ask Redis now."),
    Row("gauge", "redis_degraded", "Workers that cannot ask Redis, or not write to it."),
    Row("gauge", "redis_round_trip_seconds", "How long asking Redis takes.", (), "livemax"),
    Row("gauge", "redis_write_queue", "Counts that wait to be stored in Redis."),
    Row("gauge", "count_seconds_per_mib",
        "How long counting 2^20 characters takes; by it Redis is asked or not.", TOKENIZER, "livemax"),
    # ledger
    Row("counter", "ledger_rows", "Rows of the ledger written, failed or dropped.", ("outcome",)),
    Row("counter", "drift_counted_tokens", "Counted for calls whose bill came.", ("family",)),
    Row("counter", "drift_billed_tokens", "Billed for calls that were counted.", ("family",)),
    # processes
    Row("gauge", "build_info", "1, with the version.", ("version",), "livemax"),
    Row("gauge", "workers", "Worker processes that answer."),
    Row("gauge", "process_resident_memory_bytes", "Resident memory; what workers share counts in each."),
    Row("gauge", "process_open_fds", "Open file descriptors."),
    Row("counter", "process_cpu_seconds", "Processor time, user and system."),
)

REQUEST_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Upper bounds of the buckets of `request_seconds`."""

BODY_SIZES = (0, 1 << 14, 1 << 18, 1 << 22)
"""Upper bounds of the size classes of bodies, in bytes. The last class has none."""

SIZE_CLASSES = ("none", "to_16_kib", "to_256_kib", "to_4_mib", "over_4_mib")

STATUS_CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx")

OTHER = "other"
"""The label of whatever is in no closed set: an unknown path, a model outside every family."""

NONE = "none"
"""The provider, family and model of a count that named a tokenizer instead of a model."""

MAX_MODELS = 500
"""How many canonical models get a series of their own: the first ones that are counted for. Others are `other`."""

GOLDEN_OUTCOMES = ("ok", "unconfirmed", "not checked")
"""What the self-check against the reference may say. Anything else is a mismatch."""


def error_codes(root: type[ServiceError] = ServiceError) -> frozenset[str]:
    """The code of every error of the service."""
    return frozenset({root.code}.union(*(error_codes(leaf) for leaf in root.__subclasses__())))
