"""Context windows and output limits, where the price list does not tell them or tells them loosely."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Limits:
    """In tokens, None where not known. `shared`: input and output share the window; else it is for input alone.

    `max_input` is set where a provider refuses inputs shorter than the window.
    """

    window: int | None = None
    max_input: int | None = None
    max_output: int | None = None
    shared: bool = True


_LIMITS: tuple[tuple[re.Pattern[str], Limits], ...] = ()


def limits_of(model_id: str, listed_window: int | None) -> Limits:
    """The limits of a canonical id; the price list's window where no row has one."""
    for pattern, limits in _LIMITS:
        if pattern.fullmatch(model_id):
            return limits if limits.window is not None else replace(limits, window=listed_window)
    return Limits(window=listed_window)
