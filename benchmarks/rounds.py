"""Sides measured in turns, so that whatever else the machine does meets all of them; medians of the rounds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence


def measure_in_turns[T](sides: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """What each side gave in each round."""
    found: dict[str, list[T]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, measure in sides.items():
            found[name].append(measure())
    return found


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median over the rounds of ours to theirs of the same round."""
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
