"""What counts as the answer that a page shows, and what does not."""

from __future__ import annotations

import pytest

from tests.docs.shown import matches, parse

GIVEN = {"a": 1, "b": [1, 2, 3], "c": {"d": "a long message", "e": None}}


@pytest.mark.parametrize("output", [
    '{"a": 1, "b": [1, 2, 3], "c": {"d": "a long message", "e": null}}',
    '{"a": 1,\n "b": [1, 2, 3],\n "c": {"e": null, "d": "a long message"}}',
    '{"a": 1, ...}',
    '{"b": [1, ...], ...}',
    '{"c": {"d": "a long ...", "e": null}, ...}',
    '{"c": {...}, ...}',
    '{"b": [...], ...}',
])
def test_an_answer_is_what_is_shown(output: str) -> None:
    assert matches(parse(output), GIVEN)


@pytest.mark.parametrize("output", [
    '{"a": 1}',
    '{"a": 2, ...}',
    '{"a": true, ...}',
    '{"z": 1, ...}',
    '{"b": [1, 2], ...}',
    '{"b": [1, 2, 3, ...], ...}',
    '{"c": {"d": "a short ...", "e": null}, ...}',
    '{"c": {"d": "a long message...", "e": null}, ...}',
    '{"a": 1, "b": [1, 2, 3], "c": {"d": "a long message", "e": null}, ...}',
])
def test_another_answer_is_not(output: str) -> None:
    assert not matches(parse(output), GIVEN)


def test_what_passes_is_compared_by_whether_it_is_there() -> None:
    passing = frozenset({"at"})
    assert matches({"at": "yesterday"}, {"at": "today"}, passing)
    assert not matches({"at": None}, {"at": "today"}, passing)
    assert not matches({"at": "yesterday"}, {}, passing)
