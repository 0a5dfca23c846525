"""What is written down of each request: metrics, a line of the log, rows of the ledger. Never its text."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from service.api.context import RequestContext
from service.ledger.ledger import Ledger
from service.observability.logs import log_requests
from service.observability.metrics import Metrics
from service.types import Json


@dataclass(slots=True)
class RequestLog:
    """One an app. Used from its event loop alone."""

    metrics: Metrics
    ledger: Ledger
    _pending: list[RequestContext] = field(default_factory=list)

    @contextmanager
    def open(self, context: RequestContext) -> Iterator[None]:
        """Counts the request as in flight while the block runs, and writes it down at the end of the block."""
        self.metrics.in_flight += 1
        try:
            yield
        finally:
            self.metrics.in_flight -= 1
            context.end()
            self.write([context])

    def note(self, context: RequestContext) -> None:
        """Write it down with the others that are answered in this round of the event loop: together they take half
        the time."""
        context.end()
        if not self._pending:
            asyncio.get_running_loop().call_soon(self._write_pending)
        self._pending.append(context)

    def _write_pending(self) -> None:
        contexts, self._pending = self._pending, []
        self.write(contexts)

    def write(self, contexts: Sequence[RequestContext]) -> None:
        """Write these requests to metrics, ledger and log."""
        self.metrics.record_requests(contexts)
        for context in contexts:
            if context.booked:
                self.ledger.counted(context.project, context.counts)
            if context.billed is not None:
                self.ledger.billed(context.project, context.billed)
        log_requests([(context.ended, _log_line(context)) for context in contexts])


def _log_line(context: RequestContext) -> dict[str, Json]:
    return {
        "request_id": context.request_id,
        "method": context.method,
        "route": context.route,
        "status": context.status,
        "ms": int(context.seconds * 100_000 + 0.5) / 100,  # round() formats the number and parses it again
        "bytes": context.body_bytes,
        "tokens": context.input_tokens,
        "project": context.project,
        "error": context.error,
    }
