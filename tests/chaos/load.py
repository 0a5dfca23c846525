"""The load: clients that send requests at a steady rate, and compare every response with the known one."""

from __future__ import annotations

import http.client
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.client import Address, Template
from tests.chaos.kinds import Kind

CLIENTS = 8
A_SECOND = 100
"""Requests a second of all clients. It is less than half of what two cores answer, so that only a fault delays them."""

TIMEOUT_SECONDS = 20.0
"""A request without a response after this time is lost."""

KNOWN = 0.3
"""Share of requests that repeat an earlier one byte for byte. All others are new."""

KNOWN_NUMBERS = 20

NOT_ANSWERED = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses of a refusal. Every other response that differs from the known one is wrong."""

Verdict = Literal["right", "wrong", "lost"]


@dataclass(frozen=True, slots=True)
class Record:
    """One request: when it was sent (time.monotonic), seconds until its response, and the outcome.

    `again` is how often the client had to send it again, which it does when there is no proxy. `why` is what was wrong.
    """

    kind: Kind
    at: float
    seconds: float
    verdict: Verdict
    again: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """The requests of all clients."""

    records: Sequence[Record]

    def number(self, verdict: Verdict) -> int:
        return sum(record.verdict == verdict for record in self.records)

    @property
    def worst(self) -> float:
        """Seconds."""
        return max((record.seconds for record in self.records), default=0.0)

    @property
    def ledger(self) -> tuple[int, int]:
        """(calls, tokens) that the ledger must have."""
        return self._sum(self.records)

    def answered_between(self, start: float, end: float) -> tuple[int, int]:
        """(calls, tokens) of the requests that were answered between two times (time.monotonic)."""
        return self._sum([record for record in self.records if start <= record.at + record.seconds <= end])

    @staticmethod
    def _sum(records: Sequence[Record]) -> tuple[int, int]:
        right = [record.kind for record in records if record.verdict == "right"]
        return sum(kind.calls for kind in right), sum(kind.tokens for kind in right)

    def reasons(self) -> Counter[str]:
        return Counter(f"{record.kind.name}: {record.why}" for record in self.records if record.verdict != "right")


class Load:
    """Clients that send. Start and stop it once. `again` is how often a client retries when its connection breaks."""

    def __init__(
        self, url: str, kinds: Sequence[Kind], headers: Mapping[str, str], *, a_second: float = A_SECOND,
        clients: int = CLIENTS, again: int = 0,
    ) -> None:
        self.address = Address.parse(url)
        self.kinds = kinds
        self.again = again
        self._templates = {kind.name: Template.post(kind.path, kind.body, headers) for kind in kinds}
        self._pause = clients / a_second
        self._over = threading.Event()
        self._records: list[Record] = []  # appending is one step: no lock
        self._threads = [threading.Thread(target=self._client, args=(number,)) for number in range(clients)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> Seen:
        """Stop, and wait for the responses that have not come."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        return Seen(tuple(self._records))

    def so_far(self) -> Seen:
        return Seen(tuple(self._records))

    def _client(self, number: int) -> None:
        rng, connection = random.Random(time.time_ns() + number), _Connection(self.address)
        shares = [kind.share for kind in self.kinds]
        due = time.monotonic() + self._pause * number / len(self._threads)
        while not self._over.wait(max(0.0, due - time.monotonic())):
            kind = rng.choices(self.kinds, shares)[0]
            choice = rng.randrange(KNOWN_NUMBERS) if rng.random() < KNOWN else rng.randrange(10**12)
            self._records.append(self._ask(connection, kind, self._templates[kind.name].request(choice)))
            due = max(due + self._pause, time.monotonic())
        connection.close()

    def _ask(self, connection: _Connection, kind: Kind, request: bytes) -> Record:
        began = time.monotonic()
        for again in range(self.again + 1):
            try:
                status, content = connection.ask(request)
            except (OSError, http.client.HTTPException) as error:
                why = type(error).__name__
                continue
            took = time.monotonic() - began
            if status in NOT_ANSWERED and status != kind.status:
                return Record(kind, began, took, "lost", again, f"{status} {content[:120]!r}")
            right = (status, content) == (kind.status, kind.content)
            return Record(kind, began, took, "right" if right else "wrong", again, f"{status} {content[:120]!r}")
        return Record(kind, began, time.monotonic() - began, "lost", self.again, why)


class _Connection:
    """A connection that is kept as long as the other end keeps it. Raises the errors of sockets and http.client."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._socket: socket.socket | None = None

    def ask(self, request: bytes) -> tuple[int, bytes]:
        if self._socket is None:
            self._socket = socket.create_connection((self.address.host, self.address.port), timeout=TIMEOUT_SECONDS)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._socket.sendall(request)
            answer = http.client.HTTPResponse(self._socket)
            try:
                answer.begin()
                content = answer.read()
                stays = not answer.will_close
            finally:
                answer.close()
        except BaseException:
            self.close()
            raise
        if not stays:
            self.close()
        return answer.status, content

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
