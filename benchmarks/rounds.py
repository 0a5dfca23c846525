"""Measures several sides in turns, so that whatever else the machine does affects all of them alike."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence


def measure_in_turns[T](sides: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """The results of each side, one for each round."""
    found: dict[str, list[T]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, measure in sides.items():
            found[name].append(measure())
    return found


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios ours / theirs of each round."""
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
