"""Does the running service do what GET /openapi.json says? schemathesis calls every operation, as several callers.

`python -m tests.security.conformance --cases 200` (`make conformance`) is the long run and prints the results.
test_conformance.py is the short one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from service.auth.key_store import FileStore
from service.auth.keys import Scope, make_key
from tests.support.live import LiveServer, running_server

CONFIGURATION = """
[checks]
positive_data_acceptance.enabled = false

[[operations]]
include-name = "POST /v1/countTokens:batch"
checks.negative_data_rejection.enabled = false
"""
"""A schema cannot say that a model must be known, or that two fields exclude each other. So a body that fits the schema
may still get a 400. A body that does not fit must be refused, and this is checked. But an item of a batch that does
not fit fails alone: its error stands in its place, in a 200."""

PHASES = "examples,coverage,fuzzing"

BUDGETS = '[budgets.team-a]\nlimit_usd = "50"\nper = "day"\n'


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller. `scope` is that of its key, None when it sends no key. `keys` is whether the server needs one.

    `refused` is the status of all responses, except those of paths that are public or of its scope.
    """

    name: str
    keys: bool = True
    scope: Scope | None = None
    refused: int | None = None


CALLERS = (
    Caller("anybody, no keys asked for", keys=False),
    Caller("a key that opens everything", scope="admin"),
    Caller("no key where one is needed", refused=401),
    Caller("a key of another scope", scope="metrics", refused=403),
)

OPEN_TO_ALL = frozenset({"/livez", "/readyz", "/metrics"})
"""The paths that a refused caller may use: public ones, and those of its scope."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of a caller: operations and cases, responses by class of status, what was wrong."""

    operations: int
    cases: int
    answers: Mapping[str, int]
    failures: tuple[str, ...]


def run(caller: Caller, cases: int, seed: int | None = None, phases: str = PHASES) -> Outcome:
    """Call all operations. `cases` is how many random cases each of them gets, besides those made from its schema.
    Those are the phase `coverage`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _server(folder, caller) as (server, key, watcher):
            document = httpx.get(f"{server.url}/openapi.json", headers=watcher, timeout=60)
            folder.joinpath("openapi.json").write_text(document.text)
            before = _answers(server, watcher)
            report = _schemathesis(
                folder, server.url, key, "--max-examples", str(cases), "--phases", phases,
                *(("--seed", str(seed)) if seed is not None else ()),
            )
            answers = _answers(server, watcher)
            failures = [*_failures(report), *_log_failures(server)]
    sums: dict[str, int] = {}
    for (route, status), after in answers.items():
        number = after - before.get((route, status), 0)
        sums[status] = sums.get(status, 0) + number
        if number and caller.refused and route not in OPEN_TO_ALL and status != "4xx":
            failures.append(f"{number} answers of {route} were {status}, not {caller.refused}")
    return Outcome(report["operations"]["tested"], report["test_cases"]["generated"], sums, tuple(failures))


@contextmanager
def _server(folder: Path, caller: Caller) -> Iterator[tuple[LiveServer, str | None, dict[str, str]]]:
    """A server, the key of the caller, and the headers of a caller who may see everything."""
    folder.joinpath("budgets.toml").write_text(BUDGETS)
    settings: dict[str, Any] = {"budgets_file": folder / "budgets.toml"}
    keys = {scope: make_key(scope, [scope]) for scope in ("admin", caller.scope or "count")} if caller.keys else {}
    if keys:
        store = FileStore(folder / "keys.json")
        store.change(lambda kept: kept.update({key.id: key for _, key in keys.values()}))
        settings["keys_file"] = folder / "keys.json"
    with running_server(**settings) as server:
        watcher = {"x-api-key": keys["admin"][0]} if keys else {}
        yield server, keys[caller.scope][0] if caller.scope else None, watcher


def _schemathesis(folder: Path, url: str, key: str | None, *more: str) -> dict[str, Any]:
    """The report of schemathesis. `more` are arguments. Raises RuntimeError with its output when it made none."""
    report = folder / "report.json"
    folder.joinpath("schemathesis.toml").write_text(CONFIGURATION)
    command = [
        str(Path(sys.executable).with_name("schemathesis")), "--config-file", "schemathesis.toml", "run",
        "openapi.json", "--url", url, "--continue-on-failure",
        "--report", "json", "--report-json-path", str(report), "--warnings", "off", "--request-timeout", "60",
        *(("--header", f"x-api-key: {key}") if key else ()), *more,
    ]
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if not report.exists():
        raise RuntimeError(done.stdout + done.stderr)
    found: dict[str, Any] = json.loads(report.read_text())
    return {**found, "words": done.stdout.partition("= FAILURES =")[2]}


def _failures(report: Mapping[str, Any]) -> Iterator[str]:
    """What it found to be wrong, and what it could not call."""
    if report["failures"] or report["errors"]:
        yield from (json.dumps(failure) for failure in (*report["failures"], *report["errors"]))
        yield report["words"]
    if not report["complete"]:
        yield f"it did not end: {report['stop_reason']}"
    operations = report["operations"]
    if operations["tested"] != operations["total"]:
        yield f"{operations['total'] - operations['tested']} operations were not asked"


def _log_failures(server: LiveServer) -> Iterator[str]:
    """The exceptions in the log. One that was answered with a 500 is still an error."""
    yield from (line for line in server.log if '"level":"error"' in line)


def _answers(server: LiveServer, watcher: dict[str, str]) -> dict[tuple[str, str], int]:
    """The number of requests that were answered, by route and class of status (2xx)."""
    text = httpx.get(f"{server.url}/metrics", headers=watcher).text
    return {
        (sample.labels["route"], sample.labels["status"]): int(sample.value)
        for family in text_string_to_metric_families(text) for sample in family.samples
        if sample.name == "tallystick_requests_total"
    }


def main() -> int:
    """Print a line for each caller. Returns 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200, help="random cases for each operation (200)")
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    wrong = 0
    for caller in CALLERS:
        outcome = run(caller, arguments.cases, arguments.seed)
        wrong += len(outcome.failures)
        answers = ", ".join(f"{number} {status}" for status, number in sorted(outcome.answers.items()))
        found = f"{outcome.cases} cases, {len(outcome.failures)} failures"
        print(f"{caller.name}: {outcome.operations} operations, {found} ({answers})", flush=True)
        for failure in outcome.failures:
            print(f"  {failure}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
