"""Rate limits: a number of requests and of counted tokens per minute, for each key or, without keys, client address.

Windows are fixed minutes. Each caller's window starts at a second of its own, so that not all callers come back at
once. One increment tells everything: whether the request is allowed, how many are left, when the window ends. It takes
3 us in memory and one round trip in Redis.

A request is taken before its body is read. Its tokens are known only after the count and are charged then. So a caller
that has used up its tokens is refused from the next request on.

In Redis the storages of the `limits` library count the windows. In memory `WindowCounts` does: the library's own memory
storage starts a thread every 10 ms that goes through all callers.
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
"""Longest wait for the shared store. After that this process counts by itself. The store has shorter timeouts, too."""

MAX_CONCURRENT = 8
"""Requests that may ask the shared store at once; the others wait. The client opens a connection for each and keeps it:
a burst of a thousand requests would leave a thousand connections open, in every process."""

CONNECT_SECONDS = 2.0
"""Longest wait for the shared store when the service starts."""

MAX_CALLERS = 50_000
"""Windows kept in memory, 0.3 KB each. Beyond that the older half is dropped, so a flood of addresses does no harm."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Requests and tokens per minute. 0 means no limit."""

    requests: int = 0
    tokens: int = 0

    def override(self, requests: int | None, tokens: int | None) -> Rates:
        """These rates, with what a key sets itself in place of them. None keeps the rate."""
        if requests is None and tokens is None:
            return self
        return Rates(self.requests if requests is None else requests, self.tokens if tokens is None else tokens)


class Answer(Protocol):
    """What a limiter needs of an answer: it adds headers that say what is left."""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]: ...


def name_client(host: str | None) -> str:
    """The name by which a caller without a key is counted: its address, or for IPv6 its /64 network, since one customer
    usually has a whole one. `local` when there is no address, as on a unix socket."""
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
    """Windows that all processes count in. `errors` lists what `add` may raise."""

    errors: tuple[type[Exception], ...]

    async def add(self, key: str, amount: int) -> int:
        """Add `amount` to the window `key` and return its new count."""
        ...

    async def close(self) -> None: ...


class WindowCounts:
    """Windows in memory. They are kept in two generations of `seconds` each; the older one is dropped as a whole."""

    def __init__(self, seconds: float = 2 * MINUTE, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._new: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._turn_at = clock() + seconds

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def add(self, key: str, amount: int = 1) -> int:
        """Add `amount` to the window `key` and return its new count."""
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
    """The current minute of a caller: its key in a store, and the whole seconds until it ends."""

    key: str
    ends_in: int


def find_window(who: str, kind: str, now: float | None = None) -> Window:
    """The window of caller `who` at `now` (seconds since 1970). It depends on nothing else, so all processes agree."""
    at = (time.time() if now is None else now) + crc32(who.encode()) % MINUTE
    number, passed = divmod(int(at), MINUTE)
    return Window(f"{who}/{kind}/{number}", MINUTE - passed)


class RateLimiter:
    """Counts in `shared`, for all processes. When that is None or fails, each process counts for itself.

    `fell_back` is called for each request that was counted so after a failure. Used from one event loop.
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
        """Count one request and add headers to its answer. Raises RateLimited when a limit is used up."""
        if rates.requests:
            window = find_window(who, "requests")
            self._check("requests", rates.requests, rates.requests - await self._add(window, 1), window, answer)
        if rates.tokens:
            window = find_window(who, "tokens")
            left = rates.tokens - self._counts.get(window.key)
            self._check("tokens", rates.tokens, left or -1, window, answer)  # 0 left: refuse

    async def charge(self, who: str, rates: Rates, tokens: int) -> None:
        """Charge `tokens` that were counted for a request."""
        if rates.tokens:
            window = find_window(who, "tokens")
            self._counts.put(window.key, await self._add(window, tokens))

    def _check(self, kind: str, limit: int, left: int, window: Window, answer: Answer) -> None:
        """Add headers that say what is left. Raises RateLimited when that is negative."""
        answer.headers.extend(_headers(kind, limit, max(0, left), window.ends_in))
        if left < 0:
            raise RateLimited(
                f"The limit of {limit} {kind} a minute is used up; it starts anew in {window.ends_in} seconds.",
                retry_after=window.ends_in,
            )

    async def open(self) -> None:
        """Connect now, so that no request has to wait for it. If that fails, the store is asked again later."""
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
        """The count in the shared store. None when it fails, or failed for another request while this one waited."""
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
    """The header fields of the IETF draft (10): the policy, and what is left of it until the window ends.

    For requests there are also the three numbers of the drafts before the seventh, which many clients read.
    """
    name = kind.encode()
    fields = [
        (b"ratelimit-policy", b'"%s";q=%d;w=%d' % (name, limit, MINUTE)),
        (b"ratelimit", b'"%s";r=%d;t=%d' % (name, left, seconds)),
    ]
    if kind == "requests":
        numbers = {b"limit": limit, b"remaining": left, b"reset": seconds}
        fields += [(b"ratelimit-" + word, b"%d" % number) for word, number in numbers.items()]
    return fields
