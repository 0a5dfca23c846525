"""A parser for the part of PromQL that rules and dashboards use: names, matchers, groupings."""

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
"""The functions in use. A function that is not here is a mistake, or has to be added."""


@dataclass(frozen=True, slots=True)
class Selector:
    metric: str
    matchers: tuple[tuple[str, str], ...]
    """(label, value) of a matcher, one for each alternative."""


def grouped_by(expression: str) -> set[str]:
    """All labels by which something in the expression is grouped."""
    return {label.strip() for labels in GROUPING.findall(expression) for label in labels.split(",") if label.strip()}


def selectors(expression: str) -> Iterator[Selector]:
    """All metrics in the expression, with their matchers. Raises ValueError for an unknown function."""
    plain = re.sub(r"\[[^\]]*\]", "", GROUPING.sub(" ", expression))
    for name, braces, call in SELECTOR.findall(plain):
        if call:
            if name not in FUNCTIONS and name not in WORDS:
                raise ValueError(f"{name} is no function known here")
        elif name not in WORDS:
            matchers = [(label, one) for label, _, value in MATCHER.findall(braces) for one in value.split("|")]
            yield Selector(name, tuple(matchers))
