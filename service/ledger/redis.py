"""The ledger in Redis, shared by all processes. Each hour is a hash, each sum a field that is only ever added to.

For each hour of a batch one script adds the sums. It first sets a mark with the name of the batch. So when a reply is
lost and the batch is sent again, it is not added twice. Hash and mark share a hash tag, so this works with any cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from service.ledger.store import COLUMNS, QUARTER_SECONDS, Account, Batch, StoreFailed, Sums, Table
from service.redis.circuit_breaker import CircuitBreaker
from service.redis.client import REDIS_ERRORS, UNREACHABLE, Client, classify_error

ADD = """
if not redis.call('SET', KEYS[2], '', 'NX', 'EX', ARGV[2]) then return 0 end
for i = 3, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1
"""

MARK_SECONDS = 21_600
"""How long the mark of a batch is kept. After so long an outage a batch whose reply was lost would be added twice."""

HOURS_AT_ONCE = 200
"""Hashes read in one pipeline."""

FIELDS_AT_ONCE = 2_000
"""Sums added by one call of the script. Redis serves nobody else meanwhile (1 ms)."""

QUARTERS = 4
"""In an hour."""

SEPARATOR = "\x1f"


class RedisLedger:
    """A LedgerStore in Redis. `connect` opens the client when it is first needed; it may raise any of REDIS_ERRORS."""

    where: Literal["memory", "redis"] = "redis"

    def __init__(
        self, connect: Callable[[], Client], keep_seconds: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._connect = connect
        self._keep_seconds = keep_seconds
        self._client: Client | None = None
        self._breaker = CircuitBreaker(clock)

    # ------------------------------------------------------------ adding

    def add(self, batch: Batch) -> None:
        hours: dict[tuple[Table, int], list[str]] = {}
        for account, sums in batch.rows.items():
            fields = hours.setdefault((account.table, account.quarter // QUARTERS), [])
            for column, amount in zip(COLUMNS[account.table], sums, strict=True):
                if amount:
                    fields += (_field(account, column), str(amount))
        for (table, hour), fields in hours.items():
            for start in range(0, len(fields), 2 * FIELDS_AT_ONCE):
                self._add(table, hour, f"{batch.name}:{start}", fields[start : start + 2 * FIELDS_AT_ONCE])

    def _add(self, table: Table, hour: int, name: str, fields: Sequence[str]) -> None:
        key = _key(table, hour)
        ends = str(self._keep_seconds), str(MARK_SECONDS)
        self._call(lambda client: client.eval(ADD, 2, key, f"{key}:{name}", *ends, *fields))

    # ------------------------------------------------------------ reading

    def read(self, table: Table, start: int, end: int) -> Iterator[tuple[Account, Sums]]:
        hours = range(start // QUARTERS, -(-end // QUARTERS))
        for at in range(0, len(hours), HOURS_AT_ONCE):
            some = hours[at : at + HOURS_AT_ONCE]
            for hour, fields in zip(some, self._read_hours(table, some), strict=True):
                for account, sums in _rows(table, hour, fields):
                    if start <= account.quarter < end:
                        yield account, sums

    def _read_hours(self, table: Table, hours: Sequence[int]) -> list[dict[bytes, bytes]]:
        def read(client: Any) -> list[dict[bytes, bytes]]:
            pipeline = client.pipeline(transaction=False)
            for hour in hours:
                pipeline.hgetall(_key(table, hour))
            found: list[dict[bytes, bytes]] = pipeline.execute()
            return found

        return self._call(read)

    def _call[T](self, work: Callable[[Any], T]) -> T:
        """What `work` returns. Raises StoreFailed when Redis fails, and at once while the circuit breaker is open."""
        if not self._breaker.closed and not self._breaker.probe_due():
            raise StoreFailed("unreachable")
        try:
            if self._client is None:
                self._client = self._connect()
            answer = work(self._client)
        except REDIS_ERRORS as error:
            reason = classify_error(error)
            if reason in UNREACHABLE:
                self._breaker.failed()
            raise StoreFailed(reason) from None
        self._breaker.probed()
        self._breaker.succeeded()
        return answer


def _key(table: Table, hour: int) -> str:
    return f"tallystick:ledger:{{{table}:{hour}}}"


def _field(account: Account, column: str) -> str:
    return SEPARATOR.join((str(account.quarter % QUARTERS), account.who, account.what, column))


def _rows(table: Table, hour: int, fields: dict[bytes, bytes]) -> Iterator[tuple[Account, Sums]]:
    """The rows of the hash of an hour. Fields in another form are skipped."""
    columns = {name: place for place, name in enumerate(COLUMNS[table])}
    rows: dict[Account, Sums] = {}
    for field, amount in fields.items():
        parts = field.decode("utf-8", "replace").split(SEPARATOR)
        if len(parts) != 4 or parts[3] not in columns or parts[0] not in ("0", "1", "2", "3") or not amount.isdigit():
            continue
        account = Account(table, hour * QUARTERS + int(parts[0]), parts[1], parts[2])
        rows.setdefault(account, [0] * len(columns))[columns[parts[3]]] = int(amount)
    yield from rows.items()


assert QUARTERS * QUARTER_SECONDS == 3600
