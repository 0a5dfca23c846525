"""Counting in pure Python: one regular expression, and a memory of the prices of its matches.

For short texts, and for all texts where the compiled kernel cannot be used.
"""

from __future__ import annotations

from service.tokenizers.claude.tables import BOW, Family, vocabulary
from service.tokenizers.claude.tiler import Tiler
from service.tokenizers.claude.units import FRAME, NO_SPACE, OPTIONAL_SPACE, Marked, Marker, unit_pattern

MAX_BYTES = 16 << 20
"""Bound of the memory of one family. A full one holds some 70,000 units of usual length."""
MAX_KEY = 128
"""Characters of the longest unit that is remembered: a ruled line is, a blob is not."""
ENTRY_BYTES = 220
"""An entry without its text: dict slot, string header, prices (sys.getsizeof, CPython 3.13)."""

type Price = tuple[tuple[int, int, int, int], int]
"""Tokens of a unit in each context, and the context it leaves."""


class Memo(dict[str, Price]):
    """Unit -> Price, filled by lookups; cleared when it is full.

    Threads share it: a race computes a price twice, and both are the same.
    """

    def __init__(self, family: Family, max_bytes: int) -> None:
        super().__init__()
        self.tiler = Tiler(vocabulary(family.vocabulary))
        self.marker = Marker(family)
        self._max_bytes = self._room = max_bytes

    def __missing__(self, unit: str) -> Price:
        price = self.price(self.marker.mark(unit))
        if len(unit) <= MAX_KEY:
            size = ENTRY_BYTES + 2 * len(unit)
            if size > self._room:
                self.clear()
                self._room = self._max_bytes
            self._room -= size
            self[unit] = price
        return price

    def price(self, marked: Marked) -> Price:
        body, opening = marked.body, marked.opening
        if body[0] in " \t\n\u3000":
            cost = self.tiler.blanks(body)
            return (cost, cost, cost + 1, cost + (opening == "bare")), marked.right
        cost = self._cost(body)
        if opening == "word":
            return (cost, cost, cost, cost), marked.right
        if opening == "quote":
            return (cost, cost, cost + 1, cost + 1), marked.right
        with_bow = self._cost(BOW + body)
        if opening == "border":
            return (cost, with_bow, with_bow, with_bow), marked.right
        return (cost, cost, cost + 1, with_bow), marked.right

    def _cost(self, body: str) -> int:
        return self.tiler.cost(body[:-1]) + 1 if body[-1] == " " else self.tiler.cost(body)


class MemoCounter:
    """Counts normalized text of one family."""

    def __init__(self, family: Family, max_bytes: int = MAX_BYTES) -> None:
        self._memo = Memo(family, max_bytes)
        self._head = FRAME if family.frame_bow else NO_SPACE
        self._pattern = unit_pattern()

    def count(self, text: str) -> int:
        """Tokens of a text that holds at least one character and does not end in a newline."""
        memo = self._memo
        total = 0
        context = self._head
        for unit in self._pattern.findall(text):
            costs, next_context = memo[unit]
            total += costs[context]
            context = next_context
        return total + (context == OPTIONAL_SPACE)

    def newlines(self, count: int) -> int:
        """Tokens of a run of newlines."""
        return self._memo.tiler.newlines(count)
