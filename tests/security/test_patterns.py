"""No regular expression of the service takes more than linear time for any text that a caller may send."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import regex

import service
from service import catalog
from service.catalog.models import MAX_NAME
from service.errors import InvalidRequest

LENGTH = 4_000

SECONDS = 0.03
"""The limit for a search through LENGTH characters. A quadratic one takes 0.2 s, the slowest of ours 0.005 s."""

UNITS = (
    "a", " ", "\n", "0", ".", "-", "/", "\\", '"', "=", "AAAA\n", "a1", "-1 ", "/a -", "\u0301", "\u4e2d", "<|", "[0]",
    ": ", "'s", "%41",
)


def modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(service.__path__, "service."):
        if not found.name.endswith("__main__") and "corpus" not in found.name:
            yield importlib.import_module(found.name)


def patterns() -> dict[str, Any]:
    """All compiled patterns of a module, also those in tables, by their place."""
    found: dict[str, Any] = {}

    def look(value: Any, name: str, depth: int) -> None:
        if isinstance(value, re.Pattern | regex.Pattern):
            found.setdefault(name, value)
        elif depth and isinstance(value, dict):
            for key, item in list(value.items())[:300]:
                look(item, f"{name}[{key!r}]"[:90], depth - 1)
        elif depth and isinstance(value, tuple | list | frozenset):
            for i, item in enumerate(list(value)[:300]):
                look(item, f"{name}[{i}]", depth - 1)
        elif depth and hasattr(value, "__slots__") and type(value).__module__.startswith("service."):
            for field in getattr(value, "__slots__", ()):
                look(getattr(value, field, None), f"{name}.{field}", depth - 1)

    for module in modules():
        for name, value in vars(module).items():
            look(value, f"{module.__name__}.{name}", 3)
    return {name: found[name] for name in {pattern: name for name, pattern in found.items()}.values()}


PATTERNS = patterns()


def test_there_are_patterns_to_look_at() -> None:
    assert len(PATTERNS) > 40
    assert any(isinstance(pattern.pattern, bytes) for pattern in PATTERNS.values())


SOURCE = "\n".join(file.read_text() for file in Path(service.__path__[0]).rglob("*.py"))


@cache
def uses(name: str) -> set[str]:
    """How the code uses a pattern: match, fullmatch or search (and all functions that search). For a pattern in a
    table, match and fullmatch, because rows of tables are used under other names."""
    own = re.escape(name.rpartition(".")[2])
    found = set(re.findall(rf"\b{own}\.(match|fullmatch|search|sub|subn|finditer|findall|split)\(", SOURCE))
    if "[" in name or not found:
        found |= {"match", "fullmatch"}
    return {use if use in ("match", "fullmatch") else "search" for use in found}


def length_for(name: str) -> int:
    """How long a text for the pattern may be. Names of models are shortened before a pattern sees them."""
    return MAX_NAME if name.startswith("service.catalog.") else LENGTH


def seconds(method: Callable[[Any], Any], text: Any) -> float:
    began = time.thread_time()
    method(text)
    return time.thread_time() - began


@pytest.mark.parametrize("module", sorted({name.partition("[")[0] for name in PATTERNS}))
def test_patterns_are_linear(module: str) -> None:
    for name, pattern in PATTERNS.items():
        if name.partition("[")[0] != module:
            continue
        for unit in UNITS:
            length = length_for(name) // len(unit)
            for text in (unit * length, "x" + unit * length + "\0"):
                given = text.encode() if isinstance(pattern.pattern, bytes) else text
                for use in uses(name):
                    method = getattr(pattern, use)
                    assert min(seconds(method, given), seconds(method, given)) < SECONDS, (name, unit, use)


def test_a_quadratic_pattern_would_be_found() -> None:
    assert seconds(re.compile(r"\s+$").search, " " * LENGTH + "x") > SECONDS


@pytest.mark.parametrize("unit", ["/", "-", "us.", "@", ":", "projects/", "models/", "-v1:0", "a", "0"])
def test_a_name_of_a_megabyte_is_refused_at_once(unit: str) -> None:
    began = time.thread_time()
    with pytest.raises(InvalidRequest, match="too long"):
        catalog.resolve(unit * (1_000_000 // len(unit)))
    assert time.thread_time() - began < 0.1
