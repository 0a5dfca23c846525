"""As much of PromQL as rules and dashboards need to be held to the metrics there are: names, matchers, groupings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
SELECTOR = re.compile(r"(?<![\w:.])([a-zA-Z_:][\w:]*)\s*(\{[^}]*\})?(\s*\()?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')

WORDS = frozenset({"and", "or", "unless", "bool", "offset", "inf", "nan"})

FUNCTIONS = frozenset({
    "sum", "max", "min", "count", "avg", "rate", "increase", "abs", "absent", "round", "histogram_quantile",
    "max_over_time", "vector",
})
"""Those in use: a name that is called and not here is a slip, or one to be added."""


@dataclass(frozen=True, slots=True)
class Selector:
    metric: str
    matchers: tuple[tuple[str, str], ...]
    """(label, value); of an alternation one for each."""


def grouped_by(expression: str) -> set[str]:
    """Every label that anything in it is grouped by."""
    return {label.strip() for labels in GROUPING.findall(expression) for label in labels.split(",") if label.strip()}


def selectors(expression: str) -> Iterator[Selector]:
    """Every metric in it, with its matchers. Raises ValueError for a function that is not known."""
    plain = re.sub(r"\[[^\]]*\]", "", GROUPING.sub(" ", expression))
    for name, braces, call in SELECTOR.findall(plain):
        if call:
            if name not in FUNCTIONS and name not in WORDS:
                raise ValueError(f"{name} is no function known here")
        elif name not in WORDS:
            matchers = [(label, one) for label, _, value in MATCHER.findall(braces) for one in value.split("|")]
            yield Selector(name, tuple(matchers))
