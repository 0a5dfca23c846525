"""Operations: is the process alive, is it ready, what has it done. None of these reads a body or waits for a count."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from prometheus_client.exposition import choose_encoder
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service.dialects.native import WIRE
from service.edge import exchange_of, send_json
from service.metrics import Metrics
from service.tokenizers import registry
from service.types import Json

LOG = logging.getLogger("tallystick")

SELF_TEST_TEXT = "hello, world"

SELF_TEST_TOKENS = {
    "o200k_base": 3, "o200k_harmony": 3, "cl100k_base": 3, "p50k_base": 3, "p50k_edit": 3, "r50k_base": 3, "gpt2": 3,
    "claude": 3, "gemma3": 3, "claude-v3": 3, "claude-v4.7": 4, "claude-v4.8": 4,
}
"""Tokens of SELF_TEST_TEXT, by the reference engines (tests/test_ops.py); asked again at every readiness probe."""


@dataclass(slots=True)
class Readiness:
    """Whether the tokenizers that `names` lists are loaded and answer rightly.

    Warmed by a thread of its own, asked by probes. A tokenizer that failed and was loaded later by a request is ready
    then: nothing is remembered but the reason of the last failure.
    """

    names: tuple[str, ...]
    metrics: Metrics
    warmed: bool = False
    draining: bool = False
    reasons: dict[str, str] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._warm, name="warm", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Not ready any more; waits for a load that is under way."""
        self.draining = True
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _warm(self) -> None:
        for name in self.names:
            if self._stop.is_set():
                return
            began = time.perf_counter()
            try:
                registry.get_tokenizer(name).count(SELF_TEST_TEXT)
            except Exception as error:  # noqa: BLE001  whatever it is, the others go on and /readyz tells
                self.reasons[name] = str(error)
                LOG.error("tokenizer not loaded", extra={"fields": {"tokenizer": name, "reason": str(error)}})  # noqa: TRY400
            else:
                self.metrics.loaded(name, time.perf_counter() - began)
        self.warmed = True

    def report(self) -> tuple[bool, Json]:
        """(ready, what /readyz shows). Each warmed tokenizer is asked for a count that is known."""
        states = {state.name: state for state in registry.engine_states()}
        rows: dict[str, Json] = {}
        for name in self.names:
            if not registry.is_loaded(name):
                reason = self.reasons.get(name)
                rows[name] = {"ready": False, "reason": reason or "loading"}
                continue
            right = _answers_rightly(name)
            rows[name] = {"ready": right, **({} if right else {"reason": "wrong count in the self-test"})}
            if name in states:
                rows[name].update({k: v for k, v in asdict(states[name]).items() if k != "name"})
        ready = self.warmed and not self.draining and all(row["ready"] for row in rows.values())
        failed = self.warmed and not ready
        status = "draining" if self.draining else "ready" if ready else "failed" if failed else "starting"
        return ready, {"status": status, "tokenizers": rows}


def _answers_rightly(name: str) -> bool:
    tokens = registry.get_tokenizer(name).count(SELF_TEST_TEXT)
    return tokens == SELF_TEST_TOKENS.get(name, tokens) and tokens > 0


# ---------------------------------------------------------------- the routes


def make_livez() -> ASGIApp:
    """200 as long as the event loop turns."""

    async def livez(scope: Scope, receive: Receive, send: Send) -> None:
        _name(scope, "/livez")
        await send_json(scope, send, {"status": "alive"})

    return livez


def make_readyz(readiness: Readiness) -> ASGIApp:
    """200 when every warmed tokenizer answers rightly, else 503; the body says which and why."""

    async def readyz(scope: Scope, receive: Receive, send: Send) -> None:
        _name(scope, "/readyz")
        ready, body = readiness.report()
        await send_json(scope, send, body, status=200 if ready else 503)

    return readyz


def make_metrics(metrics: Metrics) -> ASGIApp:
    """Prometheus text, or OpenMetrics where the scraper asks for it."""

    async def metrics_page(scope: Scope, receive: Receive, send: Send) -> None:
        _name(scope, "/metrics")
        encode, content_type = choose_encoder(Headers(scope=scope).get("accept", ""))
        content = encode(metrics.registry)
        lines: Any = [(b"content-type", content_type.encode()), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": lines})
        await send({"type": "http.response.body", "body": content})

    return metrics_page


def make_tokenizers() -> ASGIApp:
    """Every tokenizer and the legacy names of some; nothing is loaded for it."""

    async def tokenizers(scope: Scope, receive: Receive, send: Send) -> None:
        _name(scope, "/v1/tokenizers")
        rows = [asdict(row) for row in registry.describe_tokenizers()]
        await send_json(scope, send, {"tokenizers": rows, "providers": dict(registry.PROVIDER_ALIASES)})

    return tokenizers


def _name(scope: Scope, route: str) -> None:
    exchange = exchange_of(scope)
    exchange.route, exchange.wire = route, WIRE
