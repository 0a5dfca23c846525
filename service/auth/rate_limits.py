"""Rate limits: so many requests and so many counted tokens a minute, by key or, without keys, by client address.

Windows are fixed minutes, each caller's beginning at a second of its own, so that not all come back at once. One
increment says all there is to know (allowed, how many are left, when the window ends): 3 us in memory, one round trip
in Redis. Requests are taken before the body is read. Tokens are known only after the count, so they are charged then:
a caller that has used up its tokens is refused from the next request on.

Counting windows is done by storages of the `limits` library: its own for Redis, and one of ours in memory (its own
starts a thread every 10 ms that goes through all the callers there are).
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from zlib import crc32

from service.errors import RateLimited
from service.redis.circuit_breaker import CircuitBreaker

LOG = logging.getLogger("tallystick")

MINUTE = 60

SHARED_SECONDS = 1.0
"""Longest wait for a shared store, which has shorter ones of its own; then the request is counted here."""

MAX_CONCURRENT = 8
"""Requests that ask a shared store at the same time; the others wait for a place. Its client opens a connection for
each that asks, and keeps it: a burst of a thousand would leave a thousand connections open, in every process."""

CONNECT_SECONDS = 2.0
"""Longest wait for a shared store at the start."""

MAX_CALLERS = 50_000
"""Windows remembered, 0.3 KB each; beyond that the older half is forgotten: a flood of addresses takes no memory."""


@dataclass(frozen=True, slots=True)
class Rates:
    """How much a minute; 0 is no limit."""

    requests: int = 0
    tokens: int = 0

    def override(self, requests: int | None, tokens: int | None) -> Rates:
        """These, except for what a key says itself."""
        if requests is None and tokens is None:
            return self
        return Rates(self.requests if requests is None else requests, self.tokens if tokens is None else tokens)


class Answer(Protocol):
    """An answer to which a limiter adds headers that say what is left."""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]: ...


def name_client(host: str | None) -> str:
    """The name under which a caller without a key is counted: its address, of IPv6 the network of 64 bits that one
    customer has. `local` where there is no address, as on a unix socket."""
    if host is None:
        return "local"
    if ":" not in host:
        return f"ip:{host}"
    try:
        return f"ip:{ipaddress.ip_network((host.partition('%')[0], 64), strict=False)}"
    except ValueError:
        return "local"


# ---------------------------------------------------------------- counting


class SharedWindows(Protocol):
    """Windows that all processes count in. `errors` is what `add` raises where it fails."""

    errors: tuple[type[Exception], ...]

    async def add(self, key: str, amount: int) -> int:
        """The count after `amount` was added."""
        ...

    async def close(self) -> None: ...


class WindowCounts:
    """Windows in memory: two generations of `seconds` each, the older of which is dropped as a whole."""

    def __init__(self, seconds: float = 2 * MINUTE, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._new: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._turn_at = clock() + seconds

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def add(self, key: str, amount: int = 1) -> int:
        """The count after `amount` was added."""
        count = self.get(key) + amount
        self.put(key, count)
        return count

    def get(self, key: str) -> int:
        return self._new.get(key) or self._old.get(key, 0)

    def put(self, key: str, count: int) -> None:
        if len(self._new) >= MAX_CALLERS // 2 or self._clock() >= self._turn_at:
            self._old, self._new = self._new, {}
            self._turn_at = self._clock() + self._seconds
        self._new[key] = count


# ---------------------------------------------------------------- limiting


@dataclass(frozen=True, slots=True)
class Window:
    """The minute that a caller is in: its key in a store, and the whole seconds until it ends."""

    key: str
    ends_in: int


def find_window(who: str, kind: str, now: float | None = None) -> Window:
    """All processes agree on it: it follows from the clock and the name."""
    at = (time.time() if now is None else now) + crc32(who.encode()) % MINUTE
    number, passed = divmod(int(at), MINUTE)
    return Window(f"{who}/{kind}/{number}", MINUTE - passed)


class RateLimiter:
    """`shared` counts for all processes. Where it fails (`fell_back` is told), and where it is None, each counts for
    itself. Used from one event loop.
    """

    def __init__(
        self, rates: Rates, shared: SharedWindows | None = None, fell_back: Callable[[], None] = lambda: None
    ) -> None:
        self.rates = rates
        self._shared = shared
        self._errors: tuple[type[Exception], ...] = (*(shared.errors if shared else ()), TimeoutError, OSError)
        self._fell_back = fell_back
        self._counts = WindowCounts()
        self._breaker = CircuitBreaker()
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)

    async def take(self, who: str, rates: Rates, answer: Answer) -> None:
        """Let one request pass, its answer telling what is left. Raises RateLimited."""
        if rates.requests:
            window = find_window(who, "requests")
            self._check("requests", rates.requests, rates.requests - await self._add(window, 1), window, answer)
        if rates.tokens:
            window = find_window(who, "tokens")
            left = rates.tokens - self._counts.get(window.key)
            self._check("tokens", rates.tokens, left or -1, window, answer)  # nothing is left for this request

    async def charge(self, who: str, rates: Rates, tokens: int) -> None:
        """Take `tokens` that were counted."""
        if rates.tokens:
            window = find_window(who, "tokens")
            self._counts.put(window.key, await self._add(window, tokens))

    def _check(self, kind: str, limit: int, left: int, window: Window, answer: Answer) -> None:
        """Tell what is left, and refuse where that is less than nothing."""
        answer.headers.extend(_headers(kind, limit, max(0, left), window.ends_in))
        if left < 0:
            raise RateLimited(
                f"The limit of {limit} {kind} a minute is used up; it starts anew in {window.ends_in} seconds.",
                retry_after=window.ends_in,
            )

    async def open(self) -> None:
        """Connect, so that no request has to wait for it; a store that is not there is asked again later."""
        if self._shared is not None:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self._shared.add("opened", 1)
            except self._errors:
                self._breaker.failed()

    async def close(self) -> None:
        if self._shared is not None:
            await self._shared.close()

    async def _add(self, window: Window, amount: int) -> int:
        if self._shared is None:
            return self._counts.add(window.key, amount)
        count = await self._ask(self._shared, window, amount) if self._may_ask else None
        if count is None:
            self._fell_back()
            return self._counts.add(window.key, amount)
        return count

    @property
    def _may_ask(self) -> bool:
        return self._breaker.closed or self._breaker.probe_due()

    async def _ask(self, shared: SharedWindows, window: Window, amount: int) -> int | None:
        """What the shared store says; None where it fails, or has been found to fail while this one waited."""
        try:
            async with asyncio.timeout(SHARED_SECONDS), self._slots:
                if not self._may_ask:
                    return None
                count = await shared.add(window.key, amount)
        except self._errors as error:
            if self._breaker.closed:
                reason = type(error).__name__
                LOG.warning("rate limits are kept by each process", extra={"fields": {"reason": reason}})
            self._breaker.failed()
            return None
        self._breaker.probed()
        self._breaker.succeeded()
        return count


def _headers(kind: str, limit: int, left: int, seconds: int) -> list[tuple[bytes, bytes]]:
    """The fields of the standard in the making (draft 10): a policy, and what is left of it until it starts anew. Of
    requests also the three numbers of its drafts before the seventh, which many clients read."""
    name = kind.encode()
    fields = [
        (b"ratelimit-policy", b'"%s";q=%d;w=%d' % (name, limit, MINUTE)),
        (b"ratelimit", b'"%s";r=%d;t=%d' % (name, left, seconds)),
    ]
    if kind == "requests":
        numbers = {b"limit": limit, b"remaining": left, b"reset": seconds}
        fields += [(b"ratelimit-" + word, b"%d" % number) for word, number in numbers.items()]
    return fields
