"""SECURITY.md: every promise has a test, and every test that it names exists. Some promises are tested here."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from pydantic import ValidationError

from service.cache.base import segment_key
from service.settings import Settings
from service.types import Segment
from tests.support import markdown
from tests.support.live import ROOT

POLICY = markdown.read(ROOT / "SECURITY.md")

NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", POLICY)))

PROMISES = [row for section in markdown.sections(POLICY) if section.level == 3 for row in section.rows[1:]]


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text())
    return frozenset(
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_is_named_is_there(file: str, name: str) -> None:
    assert name in functions_of(file)
    assert name.startswith("test_")


def test_every_promise_names_a_test() -> None:
    assert len(PROMISES) > 30
    for promise, held_by in PROMISES:
        assert re.fullmatch(r"`tests/[\w/]+\.py::\w+`(?:, `tests/[\w/]+\.py::\w+`)*", held_by.strip()), promise


def test_every_file_of_this_folder_holds_a_promise() -> None:
    own = {file.relative_to(ROOT).as_posix() for file in (ROOT / "tests" / "security").glob("test_*.py")}
    assert own - {"tests/security/test_promises.py"} <= {file for file, _ in NAMED}


def test_commands_are_targets() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", POLICY)) <= targets


def test_it_names_nobody_and_no_address() -> None:
    assert "@" not in POLICY
    assert "://" not in POLICY


# ---------------------------------------------------------------- promises that had no test


def test_a_cache_key_says_nothing_without_the_secret() -> None:
    segment = Segment(spans=(("messages", "attack at dawn"),), edge="open")
    keys = {segment_key(segment, "o200k_base", bytes([i]) * 32) for i in range(50)}
    assert len(keys) == 50
    assert segment_key(segment, "o200k_base", b"s" * 32) == segment_key(segment, "o200k_base", b"s" * 32)
    assert all(b"attack" not in key for key in keys)


def test_redis_without_a_secret_is_refused() -> None:
    with pytest.raises(ValidationError, match="TALLYSTICK_CACHE_SECRET"):
        Settings(redis_url="redis://127.0.0.1:6379/0")
    Settings(redis_url="redis://127.0.0.1:6379/0", cache_secret="s" * 32)
