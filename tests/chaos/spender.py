"""A client that spends from a budget all the time. It reserves, and settles each lease with what was billed.

A reservation has no id yet by which a repetition could be recognized, so only the client repeats it; a lease whose
response was lost expires. A settlement is repeated until it is answered, and is charged once.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.client import Address

PAUSE_SECONDS = 0.05
ASKED_AGAIN_SECONDS = 0.2
TIMEOUT_SECONDS = 10.0


@dataclass(slots=True)
class Spending:
    """What the client knows about its budget. `asked_again` counts requests that were refused (503) or not answered."""

    granted: int = 0
    settlements: list[tuple[float, int]] = field(default_factory=list)
    """When each settlement was answered (time.monotonic), and its tokens."""
    asked_again: int = 0
    unsettled: int = 0
    forgotten: int = 0
    """Leases that the service does not know, because Redis lost them after it had answered."""
    wrong: int = 0
    """Wrong responses: a refusal, or a settlement that was charged with another amount."""

    @property
    def settled(self) -> int:
        return len(self.settlements)

    @property
    def tokens(self) -> int:
        return sum(tokens for _, tokens in self.settlements)

    def settled_between(self, start: float, end: float) -> int:
        """Tokens."""
        return sum(tokens for at, tokens in self.settlements if start <= at <= end)


class Spender:
    """The client. It is started and stopped once. `budget` is a budget of tokens."""

    def __init__(self, url: str, budget: str, headers: Mapping[str, str]) -> None:
        self.spending = Spending()
        self._address = Address.parse(url)
        self._headers = dict(headers)
        self._budget = budget
        self._over = threading.Event()
        self._connection: http.client.HTTPConnection | None = None
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> Spending:
        """Stop, and wait until all leases are settled."""
        self._over.set()
        self._thread.join()
        return self.spending

    def _run(self) -> None:
        rng = random.Random(time.time_ns())
        while not self._over.wait(PAUSE_SECONDS):
            status, lease = self._ask("reserve", {"tokens": rng.randrange(1, 1000)})
            if status != 200:
                self._refused(status)
                self._over.wait(ASKED_AGAIN_SECONDS)
            elif not lease["granted"]:
                self.spending.wrong += 1
            else:
                self.spending.granted += 1
                self._settle(lease["lease_id"], rng.randrange(1, 1000))
        self._close()

    def _settle(self, lease_id: str, tokens: int) -> None:
        deadline = time.monotonic() + 3 * TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            status, settled = self._ask("settle", {"lease_id": lease_id, "tokens": tokens})
            if status == 200:
                self.spending.settlements.append((time.monotonic(), tokens))
                self.spending.wrong += (settled["billed"], settled["state"]) != (tokens, "settled")
                return
            if status == 404:
                self.spending.forgotten += 1
                return
            self._refused(status)
            time.sleep(ASKED_AGAIN_SECONDS)
        self.spending.unsettled += 1

    def _refused(self, status: int) -> None:
        if status and status < 500:
            self.spending.wrong += 1
        else:
            self.spending.asked_again += 1

    def _ask(self, what: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        """The status and the response. The status is 0 when there is no response."""
        connection = self._connection or http.client.HTTPConnection(
            self._address.host, self._address.port, timeout=TIMEOUT_SECONDS
        )
        self._connection = connection
        try:
            connection.request("POST", f"/v1/budgets/{self._budget}/{what}", json.dumps(body), self._headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self._close()
            return 0, None
        return answer.status, json.loads(content) if answer.status == 200 else None

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
