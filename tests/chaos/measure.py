"""One row of the table: a fault under load, what the clients saw, and whether the numbers add up afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from service.ledger.ledger import FLUSH_SECONDS
from tests.chaos.kinds import Kind, get_json, ledger
from tests.chaos.load import Load, Seen
from tests.chaos.spender import Spender, Spending
from tests.chaos.stores import until
from tests.chaos.topology import BUDGET, Topology

AROUND_SECONDS = 1.5
"""How long the load runs before a fault, and after everything is healthy again."""

HEALTHY_SECONDS = 40.0
SETTLED_SECONDS = 10.0
"""Longer than a lease lasts, and than a circuit breaker waits until it tries again."""

FILES_MORE = 64
"""Open files that may be idle connections: nginx keeps up to 64, each process a few to Redis. A leak has hundreds."""


Inject = Callable[[Topology, Sequence[Kind]], Seen | None]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault.

    `inject` causes it, and returns when the cause is over, with the requests that it sent itself. `part` is what the
    client has to do, or should know. `kills`: processes of the service are killed, and what they have counted in the
    last second but not written to the ledger is lost. `forgets`: Redis itself loses some of what it has acknowledged,
    since it does not wait for its replicas.
    """

    name: str
    inject: Inject
    part: str = ""
    kills: bool = False
    forgets: bool = False


@dataclass(slots=True)
class Outcome:
    """The results of a fault. `problems` is empty when all is well."""

    fault: Fault
    seen: Seen
    spending: Spending
    seconds: float
    healthy: float
    others: Seen | None = None
    """The requests that the fault itself sent. They may be refused, but not answered wrongly."""
    missing_calls: int = 0
    missing_spent: int = 0
    """Tokens that were settled, but are missing in the budget."""
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Account:
    """The numbers that the service reports."""

    calls: int
    tokens: int
    spent: int
    held: int
    files: int


def account(topology: Topology) -> Account:
    calls, tokens = ledger(topology.url, topology.headers)
    budget = get_json(f"{topology.url}/v1/budgets/{BUDGET}", topology.headers)
    return Account(calls, tokens, int(budget["spent"]), int(budget["held"]), topology.open_files())


def warm_up(topology: Topology, kinds: Sequence[Kind], seconds: float = 2.0) -> None:
    """Send every kind once before any fault, so that connections are open."""
    load = Load(topology.url, kinds, topology.headers)
    load.start()
    time.sleep(seconds)
    seen = load.stop()
    if seen.number("right") != len(seen.records):
        raise RuntimeError(f"before any fault, not all is right: {seen.reasons()}")
    time.sleep(FLUSH_SECONDS + 0.5)


def measure(
    topology: Topology, kinds: Sequence[Kind], fault: Fault, *, again: int = 0, around: float = AROUND_SECONDS
) -> Outcome:
    """Measure one fault. `again` is how often clients retry, which they do when there is no proxy. Raises RuntimeError
    if the fault could not be caused."""
    before = account(topology)
    load = Load(topology.url, kinds, topology.headers, again=again)
    spender = Spender(topology.url, BUDGET, topology.headers)
    load.start()
    spender.start()
    problems: list[str] = []
    time.sleep(around)
    began = time.monotonic()
    try:
        others = fault.inject(topology, kinds)
        over = time.monotonic()
        try:
            healthy = until(topology.is_healthy, "everything is healthy again", HEALTHY_SECONDS)
        except RuntimeError as error:
            healthy = time.monotonic() - over
            problems.append(str(error))
        time.sleep(around)
    finally:
        seen, spending = load.stop(), spender.stop()
    outcome = Outcome(fault, seen, spending, over - began, healthy, others, problems=problems)
    _check(topology, outcome, before, began, over)
    return outcome


def _check(topology: Topology, outcome: Outcome, before: Account, began: float, over: float) -> None:
    """Check what must hold when a fault is over, and add what is wrong to the problems."""
    spending, problems = outcome.spending, outcome.problems
    everything = Seen((*outcome.seen.records, *(outcome.others.records if outcome.others else ())))
    calls, tokens = everything.ledger
    wanted = Account(before.calls + calls, before.tokens + tokens, before.spent + spending.tokens, 0, before.files)
    after = _settled(topology, wanted, outcome.fault)
    outcome.missing_calls = wanted.calls - after.calls
    _check_ledger(outcome, wanted, after, everything.answered_between(began - FLUSH_SECONDS - 0.5, over + 0.5))
    outcome.missing_spent = wanted.spent - after.spent
    if not 0 <= outcome.missing_spent <= (spending.settled_between(began, over + 0.5) if outcome.fault.forgets else 0):
        problems.append(f"the budget says {after.spent - before.spent} spent; {spending.tokens} were settled")
    if after.held:
        problems.append(f"{after.held} tokens are still held after every lease has expired")
    if spending.wrong or spending.unsettled or (spending.forgotten and not outcome.fault.forgets):
        problems.append(
            f"budget: {spending.wrong} wrong, {spending.unsettled} never settled, {spending.forgotten} forgotten"
        )
    if after.files > before.files + FILES_MORE:
        problems.append(f"open files: {before.files} before, {after.files} after")
    if everything.number("wrong") or outcome.seen.number("lost"):
        problems.append(f"wrong or lost: {dict(everything.reasons().most_common(5))}")
    if not spending.settled:
        problems.append("nothing was spent, so nothing is known of budgets")


def _check_ledger(outcome: Outcome, wanted: Account, after: Account, lately: tuple[int, int]) -> None:
    """The ledger has all that was answered. What was answered `lately` may miss if processes were killed or if Redis
    forgets."""
    allowed = lately if outcome.fault.kills or outcome.fault.forgets else (0, 0)
    missing = wanted.calls - after.calls, wanted.tokens - after.tokens
    if any(not 0 <= number <= most for number, most in zip(missing, allowed, strict=True)):
        outcome.problems.append(f"the ledger misses {missing[0]} calls, {missing[1]} tokens")


def _settled(topology: Topology, wanted: Account, fault: Fault) -> Account:
    """Wait until the account is as wanted, or the time is over; return it. It does not wait for what may be missing.
    Raises RuntimeError if the account cannot be read."""
    if fault.kills or fault.forgets:
        time.sleep(2 * FLUSH_SECONDS)
    found: list[Account] = []

    def adds_up() -> bool:
        try:
            now = account(topology)
        except (OSError, RuntimeError):  # Redis is asked again after a while, by each process
            return False
        found.append(now)
        return (
            (now.calls == wanted.calls or fault.kills or fault.forgets)
            and (now.spent == wanted.spent or fault.forgets)
            and not now.held and now.files <= wanted.files + FILES_MORE
        )

    with suppress(RuntimeError):
        until(adds_up, "it adds up", SETTLED_SECONDS)
    if not found:
        raise RuntimeError("ledger and budget cannot be read")
    return found[-1]
