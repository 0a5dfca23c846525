"""What counting costs, as measured here: by it Redis is asked, or is not."""

from __future__ import annotations

from collections.abc import Mapping

_WEIGHT = 0.2
"""Of the newest measurement in the running mean."""

MIN_MEASURED_CHARS = 2_000
"""A shorter text measures the call, not the counting."""


class CountingCost:
    """Seconds that counting takes, by tokenizer: a running mean of what it took. Used from threads; each reading is
    one number, so none is ever torn, and a lost update does not matter."""

    def __init__(self) -> None:
        self._seconds_per_char: dict[str, float] = {}

    def record(self, tokenizer: str, chars: int, seconds: float) -> None:
        if chars < MIN_MEASURED_CHARS:
            return
        now = seconds / chars
        before = self._seconds_per_char.get(tokenizer, now)
        self._seconds_per_char[tokenizer] = before + _WEIGHT * (now - before)

    def predict(self, tokenizer: str, chars: int) -> float:
        """Seconds for a text; 0 as long as nothing was measured."""
        return chars * self._seconds_per_char.get(tokenizer, 0.0)

    def list_costs(self) -> Mapping[str, float]:
        """Seconds a character by tokenizer."""
        return dict(self._seconds_per_char)
