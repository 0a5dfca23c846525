"""How long counting takes, as measured by this process. It decides whether asking Redis is worth it."""

from __future__ import annotations

from collections.abc import Mapping

_WEIGHT = 0.2
"""Weight of the newest measurement in the running mean."""

MIN_MEASURED_CHARS = 2_000
"""Shorter texts are not measured: the call itself would take most of the time."""


class CountingCost:
    """Seconds that counting takes, by tokenizer: a running mean.

    Threads use it without a lock. Each value is one number, so no read sees half of it; a lost update does not matter.
    """

    def __init__(self) -> None:
        self._seconds_per_char: dict[str, float] = {}

    def record(self, tokenizer: str, chars: int, seconds: float) -> None:
        if chars < MIN_MEASURED_CHARS:
            return
        now = seconds / chars
        before = self._seconds_per_char.get(tokenizer, now)
        self._seconds_per_char[tokenizer] = before + _WEIGHT * (now - before)

    def predict(self, tokenizer: str, chars: int) -> float:
        """Seconds for a text of so many characters. 0 until something was measured."""
        return chars * self._seconds_per_char.get(tokenizer, 0.0)

    def list_costs(self) -> Mapping[str, float]:
        """Seconds per character, by tokenizer."""
        return dict(self._seconds_per_char)
