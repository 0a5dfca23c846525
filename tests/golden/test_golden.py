"""The service answers as it did when the transcript was recorded: tests/golden/record.py says when that may change."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.golden.play import Entry
from tests.golden.requests import GROUPS, rows_of
from tests.golden.transcript import FOLDER, answers_of, read

SHOWN = 10
"""Differences that a failure shows of a group."""


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest) -> Iterator[Mapping[str, Future[dict[str, list[Entry]]]]]:
    """By server, what its groups are answered now; every server that a chosen test needs is played at once."""
    chosen = [item for item in request.session.items if item.path == request.path and isinstance(item, pytest.Function)]
    servers = {GROUPS[str(item.callspec.params["group"])] for item in chosen if hasattr(item, "callspec")}
    with ThreadPoolExecutor() as pool:
        yield {server: pool.submit(answers_of, server) for server in servers}


@pytest.mark.parametrize("group", GROUPS)
def test_answers_are_as_recorded(group: str, played: Mapping[str, Future[dict[str, list[Entry]]]]) -> None:
    recorded = {entry["name"]: entry for entry in read(group)}
    answers = played[GROUPS[group]].result()[group]

    differing = [entry for entry in answers if written(entry) != written(recorded.get(entry["name"]))]

    shown = [line for entry in differing[:SHOWN] for line in difference(recorded.get(entry["name"]), entry)]
    if differing:
        said = f"{group}: {len(differing)} of {len(answers)} answers are not as recorded"
        pytest.fail("\n".join([said, *shown]), pytrace=False)


def test_every_recorded_answer_is_still_asked_for() -> None:
    recorded = {path.stem: [entry["name"] for entry in read(path.stem)] for path in FOLDER.iterdir()}

    assert recorded == {group: [row.name for row in rows_of(group)] for group in GROUPS}


def written(entry: Entry | None) -> str:
    """One line; two answers are the same where these are: the order of keys counts."""
    return json.dumps(entry, ensure_ascii=False)


def difference(recorded: Entry | None, entry: Entry) -> Iterator[str]:
    if recorded is None:
        yield f"--- {entry['sent']}  ({entry['name']}): not recorded"
        return
    yield f"--- {entry['sent']}  ({entry['name']}): recorded -, now +"
    was, now = (json.dumps(one, ensure_ascii=False, indent=1).splitlines() for one in (recorded, entry))
    yield from [*difflib.unified_diff(was, now, lineterm="", n=2)][2:]
