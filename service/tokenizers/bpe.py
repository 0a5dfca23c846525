"""Byte-pair merging that keeps every merge, to show how a text was cut. The engines merge faster but keep nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

type Rule[S] = Callable[[S, S], tuple[int, S] | None]
"""The rank of merging two neighbours, and what they become: the lowest rank goes first. None where they stay apart."""


@dataclass(frozen=True, slots=True)
class Node[S]:
    """A symbol over the leaves `first` up to, not including, `end`. A merge has `left`, `right` (nodes) and `rank`."""

    symbol: S
    first: int
    end: int
    left: int | None = None
    right: int | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class MergeTree[S]:
    """How a row of symbols was merged: the leaves, then the merges in the order they were made.

    After k merges the row is every node among the leaves and the first k merges that none of these k has as a child.
    """

    nodes: tuple[Node[S], ...]
    leaves: int

    @property
    def tokens(self) -> tuple[int, ...]:
        """The nodes that are no child of another node, in order of the text."""
        children = {child for node in self.nodes for child in (node.left, node.right)}
        roots = (number for number in range(len(self.nodes)) if number not in children)
        return tuple(sorted(roots, key=lambda number: self.nodes[number].first))

    @property
    def symbols(self) -> tuple[S, ...]:
        """The symbols that are left at the end, in order of the text."""
        return tuple(self.nodes[number].symbol for number in self.tokens)


def merge[S](symbols: Sequence[S], rule: Rule[S]) -> MergeTree[S]:
    """Merges neighbours, lowest rank first and leftmost among equals, until no rule applies: O(n log n)."""
    return _Merging(symbols, rule).run()


class _Merging[S]:
    """A row of nodes as a linked list by the leaf that each begins at."""

    def __init__(self, symbols: Sequence[S], rule: Rule[S]) -> None:
        self.rule = rule
        self.nodes = [Node(symbol, place, place + 1) for place, symbol in enumerate(symbols)]
        self.leaves = len(self.nodes)
        self.node_at: list[int | None] = [*range(self.leaves)]
        self.starts_before = [-1] * (self.leaves + 1)
        """By the leaf that a node ends before: the leaf it begins at."""
        for place in range(self.leaves):
            self.starts_before[place + 1] = place
        self.queue = [entry for place in range(self.leaves) for entry in self.entries(place)]
        heapify(self.queue)

    def entries(self, place: int) -> Iterator[tuple[int, int, int, int]]:
        """(rank, place, left, right) of the pair that begins at leaf `place`, if a rule applies."""
        left = self.node_at[place]
        if left is None or self.nodes[left].end == self.leaves:
            return
        right = self.node_at[self.nodes[left].end]
        assert right is not None
        found = self.rule(self.nodes[left].symbol, self.nodes[right].symbol)
        if found is not None:
            yield found[0], place, left, right

    def run(self) -> MergeTree[S]:
        while self.queue:
            rank, place, left, right = heappop(self.queue)
            middle = self.nodes[left].end
            if self.node_at[place] == left and self.node_at[middle] == right:
                self.join(rank, place, left, right)
        return MergeTree(tuple(self.nodes), self.leaves)

    def join(self, rank: int, place: int, left: int, right: int) -> None:
        found = self.rule(self.nodes[left].symbol, self.nodes[right].symbol)
        assert found is not None
        end = self.nodes[right].end
        self.node_at[place], self.node_at[self.nodes[left].end] = len(self.nodes), None
        self.nodes.append(Node(found[1], place, end, left, right, rank))
        self.starts_before[end] = place
        before = self.starts_before[place]
        for neighbour in (before, place):
            for entry in self.entries(neighbour) if neighbour >= 0 else ():
                heappush(self.queue, entry)
