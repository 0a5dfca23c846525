"""Answers as a page shows them: wrapped, and with `...` for what is left out."""

from __future__ import annotations

import json
import re
from typing import Any

_LEFT_OUT = re.compile(r"(?<=[,{\[])\s*\.\.\.(?=\s*([}\]]))")
_REST = "..."


def parse(output: str) -> Any:
    """The JSON of an answer. `...` at the end of an object or a list becomes a member of it that `matches` knows."""
    return json.loads(_LEFT_OUT.sub(lambda found: '"...": "..."' if found[1] == "}" else '"..."', output))


def matches(shown: Any, given: Any, passing: frozenset[str] = frozenset()) -> bool:
    """Whether `given` is what is shown. Where something is left out, something must be there.

    A text that ends with `...` is the beginning of a longer one. What stands under a name of `passing` is different
    in each answer: only whether there is something is compared.
    """
    if isinstance(shown, dict) and isinstance(given, dict):
        names = shown.keys() - {_REST}
        same = names < given.keys() if _REST in shown else names == given.keys()
        return same and all(
            bool(shown[name]) == bool(given[name]) if name in passing else matches(shown[name], given[name], passing)
            for name in names
        )
    if isinstance(shown, list) and isinstance(given, list):
        items = [item for item in shown if item != _REST]
        same = len(items) < len(given) if _REST in shown else len(items) == len(given)
        return same and all(matches(ours, theirs, passing) for ours, theirs in zip(items, given, strict=False))
    if isinstance(shown, str) and isinstance(given, str) and shown.endswith(_REST):
        beginning = shown.removesuffix(_REST)
        return given.startswith(beginning) and len(given) > len(beginning)
    return type(shown) is type(given) and bool(shown == given)
