"""Metrics that are read at a moment instead of being recorded as things happen: the state of this process, of its
tokenizers, and of whatever registers a function here."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable

from service.observability.metric_rows import GOLDEN_OUTCOMES
from service.observability.metric_set import MetricSet
from service.tokenizers import registry as tokenizers


class Sampler:
    """Sets the gauges of a MetricSet. Thread-safe: a scrape and the housekeeping may sample at the same time."""

    def __init__(self, metrics: MetricSet) -> None:
        self._gauges, self._series = metrics.gauges, metrics.series
        self._readings: list[tuple[str, Callable[[], float]]] = []
        self._callbacks: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._cpu_before = 0.0
        self._fallbacks_before: dict[str, int] = {}

    def add_reading(self, gauge: str, read: Callable[[], float]) -> None:
        """Set a gauge without labels to the result of `read` at each sample."""
        self._readings.append((gauge, read))

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Call `callback`, which sets what it has to, at each sample."""
        self._callbacks.append(callback)

    def sample(self) -> None:
        with self._lock:
            for gauge, read in self._readings:
                self._gauges[gauge].set(read())
            for callback in self._callbacks:
                callback()
            self._sample_tokenizers()
            self._sample_process()

    def _sample_tokenizers(self) -> None:
        for state in tokenizers.engine_states():
            outcome = state.golden.replace(" ", "_") if state.golden in GOLDEN_OUTCOMES else "mismatch"
            self._gauges["tokenizer_engine"].labels(state.name, state.engine).set(1)
            self._gauges["tokenizer_golden"].labels(state.name, outcome).set(1)
            new = state.fallbacks - self._fallbacks_before.get(state.name, 0)
            self._series["tokenizer_fallbacks"][state.name](max(0, new))
            self._fallbacks_before[state.name] = state.fallbacks

    def _sample_process(self) -> None:
        self._gauges["workers"].set(1)
        self._gauges["process_resident_memory_bytes"].set(read_resident_bytes())
        self._gauges["process_open_fds"].set(count_open_files())
        cpu = read_cpu_seconds()
        self._series["process_cpu_seconds"][()](max(0.0, cpu - self._cpu_before))
        self._cpu_before = cpu


def read_resident_bytes() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:  # not Linux: the largest it ever was, in KiB (macOS: bytes)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def count_open_files() -> int:
    """0 where the system does not say."""
    try:
        return len(os.listdir("/proc/self/fd")) - 1  # less the one that lists
    except OSError:
        return 0


def read_cpu_seconds() -> float:
    """Processor time of this process so far, user and system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
