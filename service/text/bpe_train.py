"""Training a byte-pair encoding on a small corpus with every step shown, and encoding with what was learnt.

A step merges the pair of neighbours that is most frequent. Counts, order and ties are the same as if the whole corpus
were counted again before each step, but it is not. All occurrences of a pair are made in one step, the one that made
its newer symbol, and later they can only disappear. So its count can only fall, and its first place only move back. The
best pair is found with a heap, whose outdated entries are put back with their new values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import Literal

import regex

from service.text.explain import PreToken, spell
from service.tokenizers.bpe import merge

Level = Literal["byte", "character"]
Ties = Literal["first_counted", "lowest_ids"]
Stopped = Literal["merges", "no_pairs"]
Pair = tuple[int, int]

END_OF_WORD = "</w>"
"""How the mark at the end of a word is shown, at character level. The symbol is not this text, which a corpus may hold.
"""

UNKNOWN = -1
"""The symbol of a character that is not in the corpus. It merges with nothing."""

PRE_TOKEN: Mapping[Level, regex.Pattern[str]] = {
    "byte": regex.compile(r" ?\p{L}+| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+"),
    "character": regex.compile(r"\S+"),
}
"""Pre-tokens. "byte": letters, one to three digits, or symbols, each with an optional blank in front, and blanks.
"character": words."""


@dataclass(frozen=True, slots=True)
class Token:
    """An entry of the vocabulary: its bytes, whether it holds the end of a word, and the pair that it was merged from.
    """

    spelled: bytes
    ends_word: bool = False
    pair: Pair | None = None


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """One merge. `pairs` are the best pairs before it with their counts, the merged one first.

    `tied` says that another pair had the same count. `tokens` is the length of the corpus after the merge.
    """

    pair: Pair
    count: int
    tied: bool
    new: int
    pairs: tuple[tuple[Pair, int], ...]
    distinct_pairs: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Training:
    """What was learnt. `words` are the distinct pre-tokens in order of appearance, with the number of each.

    `tokens` is the length of the corpus before the first merge. Ids are places in `vocabulary`.
    """

    level: Level
    words: Mapping[str, int]
    tokens: int
    steps: tuple[TrainingStep, ...]
    vocabulary: tuple[Token, ...]
    stopped: Stopped

    def encode(self, text: str) -> list[PreToken]:
        """`text`, encoded with the merges in the order of learning. The id of an unknown character is None."""
        ranks = {step.pair: (rank, step.new) for rank, step in enumerate(self.steps)}
        alphabet = _Alphabet.of(self.level, self.vocabulary)
        words = PRE_TOKEN[self.level].finditer(text)
        return [self._encode_word(word.group(), word.start(), ranks, alphabet) for word in words]

    def _encode_word(
        self, word: str, start: int, ranks: Mapping[Pair, tuple[int, int]], alphabet: _Alphabet
    ) -> PreToken:
        tree = merge(alphabet.symbols(word), lambda left, right: ranks.get((left, right)))
        nodes, spelled = spell(tree, alphabet.spelled(word))
        nodes = tuple(replace(node, id=None) if node.id == UNKNOWN else node for node in nodes)
        return PreToken(spelled, start, start + len(word), False, tree.leaves, nodes, tree.tokens)


@dataclass(frozen=True, slots=True)
class _Alphabet:
    """The symbols of a word before anything is merged: its bytes, or its characters and a mark at the end."""

    level: Level
    ids: Mapping[str, int]
    mark: int

    @classmethod
    def of(cls, level: Level, vocabulary: Sequence[Token]) -> _Alphabet:
        if level == "byte":
            return cls(level, {}, UNKNOWN)
        base = [token for token in vocabulary if token.pair is None]
        ids = {token.spelled.decode(): number for number, token in enumerate(base) if not token.ends_word}
        return cls(level, ids, len(base) - 1)

    def symbols(self, word: str) -> list[int]:
        if self.level == "byte":
            return [*word.encode()]
        return [*(self.ids.get(char, UNKNOWN) for char in word), self.mark]

    def spelled(self, word: str) -> list[bytes]:
        if self.level == "byte":
            return [bytes([byte]) for byte in word.encode()]
        return [*(char.encode() for char in word), b""]


def train(corpus: str, merges: int, level: Level = "byte", ties: Ties = "first_counted", top: int = 20) -> Training:
    """Learn at most `merges` merges from `corpus`, with the `top` pairs of each step. Pairs never cross pre-tokens.

    Of pairs with the same count the one is merged that comes first in the corpus, or with `lowest_ids` the one with the
    lowest ids, as in Hugging Face's trainer. The time is O(n log n) in the corpus and O(top log n) a step.
    """
    words = Counter(found.group() for found in PRE_TOKEN[level].finditer(corpus))
    vocabulary = _base_vocabulary(level, words)
    alphabet = _Alphabet.of(level, vocabulary)
    trainer = _Trainer([(alphabet.symbols(word), count) for word, count in words.items()], ties)
    steps: list[TrainingStep] = []
    tokens = trainer.tokens
    while len(steps) < merges:
        best = trainer.best(max(top, 2))
        if not best:
            break
        (pair, count), new = best[0], len(vocabulary)
        tied = len(best) > 1 and best[1][1] == count
        distinct = trainer.distinct_pairs
        trainer.join(pair, new)
        left, right = vocabulary[pair[0]], vocabulary[pair[1]]
        vocabulary.append(Token(left.spelled + right.spelled, right.ends_word, pair))
        steps.append(TrainingStep(pair, count, tied, new, tuple(best[:top]), distinct, trainer.tokens))
    stopped: Stopped = "merges" if len(steps) == merges else "no_pairs"
    return Training(level, words, tokens, tuple(steps), tuple(vocabulary), stopped)


def _base_vocabulary(level: Level, words: Mapping[str, int]) -> list[Token]:
    """The 256 bytes. Or the characters in the order of their code points, and the mark."""
    if level == "byte":
        return [Token(bytes([byte])) for byte in range(256)]
    return [*(Token(char.encode()) for char in sorted({char for word in words for char in word})), Token(b"", True)]


class _Trainer:
    """The distinct words as linked lists, one after the other in one sequence of places.

    A symbol stands at the place at which it begins, so places never move. The first place of a pair tells which of two
    pairs comes first in the corpus.
    """

    def __init__(self, words: Sequence[tuple[list[int], int]], ties: Ties) -> None:
        self.ties = ties
        self.symbols: list[int] = []
        self.weights: list[int] = []
        self.before: list[int] = []
        self.after: list[int] = []
        for symbols, weight in words:
            first = len(self.symbols)
            end = first + len(symbols)
            self.symbols += symbols
            self.weights += [weight] * len(symbols)
            self.before += [-1, *range(first, end - 1)]
            self.after += [*range(first + 1, end), -1]
        self.tokens = sum(self.weights)
        self.counts: dict[Pair, int] = {}
        self.places: dict[Pair, list[int]] = {}
        self.passed: dict[Pair, int] = {}
        """How many places of a pair, from the first on, are known to hold it no longer."""
        for place in range(len(self.symbols)):
            self.add(place)
        self.waiting = [entry for pair in self.counts for entry in self.entries(pair)]
        heapify(self.waiting)

    @property
    def distinct_pairs(self) -> int:
        return len(self.counts)

    def pair_at(self, place: int) -> Pair | None:
        """The pair whose left symbol stands at `place`."""
        after = self.after[place]
        return None if after < 0 or self.symbols[place] < 0 else (self.symbols[place], self.symbols[after])

    def add(self, place: int) -> None:
        pair = self.pair_at(place)
        if pair is not None:
            self.counts[pair] = self.counts.get(pair, 0) + self.weights[place]
            self.places.setdefault(pair, []).append(place)

    def remove(self, place: int) -> None:
        pair = self.pair_at(place)
        if pair is not None:
            self.counts[pair] -= self.weights[place]
            if not self.counts[pair]:
                del self.counts[pair]

    def entries(self, pair: Pair) -> Iterator[tuple[int, int, Pair]]:
        """The heap entry of a pair, if it still occurs: (minus its count, its first place or 0, pair)."""
        if pair not in self.counts:
            self.places.pop(pair, None)
            return
        first = 0
        if self.ties == "first_counted":
            places, passed = self.places[pair], self.passed.get(pair, 0)
            while self.pair_at(places[passed]) != pair:
                passed += 1
            self.passed[pair] = passed
            first = places[passed]
        yield -self.counts[pair], first, pair

    def best(self, most: int) -> list[tuple[Pair, int]]:
        """The best pairs with their counts, best first."""
        found: list[tuple[int, int, Pair]] = []
        while self.waiting and len(found) < most:
            entry = heappop(self.waiting)
            for now in self.entries(entry[2]):
                if now == entry:
                    found.append(entry)
                else:
                    heappush(self.waiting, now)
        for entry in found:
            heappush(self.waiting, entry)
        return [(pair, -count) for count, _, pair in found]

    def join(self, pair: Pair, new: int) -> None:
        """Merge every occurrence of `pair`, from the left, into the symbol `new`."""
        made: dict[Pair, None] = {}
        for place in self.places.pop(pair):
            if self.pair_at(place) != pair:
                continue
            made |= dict.fromkeys(self.join_at(place, new))
        for fresh in made:
            for entry in self.entries(fresh):
                heappush(self.waiting, entry)

    def join_at(self, place: int, new: int) -> Iterator[Pair]:
        """Merge the symbol at `place` with the next one. Yields the pairs that this makes."""
        before, gone = self.before[place], self.after[place]
        touched = [at for at in (before, place) if at >= 0]
        for at in (*touched, gone):
            self.remove(at)
        after = self.after[gone]
        self.symbols[place], self.symbols[gone] = new, UNKNOWN
        self.after[place], self.after[gone] = after, -1
        if after >= 0:
            self.before[after] = place
        self.tokens -= self.weights[place]
        for at in touched:
            self.add(at)
            made = self.pair_at(at)
            if made is not None:
                yield made
