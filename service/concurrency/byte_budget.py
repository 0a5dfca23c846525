"""How many bytes one request body may have, and how many bytes of bodies the process may hold at once."""

from __future__ import annotations

from dataclasses import dataclass

from service.errors import Overloaded


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """`max_bytes` holds for the body as sent and again for what it decompresses to; `seconds` for its arrival."""

    max_bytes: int
    seconds: float


class ByteBudget:
    """Bytes of bodies that all requests together may hold. Used from one event loop, so without a lock."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.held = 0

    def has(self, count: int) -> bool:
        """Whether so many more bytes may be held."""
        return self.held + count <= self.max_bytes

    def reserve(self) -> ByteReservation:
        """A share for one request: a context manager that gives everything back at its end."""
        return ByteReservation(self)


class ByteReservation:
    """The bytes that one request holds of a budget."""

    def __init__(self, budget: ByteBudget) -> None:
        self.budget = budget
        self.bytes = 0

    def __enter__(self) -> ByteReservation:
        return self

    def __exit__(self, *_: object) -> None:
        self.budget.held -= self.bytes

    def take(self, count: int) -> None:
        """Hold so many bytes more. Raises Overloaded where the budget has no more."""
        if not self.budget.has(count):
            raise Overloaded("Too many large bodies are being read; try again in a second.", retry_after=1)
        self.bytes += count
        self.budget.held += count
