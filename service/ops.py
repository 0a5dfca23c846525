"""Operations: is the process alive, is it ready, what has it done. None of these reads a body or waits for a count."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import pydantic_core
from prometheus_client.exposition import choose_encoder
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from service.dialects.base import Wire
from service.dialects.native import WIRE
from service.edge import exchange_of
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
        self.join()

    def join(self) -> None:
        """Wait for the warming thread, whatever came of it."""
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

Rendered = tuple[int, bytes, bytes]
"""Status, content type, content."""

JSON = b"application/json"


@dataclass(frozen=True, slots=True)
class Page:
    """An ASGI app that answers at once with what `render` makes of the request's headers."""

    path: str
    render: Callable[[Headers], Rendered]
    wire: Wire = WIRE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        exchange.route, exchange.wire = self.path, self.wire
        status, content_type, content = self.render(Headers(scope=scope))
        headers = [(b"content-type", content_type), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})


def pages(readiness: Readiness, metrics: Metrics) -> tuple[Page, ...]:
    """Alive, ready, metrics, and the list of tokenizers (nothing is loaded for it)."""

    def livez(_: Headers) -> Rendered:
        return 200, JSON, b'{"status":"alive"}'

    def readyz(_: Headers) -> Rendered:
        ready, body = readiness.report()
        return 200 if ready else 503, JSON, pydantic_core.to_json(body)

    def metrics_page(headers: Headers) -> Rendered:
        encode, content_type = choose_encoder(headers.get("accept", ""))
        return 200, content_type.encode(), encode(metrics.registry)

    def tokenizers(_: Headers) -> Rendered:
        rows = [asdict(row) for row in registry.describe_tokenizers()]
        return 200, JSON, pydantic_core.to_json({"tokenizers": rows, "providers": dict(registry.PROVIDER_ALIASES)})

    return (
        Page("/livez", livez), Page("/readyz", readyz), Page("/metrics", metrics_page),
        Page("/v1/tokenizers", tokenizers),
    )
