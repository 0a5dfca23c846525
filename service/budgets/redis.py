"""Leases in Redis, shared by all workers. Each call is one script, so it happens as a whole or not at all.

All keys of a budget have one hash tag, so that a cluster keeps them on one node. Leases expire by the clock of Redis.
The period goes by the clock of the caller. If Redis cannot be asked, nothing is granted: no budget may be exceeded
unnoticed.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

from redis.exceptions import NoScriptError

from service.budgets.leases import BudgetState, Closing, LeaseState, Reservation, check_amount, make_lease_id, utc_now
from service.budgets.named import Budget
from service.errors import NotFound, Overloaded, RateLimited
from service.redis.circuit_breaker import CircuitBreaker
from service.redis.client import REDIS_ERRORS, UNREACHABLE, Client, classify_error

LOG = logging.getLogger("tallystick")

MAX_OPEN = 100_000
RETENTION = timedelta(days=70)
"""How long leases and the sums of past periods are kept."""

SCRIPT = """
local spent, reserved, open, lease = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local what, period = ARGV[1], ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function minus(amount)  -- Redis takes no -0
  return amount == '0' and '0' or '-' .. amount
end

repeat
  local gone = redis.call('ZRANGEBYSCORE', open, '-inf', now, 'LIMIT', 0, 1000)
  for _, member in ipairs(gone) do
    local of, amount = string.match(member, '^(%d+)|[^|]+|(%d+)$')
    redis.call('HINCRBY', reserved, of, minus(amount))
    redis.call('ZREM', open, member)
  end
until #gone < 1000

local function read(sums)
  return redis.call('HGET', sums, period) or '0'
end

local function reply(answer, ...)
  return {answer, read(spent), read(reserved), ...}
end

if what == 'reserve' then
  local id, amount, limit, ttl, kept, oldest = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
  local ends = redis.call('HGET', lease, 'ends')
  if ends then return reply('granted', ends) end  -- the client lost the first reply and sent it again: reserved once
  if tonumber(amount) > tonumber(limit) - tonumber(read(spent)) - tonumber(read(reserved)) then
    local first = redis.call('ZRANGE', open, 0, 0, 'WITHSCORES')
    return reply('refused', first[2] or '0')
  end
  if redis.call('ZCARD', open) >= tonumber(ARGV[9]) then return reply('full') end
  redis.call('ZADD', open, now + ttl, period .. '|' .. id .. '|' .. amount)
  redis.call('HINCRBY', reserved, period, amount)
  ends = string.format('%.0f', now + ttl)
  redis.call('HSET', lease, 'amount', amount, 'period', period, 'state', 'open', 'billed', '0', 'ends', ends)
  redis.call('PEXPIRE', lease, kept)
  if redis.call('HLEN', spent) > 100 then
    for _, past in ipairs(redis.call('HKEYS', spent)) do
      if past ~= '0' and tonumber(past) < tonumber(oldest) then redis.call('HDEL', spent, past) end
    end
  end
  return reply('granted', ends)
end

if what == 'close' then
  local id, state, billed = ARGV[3], ARGV[4], ARGV[5]
  local amount, of, was, was_billed = unpack(redis.call('HMGET', lease, 'amount', 'period', 'state', 'billed'))
  if not amount then return reply('unknown') end
  if was ~= 'open' then return reply('repeated', amount, was_billed, was) end
  local in_time = redis.call('ZREM', open, of .. '|' .. id .. '|' .. amount)
  if in_time == 1 then redis.call('HINCRBY', reserved, of, minus(amount)) end
  redis.call('HINCRBY', spent, of, billed)
  redis.call('HSET', lease, 'state', state, 'billed', billed)
  return reply(in_time == 1 and 'closed' or 'late', amount, billed, state)
end

