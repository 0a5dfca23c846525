"""Leases on named budgets: reserve before a call, settle with what was billed, release what was not used.

`reserve` takes a lease on a part of a budget. It is atomic: however many callers ask at once, what is spent and what is
reserved never exceed the limit. A lease that is neither settled nor released expires. If it is settled later, it is
charged all the same, since the provider billed it. A lease belongs to the period in which it was taken, whenever it is
closed. Counting uses no budget.

Amounts are integers: tokens, or billionths of a dollar. A reservation is rounded up, a bill to the nearest.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from typing import Literal, Protocol

from service.budgets.named import MAX_AMOUNT, NANOS, Budget
from service.errors import InvalidRequest, NotFound, RateLimited

LeaseState = Literal["open", "settled", "released"]

_MAX_OPEN = 100_000
"""Leases of one budget that may be open at once. As many again are remembered after they were closed."""


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A budget at one moment. `spent` was billed, `reserved` is leased, both in this period.

    `remaining` is negative when more was billed than the limit allows.
    """

    budget: Budget
    spent: int
    reserved: int
    period_start: datetime
    period_end: datetime | None

    @property
    def remaining(self) -> int:
        return self.budget.limit - self.spent - self.reserved


@dataclass(frozen=True, slots=True)
class Reservation:
    """The result of `reserve`. When refused, `lease_id` is None and `retry_at` is when room may be free (None:
    never)."""

    state: BudgetState
    amount: int
    lease_id: str | None = None
    expires_at: datetime | None = None
    retry_at: datetime | None = None

    @property
    def granted(self) -> bool:
        return self.lease_id is not None


@dataclass(frozen=True, slots=True)
class Closing:
    """The result of `settle` or `release`. `lease_state` is how the lease was closed, `billed` what was charged.

    `repeated`: it was closed before, so nothing changed now. `late`: it had expired.
    """

    state: BudgetState
    lease_id: str
    lease_state: LeaseState
    reserved: int
    billed: int
    late: bool = False
    repeated: bool = False


class Leases(Protocol):
    """Where budgets are kept. Synchronous; may block."""

    @property
    def where(self) -> Literal["memory", "redis"]:
        """Answers show it, since budgets in memory are those of one process only."""
        ...

    def reserve(self, budget: Budget, amount: int) -> Reservation: ...

    def settle(self, budget: Budget, lease_id: str, billed: int) -> Closing:
        """Raises NotFound for an unknown lease."""
        ...

    def release(self, budget: Budget, lease_id: str) -> Closing:
        """Raises NotFound for an unknown lease."""
        ...

    def state(self, budget: Budget) -> BudgetState: ...

    def close(self) -> None:
        """Close the connections, if there are any."""
        ...


def utc_now() -> datetime:
    return datetime.now(UTC)


def check_amount(amount: int, field_name: str) -> int:
    """`amount`. Raises InvalidRequest when it is negative or too large to be exact."""
    if not 0 <= amount <= MAX_AMOUNT:
        raise InvalidRequest(f"{field_name} must be from 0 to {MAX_AMOUNT} units.", field=field_name)
    return amount


def to_nanodollars(amount: Decimal, *, upwards: bool) -> int:
    """USD in billionths. Round `upwards` for a reservation, to the nearest for a bill."""
    return int((amount * NANOS).to_integral_value(ROUND_CEILING if upwards else ROUND_HALF_EVEN))


def to_dollars(amount: int) -> Decimal:
    return Decimal(amount) / NANOS


def make_lease_id(period_start: datetime) -> str:
    """An id that nobody can guess. It starts with the period that the lease belongs to."""
    return f"{int(period_start.timestamp()):x}-{secrets.token_hex(12)}"


# ---------------------------------------------------------------- in this process


@dataclass(frozen=True, slots=True)
class _Lease:
    amount: int
    period_start: datetime
    expires_at: datetime
    closed_as: LeaseState = "open"
    billed: int = 0


