"""What is known of one request while it is answered: the request context."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.types import Scope

from service.api.operations import Reply
from service.auth.keys import Key
from service.dialects.endpoints import Wire
from service.ledger.ledger import Billed
from service.observability.metric_rows import OTHER
from service.types import TokenCount

DEFAULT_PROJECT = "default"
"""The project of requests that name none, or one that is not known."""

REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
"""A caller's own request id is taken over if it looks like this. Anything else could forge log lines."""


@dataclass(slots=True)
class RequestContext:
    """Filled in while a request is answered, and written to metrics, log and ledger at its end.

    `project` is of a closed set: the name of the key, or what X-Tallystick-Project said of those that are configured.
    `headers` are added to those of the answer. `counts` are the counts in the answer; the ledger gets them where they
    are `booked`, and what was `billed`. `seconds` is how long answering took; `ended` is the Unix time of its end.
    """

    request_id: str
    method: str = "GET"
    route: str = OTHER
    dialect: Wire | None = None
    key: Key | None = None
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
        """The sum of all its counts; None where there are none."""
        return sum([count.input_tokens for count in self.counts]) if self.counts else None

    def take(self, reply: Reply) -> None:
        """Note the counts and bills of an answer."""
        self.counts, self.booked, self.billed = reply.counts, reply.booked, reply.billed

    def end(self) -> None:
        self.seconds, self.ended = time.perf_counter() - self.began, time.time()


def open_context(scope: Scope) -> RequestContext:
    """A new context, kept in the scope. Its request id is the caller's own or a new one."""
    context: RequestContext
    context = scope["tallystick"] = RequestContext(find_request_id(scope), scope["method"])
    return context


def get_context(scope: Scope) -> RequestContext:
    """The context that `open_context` made."""
    context: RequestContext = scope["tallystick"]
    return context


def find_request_id(scope: Scope) -> str:
    """The caller's own, or a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and REQUEST_ID.fullmatch(value):
            sent: str = value.decode("ascii")
            return sent
    return f"{random.getrandbits(64):016x}"  # needs to be no secret, and asking the system takes 3 us
