"""Limits for request bodies: the bytes of one body, and the bytes of all bodies that are in memory at once."""

from __future__ import annotations

from dataclasses import dataclass

from service.errors import Overloaded


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """`max_bytes` is the limit for a body as sent, and again for the decompressed body. It must arrive in `seconds`."""

    max_bytes: int
    seconds: float


class ByteBudget:
    """The bytes of bodies that all requests together may hold. Used from one event loop, so it has no lock."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.held = 0

    def has(self, count: int) -> bool:
        """Whether `count` more bytes may be held."""
        return self.held + count <= self.max_bytes

    def reserve(self) -> ByteReservation:
        """A share for one request. It is a context manager that gives everything back when it ends."""
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
        """Hold `count` more bytes. Raises Overloaded when the budget has no more."""
        if not self.budget.has(count):
            raise Overloaded("Too many large bodies are being read; try again in a second.", retry_after=1)
        self.bytes += count
        self.budget.held += count
