"""Leases in a real Redis: the same answers as in memory, one winner among processes, and no grant without Redis."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.budgets.leases import BudgetState, Closing, Leases, MemoryLeases, Reservation
from service.budgets.named import MAX_AMOUNT, Budget
from service.budgets.redis import RedisLeases
from service.errors import NotFound, Overloaded
from service.redis.client import open_redis
from service.redis.url import parse_redis_url

if TYPE_CHECKING:
    from service.redis.client import Client

pytestmark = [
    pytest.mark.redis,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not on PATH"),
]


@pytest.fixture(scope="module")
def socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("redis")
    path = folder / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not path.exists():
            assert time.monotonic() < deadline, "redis-server did not start"
            time.sleep(0.01)
        yield path
    finally:
        server.terminate()
        server.wait()


class Clock:
    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now


PREFIXES = iter(range(10**6))


def _client(socket: Path, seconds: float = 1.0) -> Client:
    return open_redis(parse_redis_url(f"unix://{socket}"), seconds)


def _leases(socket: Path, clock: Clock | None = None) -> RedisLeases:
    return RedisLeases(lambda: _client(socket), f"test{next(PREFIXES)}", clock or Clock())


TOKENS = Budget("team", "tokens", 1_000, "day", lease_seconds=3_600)


def _id(reservation: Reservation) -> str:
    assert reservation.lease_id is not None
    return reservation.lease_id


def test_what_redis_hears_twice_is_done_once(socket: Path) -> None:
    """A client that has no answer in time asks once more (a cluster's does); Redis may have heard it both times."""

    class Twice:
        def __init__(self, client: Client) -> None:
            self.client = client

        def eval(self, *command: str | int) -> object:
            first = self.client.eval(*command)  # type: ignore[arg-type]
            assert first  # whoever asked did not hear it
            return self.client.eval(*command)  # type: ignore[arg-type]

        def evalsha(self, *command: str | int) -> object:
            first = self.client.evalsha(*command)  # type: ignore[arg-type]
            assert first
            return self.client.evalsha(*command)  # type: ignore[arg-type]

    leases = RedisLeases(lambda: Twice(_client(socket)), f"test{next(PREFIXES)}", Clock())  # type: ignore[arg-type]
    reserved = leases.reserve(TOKENS, 600)
    assert (reserved.state.reserved, reserved.state.remaining) == (600, 400)
    assert reserved.expires_at is not None
    closing = leases.settle(TOKENS, _id(reserved), 500)
    assert (closing.repeated, closing.billed) == (True, 500)
    assert (closing.state.spent, closing.state.reserved) == (500, 0)
    lost = leases.reserve(TOKENS, 500)
    assert leases.reserve(TOKENS, 1).lease_id is None  # nothing is left
    assert leases.release(TOKENS, _id(lost)).state.reserved == 0


def test_a_redis_that_does_not_know_the_script_gets_it(socket: Path) -> None:
    """As a replica that was promoted, or one that was started anew."""
    leases, admin = _leases(socket), _client(socket)
    admin.script_flush()
    first = leases.reserve(TOKENS, 600)
    admin.script_flush()
    assert leases.settle(TOKENS, _id(first), 500).state.spent == 500
    before = admin.info("commandstats")
    assert leases.state(TOKENS).spent == 500
    after = admin.info("commandstats")
    assert after["cmdstat_eval"]["calls"] == before["cmdstat_eval"]["calls"]  # it is not sent again
    admin.close()


def test_reserve_settle_release(socket: Path) -> None:
    leases = _leases(socket)
    first, second = leases.reserve(TOKENS, 600), leases.reserve(TOKENS, 400)
    assert second.state.remaining == 0
    assert first.expires_at is not None
    assert timedelta(minutes=59) < first.expires_at - datetime.now(UTC) < timedelta(minutes=61)
    refused = leases.reserve(TOKENS, 1)
    assert (refused.granted, refused.retry_at is not None) == (False, True)
    closed = leases.settle(TOKENS, _id(first), 250)
    assert (closed.state.spent, closed.state.reserved, closed.reserved, closed.late) == (250, 400, 600, False)
    again = leases.settle(TOKENS, _id(first), 999)
    assert (again.repeated, again.billed, again.state.spent) == (True, 250, 250)
    assert leases.release(TOKENS, _id(second)).state.remaining == 750
    with pytest.raises(NotFound):
        leases.settle(TOKENS, "nonsense", 1)


def test_hundred_parallel_reserves_of_four_clients_one_wins(socket: Path) -> None:
    shared = _leases(socket)
    clients = [RedisLeases(lambda: _client(socket, 5.0), shared.prefix) for _ in range(4)]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda number: clients[number % 4].reserve(TOKENS, 600), range(100)))
    assert sum(answer.granted for answer in answers) == 1
    assert shared.state(TOKENS).reserved == 600


