"""Whether the process is ready: its tokenizers are loaded and count correctly, and its API keys have been read."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from service import catalog
from service.counting.counter import Counter
from service.dialects import native
from service.errors import InvalidRequest, ServiceError, UnknownModel
from service.observability.metrics import Metrics
from service.tokenizers import registry
from service.tokenizers.registry import EngineState
from service.types import Json

LOG = logging.getLogger("tallystick")

SELF_TEST_TEXT = "hello, world"

SELF_TEST_TOKENS = {
    "o200k_base": 3, "o200k_harmony": 3, "cl100k_base": 3, "p50k_base": 3, "p50k_edit": 3, "r50k_base": 3, "gpt2": 3,
    "claude": 3, "gemma3": 3, "claude-v3": 3, "claude-v4.7": 4, "claude-v4.8": 4,
}
"""How many tokens SELF_TEST_TEXT has, by the reference engines (tests/service/test_readiness.py). Each readiness probe
counts it again."""

FIRST_REQUESTS: tuple[Json, ...] = (
    {"model": "gpt-4o", "request": {"messages": [{"role": "user", "content": SELF_TEST_TEXT}]}},
    {"model": "claude-sonnet-4-5", "request": {"messages": [{"role": "user", "content": SELF_TEST_TEXT}]}},
    {"model": "gemini-2.5-flash", "request": {"contents": [{"role": "user", "parts": [{"text": SELF_TEST_TEXT}]}]}},
    {"model": "no-such-model", "text": ""},
)
"""Counted at the start, before any caller's request: the catalog, the suggestions for unknown names and the renderers
are loaded when they are first used."""

REQUESTS, KEYS = "requests", "keys"
"""The rows of /readyz for first requests that failed, and for API keys that have not been read."""


@dataclass(slots=True)
class Readiness:
    """Whether the tokenizers that `tokenizer_names` lists are loaded and count correctly.

    A thread of its own loads them; readiness probes call `report`. A tokenizer that could not be loaded is ready as
    soon as a request has loaded it: only the reason of the last failure is remembered.
    """

    tokenizer_names: tuple[str, ...]
    metrics: Metrics
    counter: Counter
    report_backends: Callable[[], Mapping[str, Json]] = dict
    """What else /readyz shows, by name. When one of them says `degraded`, the service is ready, but degraded."""
    has_keys: Callable[[], bool] = lambda: True
    """Whether the API keys have been read. A process that cannot authenticate anybody is not ready."""
    before_ready: Callable[[], object] = lambda: None
    """Called when everything is loaded, just before the service is ready."""
    is_warm: bool = False
    draining: bool = False
    reasons: dict[str, str] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._warm, name="warm", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop being ready. Waits for a tokenizer that is being loaded."""
        self.draining = True
        self._stop.set()
        self.join()

    def join(self) -> None:
        """Wait for the thread that loads, whether it succeeds or not."""
        if self._thread is not None:
            self._thread.join()

    def _warm(self) -> None:
        for name in self.tokenizer_names:
            if self._stop.is_set():
                return
            began = time.perf_counter()
            with self._keep_reason(name):
                registry.get_tokenizer(name).count(SELF_TEST_TEXT)
                self.metrics.record_load(name, time.perf_counter() - began)
        for body in FIRST_REQUESTS:
            with self._keep_reason(REQUESTS), suppress(InvalidRequest, UnknownModel):
                request = native.read(body)
                model = catalog.resolve(request.model_ref or "")
                if model.family.tokenizer in self.tokenizer_names:
                    self.counter.count(request)
        self.before_ready()
        self.is_warm = True

    @contextmanager
    def _keep_reason(self, what: str) -> Iterator[None]:
        """An error is logged and shown by /readyz, under the name `what`. The rest is loaded nevertheless."""
        try:
            yield
        except ServiceError as error:
            self.reasons[what] = error.message
            fields = {"what": what, "reason": error.message}
            LOG.error("not loaded", extra={"fields": fields})  # noqa: TRY400 - the message says it, no traceback
        except Exception as error:
            self.reasons[what] = type(error).__name__
            LOG.exception("not loaded", extra={"fields": {"what": what}})

    def report(self) -> tuple[bool, Json]:
        """Whether the process is ready, and what /readyz shows. Each loaded tokenizer counts SELF_TEST_TEXT again."""
        states = {state.name: state for state in registry.engine_states()}
        rows = {name: self._row(name, states.get(name)) for name in self.tokenizer_names}
        if REQUESTS in self.reasons:
            rows[REQUESTS] = {"ready": False, "reason": self.reasons[REQUESTS]}
        right = all(row["ready"] for row in rows.values())
        known = self.has_keys()
        if not known:
            rows[KEYS] = {"ready": False, "reason": "not read yet"}
        started = self.is_warm and known
        ready = started and right and not self.draining
        status = "draining" if self.draining else "starting" if not started else "ready" if right else "failed"
        backends = dict(self.report_backends())
        if ready and any(row["status"] == "degraded" for row in backends.values()):
            status = "degraded"
        return ready, {"status": status, "tokenizers": rows, **backends}

    def _row(self, name: str, state: EngineState | None) -> dict[str, Json]:
        if not registry.is_loaded(name):
            return {"ready": False, "reason": self.reasons.get(name, "loading")}
        tokens = registry.get_tokenizer(name).count(SELF_TEST_TEXT)
        row: dict[str, Json] = {"ready": tokens == SELF_TEST_TOKENS.get(name, tokens) and tokens > 0}
        if not row["ready"]:
            row["reason"] = "wrong count in the self-test"
        if state is not None:
            row |= {"engine": state.engine, "golden": state.golden, "fallbacks": state.fallbacks}
        return row