@dataclass(slots=True)
class _Account:
    """What was billed and what is reserved of one budget, by period.

    `open` is nearly in the order of expiry: after the lease time was changed, some leases expire a little later than
    they should. `known` has all leases, closed ones too. The oldest are dropped first.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    spent: dict[datetime, int] = field(default_factory=dict)
    reserved: dict[datetime, int] = field(default_factory=dict)
    open: OrderedDict[str, _Lease] = field(default_factory=OrderedDict)
    known: OrderedDict[str, _Lease] = field(default_factory=OrderedDict)

    def close(self, lease_id: str) -> bool:
        """Remove a lease from `open`. False when it has expired."""
        lease = self.open.pop(lease_id, None)
        if lease is not None:
            self.reserved[lease.period_start] -= lease.amount
        return lease is not None

    def tidy(self, now: datetime) -> None:
        """Release expired leases and drop old periods."""
        while self.open:
            lease_id, lease = next(iter(self.open.items()))
            if lease.expires_at > now:
                break
            self.close(lease_id)
        while len(self.known) > 2 * _MAX_OPEN:
            self.known.popitem(last=False)
        for sums in (self.spent, self.reserved):
            for start in [start for start in sums if _EPOCH < start < now - _RETENTION]:
                del sums[start]


class MemoryLeases:
    """Budgets of this process only: each worker has its own. They are lost at a restart."""

    where: Literal["memory", "redis"] = "memory"

    def __init__(self, clock: Callable[[], datetime] = utc_now) -> None:
        self._clock = clock
        self._accounts: dict[str, _Account] = {}
        self._lock = threading.Lock()

    def reserve(self, budget: Budget, amount: int) -> Reservation:
        check_amount(amount, "amount")
        account, now = self._account(budget), self._clock()
        with account.lock:
            state = self._state(budget, account, now)
            if amount > state.remaining:
                return Reservation(state, amount, retry_at=_find_retry_time(state, account, amount))
            if len(account.open) >= _MAX_OPEN:
                raise RateLimited("Too many leases of this budget are open: settle or release some.", retry_after=1)
            lease = _Lease(amount, state.period_start, now + timedelta(seconds=budget.lease_seconds))
            lease_id = make_lease_id(state.period_start)
            account.open[lease_id] = account.known[lease_id] = lease
            account.reserved[lease.period_start] = account.reserved.get(lease.period_start, 0) + amount
            return Reservation(self._state(budget, account, now), amount, lease_id, lease.expires_at)

    def settle(self, budget: Budget, lease_id: str, billed: int) -> Closing:
        return self._close(budget, lease_id, "settled", check_amount(billed, "amount"))

    def release(self, budget: Budget, lease_id: str) -> Closing:
        return self._close(budget, lease_id, "released", 0)

    def state(self, budget: Budget) -> BudgetState:
        account = self._account(budget)
        with account.lock:
            return self._state(budget, account, self._clock())

    def close(self) -> None:
        """There are no connections."""

    def _close(self, budget: Budget, lease_id: str, as_: LeaseState, billed: int) -> Closing:
        account, now = self._account(budget), self._clock()
        with account.lock:
            account.tidy(now)
            lease = account.known.get(lease_id)
            if lease is None:
                raise NotFound("This budget has given no such lease.", field="lease_id")
            if lease.closed_as != "open":
                state = self._state(budget, account, now)
                return Closing(state, lease_id, lease.closed_as, lease.amount, lease.billed, repeated=True)
            late = not account.close(lease_id)
            account.known[lease_id] = replace(lease, closed_as=as_, billed=billed)
            account.spent[lease.period_start] = account.spent.get(lease.period_start, 0) + billed
            return Closing(self._state(budget, account, now), lease_id, as_, lease.amount, billed, late=late)

    def _account(self, budget: Budget) -> _Account:
        with self._lock:
            return self._accounts.setdefault(budget.account_key, _Account())

    @staticmethod
    def _state(budget: Budget, account: _Account, now: datetime) -> BudgetState:
        """The state at `now`, after expired leases were released. The caller has the lock."""
        account.tidy(now)
        start, end = budget.period(now)
        return BudgetState(budget, account.spent.get(start, 0), account.reserved.get(start, 0), start, end)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RETENTION = timedelta(days=70)
"""How long the sums of a period are kept. Leases of the previous month can still be settled."""


def _find_retry_time(state: BudgetState, account: _Account, amount: int) -> datetime | None:
    """When room may be free: at the next expiry or in the next period. None when `amount` never fits."""
    if amount > state.budget.limit:
        return None
    first = next(iter(account.open.values()), None)
    return min((at for at in (first and first.expires_at, state.period_end) if at), default=None)