def test_expired_lease_is_given_back_and_charged_late(socket: Path) -> None:
    leases, brief = _leases(socket), Budget("brief", "tokens", 100, "total", lease_seconds=1)
    lease_id = _id(leases.reserve(brief, 100))
    assert not leases.reserve(brief, 1).granted
    deadline = time.monotonic() + 60
    while leases.state(brief).reserved and time.monotonic() < deadline:
        time.sleep(0.05)
    assert leases.reserve(brief, 40).granted
    closed = leases.settle(brief, lease_id, 90)
    assert (closed.late, closed.state.spent, closed.state.remaining) == (True, 90, -30)


def test_period_of_the_lease_is_charged(socket: Path) -> None:
    clock = Clock()
    leases = _leases(socket, clock)
    lease_id = _id(leases.reserve(TOKENS, 1_000))
    clock.now += timedelta(days=1)
    assert leases.reserve(TOKENS, 1_000).granted
    assert leases.settle(TOKENS, lease_id, 900).state.spent == 0
    clock.now -= timedelta(days=1)
    assert leases.state(TOKENS).spent == 900


def test_largest_amounts_are_exact(socket: Path) -> None:
    leases, large = _leases(socket), Budget("large", "usd", MAX_AMOUNT, "total")
    lease_id = _id(leases.reserve(large, MAX_AMOUNT - 1))
    assert not leases.reserve(large, 2).granted
    assert leases.reserve(large, 1).granted
    assert leases.settle(large, lease_id, MAX_AMOUNT - 3).state.remaining == 2


def test_without_redis_nothing_is_granted(tmp_path: Path) -> None:
    leases = RedisLeases(lambda: _client(tmp_path / "none.sock", 0.2))
    for ask in (lambda: leases.reserve(TOKENS, 1), lambda: leases.state(TOKENS), lambda: leases.release(TOKENS, "x")):
        with pytest.raises(Overloaded) as caught:
            ask()
        assert caught.value.retry_after == 1


def test_redis_that_fails_is_left_alone_for_a_while_and_found_again(socket: Path) -> None:
    down, asked = True, 0

    def connect() -> Client:
        nonlocal asked
        asked += 1
        if down:
            raise ConnectionError
        return _client(socket)

    leases = RedisLeases(connect, f"test{next(PREFIXES)}")
    for _ in range(20):
        with pytest.raises(Overloaded):
            leases.state(TOKENS)
    assert asked == 1
    down = False
    deadline = time.monotonic() + 60
    while read_reserved(leases) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [leases.reserve(TOKENS, 1).state.reserved for _ in range(3)] == [1, 2, 3]  # and not one at a time any more
    leases.close()


def read_reserved(leases: RedisLeases) -> int | None:
    try:
        return leases.state(TOKENS).reserved
    except Overloaded:
        return None


def test_keys_of_a_budget_share_a_slot_and_name_nobody(socket: Path) -> None:
    leases = _leases(socket)
    leases.reserve(Budget("secret {project}", "tokens", 10), 1)
    keys = [key.decode() for key in _client(socket).keys(f"{leases.prefix}:*")]  # type: ignore[union-attr]
    assert len({key[key.index("{") : key.index("}")] for key in keys}) == 1
    assert not [key for key in keys if "secret" in key]


STEPS = st.lists(st.tuples(st.sampled_from(["reserve", "settle", "release"]), st.integers(0, 700)), max_size=25)


def _plain(answer: Reservation | Closing) -> tuple[object, ...]:
    state: BudgetState = answer.state
    seen: tuple[object, ...] = (state.spent, state.reserved)
    if isinstance(answer, Reservation):
        return (*seen, answer.granted, answer.retry_at is not None)
    return (*seen, answer.lease_state, answer.reserved, answer.billed, answer.late, answer.repeated)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_redis_and_memory_answer_alike(socket: Path, steps: list[tuple[str, int]]) -> None:
    clock = Clock()
    twins: tuple[Leases, Leases] = (MemoryLeases(clock), _leases(socket, clock))
    given_: list[tuple[str, str]] = []
    for what, number in steps:
        if what == "reserve":
            answers = [twin.reserve(TOKENS, number) for twin in twins]
            if answers[0].granted and answers[1].granted:
                given_.append((_id(answers[0]), _id(answers[1])))
            assert _plain(answers[0]) == _plain(answers[1])
        elif given_:
            pair = given_[number % len(given_)]
            closed = [
                twin.settle(TOKENS, id_, number) if what == "settle" else twin.release(TOKENS, id_)
                for twin, id_ in zip(twins, pair, strict=True)
            ]
            assert _plain(closed[0]) == _plain(closed[1])
