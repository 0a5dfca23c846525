"""Which packages of service/ import which, and whether that is as it was agreed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Set
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

MODULE = re.compile(r"service(\.\w+)+")
"""Also in a string: a module that is imported by its name when it is needed."""


def find_arrows(root: Path) -> dict[str, set[str]]:
    """Each package and root module of the import package at `root`, and those that it imports.

    Imports for types alone (under `if TYPE_CHECKING`) are left out; those inside of functions are not.
    """
    arrows: dict[str, set[str]] = {}
    for file in sorted(root.rglob("*.py")):
        place = file.relative_to(root).with_suffix("").parts[0]
        if place != "__init__":
            found = {_find_place(name, root) for name in _find_imports(ast.parse(file.read_text("utf-8")), file, root)}
            arrows.setdefault(place, set()).update(found - {None, place})  # type: ignore[arg-type]
    return arrows


def _find_place(name: str, root: Path) -> str | None:
    """The package or root module that a dotted name is in; None for what is not of ours."""
    top, _, rest = name.partition(".")
    place = rest.partition(".")[0]
    is_ours = top == root.name and ((root / place / "__init__.py").exists() or (root / f"{place}.py").exists())
    return place if place and is_ours else None


def _find_imports(tree: ast.Module, file: Path, root: Path) -> Iterator[str]:
    for_types = {id(part) for node in ast.walk(tree) if _is_for_types(node) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = [root.name, *file.relative_to(root).parts[: -node.level]] if node.level else []
            module = ".".join([*package, *filter(None, [node.module])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE.fullmatch(node.value):
            yield node.value


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def find_problems(arrows: Mapping[str, Set[str]], allowed: Mapping[str, Set[str]]) -> list[str]:
    """Arrows that nobody agreed to, those agreed to that are gone, and one cycle if there is any."""
    found = {(source, target) for source, targets in arrows.items() for target in targets}
    agreed = {(source, target) for source, targets in allowed.items() for target in targets}
    problems = [f"{source} imports {target}, which is not allowed" for source, target in sorted(found - agreed)]
    problems += [f"{source} does not import {target} any more" for source, target in sorted(agreed - found)]
    problems += [f"{source} is in no row" for source in sorted(arrows.keys() - allowed.keys())]
    problems += [f"{source} is there no more" for source in sorted(allowed.keys() - arrows.keys())]
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        problems.append("a cycle: " + " imports ".join(reversed(error.args[1])))
    return problems
