"""The import contract: which packages of service/ may import which, in one direction only."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.imports import find_arrows, find_problems
from tests.support.live import ROOT

SERVICE = ROOT / "service"

ALLOWED: dict[str, set[str]] = {
    # what everything stands on
    "errors": set(),
    "types": set(),
    "redis": set(),
    "settings": {"redis"},
    "concurrency": {"errors"},
    # texts and tokens
    "tokenizers": {"errors", "types"},
    "text": {"errors", "tokenizers", "types"},
    "media": {"types"},
    # models and what they cost
    "families": set(),
    "catalog": {"errors", "families"},
    "pricing": {"catalog", "errors", "types"},
    "budgets": {"catalog", "errors", "pricing", "redis", "types"},
    # from a request to a count
    "dialects": {"catalog", "errors", "pricing", "tokenizers", "types"},
    "renderers": {"families", "media", "types"},
    "cache": {"catalog", "concurrency", "redis", "types"},
    "counting": {
        "budgets", "cache", "catalog", "concurrency", "dialects", "errors", "families", "media", "pricing",
        "renderers", "tokenizers", "types",
    },
    "corpus": {"catalog", "counting", "dialects", "errors", "pricing", "tokenizers", "types"},
    # what is written down, and who may ask
    "observability": {"concurrency", "errors", "families", "tokenizers", "types"},
    "ledger": {"catalog", "concurrency", "redis", "types"},
    "auth": {"errors", "observability", "redis", "settings"},
    # what requests share
    "readiness": {"catalog", "counting", "dialects", "errors", "observability", "tokenizers", "types"},
    "services": {
        "auth", "budgets", "cache", "catalog", "concurrency", "counting", "ledger", "observability", "readiness",
        "redis", "settings", "types",
    },
    # the two ways in: HTTP and the command line
    "answers": {
        "budgets", "catalog", "counting", "errors", "families", "ledger", "pricing", "text", "tokenizers", "types",
    },
    "api": {
        "answers", "auth", "budgets", "cache", "catalog", "concurrency", "counting", "dialects", "errors", "ledger",
        "observability", "pricing", "services", "text", "tokenizers", "types",
    },
    "app": {"api", "services", "settings"},
    "server": {
        "api", "app", "auth", "catalog", "errors", "observability", "pricing", "services", "settings", "tokenizers",
    },
    "cli": {
        "answers", "auth", "budgets", "catalog", "corpus", "counting", "dialects", "errors", "pricing", "server",
        "services", "settings", "tokenizers", "types",
    },
}
"""Package or root module -> those it may import. Imports for types alone do not count."""

MAX_ROOT_MODULES = 5


def test_packages_import_what_was_agreed_and_nothing_else() -> None:
    assert find_problems(find_arrows(SERVICE), ALLOWED) == []


def test_only_the_app_and_the_server_know_of_http() -> None:
    assert {place for place, targets in find_arrows(SERVICE).items() if "api" in targets} == {"app", "server"}


def test_few_modules_are_at_the_root() -> None:
    modules = {file.name for file in SERVICE.glob("*.py")} - {"__init__.py"}
    assert len(modules) <= MAX_ROOT_MODULES, modules


# ---------------------------------------------------------------- what finds it out

SOURCES = {
    "__init__.py": "",
    "low.py": "import os\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from service.high import a\n",
    "middle/__init__.py": "from service import low\n",
    "middle/deep/__init__.py": "",
    "middle/deep/inner.py": "from ... import low\nfrom ..deep import x\nfrom ...late import y\n",
    "late.py": 'def load():\n    import service.low\n    return "service.nowhere", "a word about service.high"\n',
    "high/__init__.py": "",
    "high/a.py": 'MODULES = ("service.late", "service.middle.deep.inner")\n',
}
"""A made-up package."""


def write(root: Path, **changed: str) -> Path:
    for name, text in (SOURCES | changed).items():
        file = root / "service" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root / "service"


ARROWS = {"low": set(), "late": {"low"}, "middle": {"low", "late"}, "high": {"late", "middle"}}


def test_imports_of_every_kind_are_found_but_those_for_types(tmp_path: Path) -> None:
    assert find_arrows(write(tmp_path)) == ARROWS


def test_what_was_agreed_is_no_problem() -> None:
    assert find_problems(ARROWS, ARROWS) == []


@pytest.mark.parametrize(("arrows", "problem"), [
    (ARROWS | {"middle": {"low", "late", "new"}}, "middle imports new, which is not allowed"),
    (ARROWS | {"high": {"late"}}, "high does not import middle any more"),
    (ARROWS | {"new": set()}, "new is in no row"),
    ({name: targets for name, targets in ARROWS.items() if name != "low"}, "low is there no more"),
])
def test_what_was_not_agreed_is_one(arrows: dict[str, set[str]], problem: str) -> None:
    assert find_problems(arrows, ARROWS) == [problem]


def test_a_cycle_is_one_even_if_it_was_agreed() -> None:
    arrows = ARROWS | {"low": {"high"}}
    (problem,) = find_problems(arrows, arrows)
    assert problem.startswith("a cycle: ")
    names = problem.removeprefix("a cycle: ").split(" imports ")
    assert names[0] == names[-1]
    assert all(target in arrows[source] for source, target in pairwise(names))


def test_a_cycle_in_the_sources_is_found(tmp_path: Path) -> None:
    arrows = find_arrows(write(tmp_path, **{"low.py": "def late():\n    from service.high.a import MODULES\n"}))
    assert any(problem.startswith("a cycle: ") for problem in find_problems(arrows, arrows))


# ---------------------------------------------------------------- the command line has no use for a web framework


@pytest.mark.parametrize("arguments", [[], ["--help"], ["count", "{file}", "-m", "gpt-4o"], [
    "fits", "{file}", "-m", "gpt-4o", "--max-tokens", "100",
]], ids=["imported", "help", "count", "fits"])
def test_the_command_line_imports_no_web_framework(arguments: list[str], tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Hello, world!", encoding="utf-8")
    code = f"""
import sys
import service.cli.main
arguments = {[each.format(file=file) for each in arguments]!r}
if arguments:
    try:
        code = service.cli.main.main(arguments)
    except SystemExit as exit:
        code = exit.code
    assert not code, code
print("imported:", *sorted({{"fastapi", "starlette", "uvicorn"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("imported:\n"), done.stdout