return reply('state')
"""

SCRIPT_SHA1 = hashlib.sha1(SCRIPT.encode(), usedforsecurity=False).hexdigest()
"""The name of the script in Redis, once it has been sent. A call by name is 3 KB smaller."""


class RedisLeases:
    """Budgets of all processes that share a Redis.

    `connect` opens the client when it is first needed; it may raise any of REDIS_ERRORS. `prefix` starts all keys.
    """

    where: Literal["memory", "redis"] = "redis"

    def __init__(
        self, connect: Callable[[], Client], prefix: str = "tallystick", clock: Callable[[], datetime] = utc_now
    ) -> None:
        self.prefix = prefix
        self._connect = connect
        self._clock = clock
        self._client: Client | None = None
        self._opening = threading.Lock()
        self._probing = threading.Lock()
        self._breaker = CircuitBreaker()

    def reserve(self, budget: Budget, amount: int) -> Reservation:
        check_amount(amount, "amount")
        now = self._clock()
        start, _ = budget.period(now)
        lease_id = make_lease_id(start)
        answer, state, rest = self._run(
            budget, now, lease_id, "reserve", lease_id, amount, budget.limit, budget.lease_seconds * 1000,
            _milliseconds(RETENTION), int((now - RETENTION).timestamp()), MAX_OPEN,
        )
        if answer == "full":
            raise RateLimited("Too many leases of this budget are open: settle or release some.", retry_after=1)
        if answer == "granted":
            return Reservation(state, amount, lease_id, _instant(rest[0]))
        first = None if rest[0] == "0" else _instant(rest[0])
        times = [at for at in (first, state.period_end) if at is not None]
        return Reservation(state, amount, retry_at=min(times, default=None) if amount <= budget.limit else None)

    def settle(self, budget: Budget, lease_id: str, billed: int) -> Closing:
        return self._close(budget, lease_id, "settled", check_amount(billed, "amount"))

    def release(self, budget: Budget, lease_id: str) -> Closing:
        return self._close(budget, lease_id, "released", 0)

    def state(self, budget: Budget) -> BudgetState:
        return self._run(budget, self._clock(), "", "state")[1]

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def _close(self, budget: Budget, lease_id: str, as_: LeaseState, billed: int) -> Closing:
        answer, state, rest = self._run(budget, self._clock(), lease_id, "close", lease_id, as_, billed)
        if answer == "unknown":
            raise NotFound("This budget has given no such lease.", field="lease_id")
        reserved, charged, closed_as = rest
        return Closing(
            state, lease_id, cast(LeaseState, closed_as), int(reserved), int(charged),
            late=answer == "late", repeated=answer == "repeated",
        )

    def _run(
        self, budget: Budget, now: datetime, lease_id: str, what: str, *arguments: object
    ) -> tuple[str, BudgetState, list[str]]:
        """(result of the script, the budget after it, the rest of the reply). Raises Overloaded without Redis."""
        start, end = budget.period(now)
        tag = hashlib.blake2b(budget.account_key.encode(), digest_size=12).hexdigest()
        keys = [f"{self.prefix}:budget:{{{tag}}}:{part}" for part in ("spent", "held", "open", f"lease:{lease_id}")]
        sent = [str(value) for value in (what, int(start.timestamp()), *arguments)]
        raw = self._run_guarded(len(keys), *keys, *sent)
        answer, spent, reserved, *rest = (item.decode() if isinstance(item, bytes) else str(item) for item in raw)
        return answer, BudgetState(budget, int(spent), int(reserved), start, end), rest

    def _run_guarded(self, *command: str | int) -> list[Any]:
        """What the script returns. After a failure only one request at a time asks Redis, after a pause: each request
        that waits occupies a thread."""
        closed = self._breaker.closed
        if not closed and not (self._breaker.probe_due() and self._probing.acquire(blocking=False)):
            raise _make_unreachable_error()
        try:
            raw = _run_script(self._open(), *command)
        except REDIS_ERRORS as error:
            reason = classify_error(error)
            if reason in UNREACHABLE:
                self._breaker.failed()
            LOG.warning("budget not reached", extra={"fields": {"reason": reason}})
            raise _make_unreachable_error() from None
        else:
            self._breaker.succeeded()
            if not closed:
                self._breaker.probed()
            return raw
        finally:
            if not closed:
                self._probing.release()

    def _open(self) -> Client:
        with self._opening:
            if self._client is None:
                self._client = self._connect()
            return self._client


def _run_script(client: Client, *command: str | int) -> list[Any]:
    """What the script returns. The script is sent when Redis does not have it (yet, or after a restart)."""
    try:
        known: list[Any] = cast(Any, client).evalsha(SCRIPT_SHA1, *command)
    except NoScriptError:
        new: list[Any] = cast(Any, client).eval(SCRIPT, *command)
        return new
    return known


def _make_unreachable_error() -> Overloaded:
    return Overloaded("The budgets cannot be reached; try again in a second.", retry_after=1)


def _milliseconds(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)


def _instant(milliseconds: str) -> datetime:
    whole = int(milliseconds.partition(".")[0])
    return datetime.fromtimestamp(whole // 1000, UTC) + timedelta(milliseconds=whole % 1000)
