"""What is written down of each request: metrics, a line of the log, rows of the ledger. Never its text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from service.api.operations import Reply
from service.dialects.endpoints import Wire
from service.ledger.ledger import Billed, Ledger
from service.observability.logs import log_requests
from service.observability.metrics import OTHER, Metrics
from service.types import Json, TokenCount

DEFAULT_PROJECT = "default"
"""Of requests that name none that is known."""


@dataclass(slots=True)
class Exchange:
    """What is known of one request while it is answered; routes write into it, and in the end it is written down.

    `project` is of a closed set: the name of the key, or what X-Tallystick-Project said of those that are configured.
    `headers` are added to those of the answer. `counts` are those that were given; the ledger gets them where they are
    `booked`, and what was `billed`. `seconds` are those that answering took.
    """

    request_id: str
    method: str = "GET"
    route: str = OTHER
    wire: Wire | None = None
    status: int = 0
    body_bytes: int = 0
    counts: Sequence[TokenCount] = ()
    booked: bool = False
    billed: Billed | None = None
    error: str | None = None
    project: str = DEFAULT_PROJECT
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0
    ended: float = 0.0

    @property
    def input_tokens(self) -> int | None:
        """Of all its counts; None where there are none."""
        return sum([count.input_tokens for count in self.counts]) if self.counts else None

    def take(self, reply: Reply) -> None:
        """What was replied."""
        self.counts, self.booked, self.billed = reply.counts, reply.booked, reply.billed

    def end(self) -> None:
        self.seconds, self.ended = time.perf_counter() - self.began, time.time()


@dataclass(slots=True)
class Books:
    """One an app. Used from its event loop alone."""

    metrics: Metrics
    ledger: Ledger
    _unwritten: list[Exchange] = field(default_factory=list)

    @contextmanager
    def open(self, exchange: Exchange) -> Iterator[None]:
        """While a request is answered; then it is written down."""
        self.metrics.in_flight += 1
        try:
            yield
        finally:
            self.metrics.in_flight -= 1
            exchange.end()
            self.write([exchange])

    def note(self, exchange: Exchange) -> None:
        """Write it down with the others that are answered in this round of the event loop: it takes half the time."""
        exchange.end()
        if not self._unwritten:
            asyncio.get_running_loop().call_soon(self._write_round)
        self._unwritten.append(exchange)

    def _write_round(self) -> None:
        exchanges, self._unwritten = self._unwritten, []
        self.write(exchanges)

    def write(self, exchanges: Sequence[Exchange]) -> None:
        self.metrics.answered(exchanges)
        for exchange in exchanges:
            if exchange.booked:
                self.ledger.counted(exchange.project, exchange.counts)
            if exchange.billed is not None:
                self.ledger.billed(exchange.project, exchange.billed)
        log_requests([(exchange.ended, _line(exchange)) for exchange in exchanges])


def _line(exchange: Exchange) -> dict[str, Json]:
    return {
        "request_id": exchange.request_id,
        "method": exchange.method,
        "route": exchange.route,
        "status": exchange.status,
        "ms": int(exchange.seconds * 100_000 + 0.5) / 100,  # rounding writes the number down and reads it again
        "bytes": exchange.body_bytes,
        "tokens": exchange.input_tokens,
        "project": exchange.project,
        "error": exchange.error,
    }
