"""The rules by which published vocabularies merge, to show how a text was cut.

There are two kinds. By ranks (tiktoken) any two neighbours merge whose bytes together are a token, and the token of the
lowest rank goes first. By a merge list (Hugging Face) only the pairs of the list merge, and the earliest in the list
goes first, whatever else the vocabulary holds.
"""

from __future__ import annotations

import json
import threading
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

import regex

from service.tokenizers.bpe import Rule, merge
from service.tokenizers.byte_alphabet import BYTE_TO_LETTER, decode_byte_level
from service.tokenizers.data import read_verified
from service.tokenizers.normalizers import get_normalizer
from service.tokenizers.patterns import RANK_PATTERNS
from service.tokenizers.specs import TOKENIZERS
from service.tokenizers.vocabulary import compile_alternatives

Algorithm = Literal["ranks", "merge_list"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A pre-token: a part of the text that is merged by itself. An added token is not merged: `added` is its id and its
    bytes."""

    text: str
    added: tuple[int, bytes] | None = None


class MergeRules(Protocol):
    """The rules of one tokenizer; symbols are ids."""

    algorithm: Algorithm

    def normalize(self, text: str, /) -> str:
        """The text that is cut into pre-tokens."""
        ...

    def rule(self, left: int, right: int, /) -> tuple[int, int] | None:
        """The rank and the id of what two neighbours become; see `bpe.Rule`."""
        ...

    def other_rule(self, left: int, right: int, /) -> tuple[int, int] | None:
        """The same for the same vocabulary under the other kind of rule."""
        ...

    def chunks(self, text: str) -> Iterator[Chunk]:
        """The pre-tokens of a normalized text, in order."""
        ...

    def leaves(self, chunk: str) -> list[tuple[int, bytes]]:
        """The id and the bytes of each symbol that merging starts from. Raises KeyError for one without an id."""
        ...

    def find_whole(self, chunk: str) -> int | None:
        """The id of a pre-token that is a token and therefore not merged; None for others."""
        ...


class RankRules:
    """OpenAI's rules: ids are ranks."""

    algorithm: Algorithm = "ranks"

    def __init__(self, ranks: Mapping[bytes, int], pattern: str) -> None:
        self._ranks = ranks
        self._bytes_by_rank = {rank: token for token, rank in ranks.items()}
        self._pattern = regex.compile(pattern)
        self._listed: Rule[int] = lru_cache(50_000)(self._derived)

    def normalize(self, text: str) -> str:
        return text

    def chunks(self, text: str) -> Iterator[Chunk]:
        return (Chunk(found.group()) for found in self._pattern.finditer(text))

    def leaves(self, chunk: str) -> list[tuple[int, bytes]]:
        return [(self._ranks[byte], byte) for byte in _each_byte(chunk)]

    def find_whole(self, chunk: str) -> int | None:
        return self._ranks.get(chunk.encode())

    def rule(self, left: int, right: int) -> tuple[int, int] | None:
        rank = self._ranks.get(self._bytes_by_rank[left] + self._bytes_by_rank[right])
        return None if rank is None else (rank, rank)

    def other_rule(self, left: int, right: int) -> tuple[int, int] | None:
        return self._listed(left, right)

    def _derived(self, left: int, right: int) -> tuple[int, int] | None:
        """A merge list made of ranks holds one pair a token: the two that the token's bytes come to by lower ranks."""
        found = self.rule(left, right)
        if found is None:
            return None

        def lower(one: int, other: int) -> tuple[int, int] | None:
            step = self.rule(one, other)
            return step if step is not None and step < found else None

        whole = self._bytes_by_rank[left] + self._bytes_by_rank[right]
        tree = merge([self._ranks[bytes([byte])] for byte in whole], lower)
        return found if tree.symbols == (left, right) else None


class MergeListRules:
    """The rules of a Hugging Face tokenizer.json. Pairs of ids are sorted arrays: Gemma has half a million."""

    algorithm: Algorithm = "merge_list"

    def __init__(
        self, content: bytes, cut: Callable[[str], Iterator[str]], normalize: Callable[[str], str],
        spell: Callable[[str], bytes], *, byte_level: bool,
    ) -> None:
        found = json.loads(content)
        vocabulary: dict[str, int] = found["model"]["vocab"]
        self._ids = vocabulary
        self._spelled = {token: text for text, token in vocabulary.items()}
        self._added = {token["content"]: token["id"] for token in found["added_tokens"]}
        self._special = {token["content"] for token in found["added_tokens"] if token["special"]}
        self._added_at = compile_alternatives(self._added)
        self._cut = cut
        self._normalize = normalize
        self._bytes = spell
        self._symbols = _byte_symbols if byte_level else self._character_symbols
        self._pairs, self._places = _pair_table(found["model"]["merges"], vocabulary)

    def normalize(self, text: str) -> str:
        return self._normalize(text)

    def chunks(self, text: str) -> Iterator[Chunk]:
        start = 0
        for found in self._added_at.finditer(text):
            if found.group() not in self._special:  # those are ordinary text here
                yield from map(Chunk, self._cut(text[start : found.start()]))
                yield Chunk(found.group(), (self._added[found.group()], self._bytes(found.group())))
                start = found.end()
        yield from map(Chunk, self._cut(text[start:]))

    def leaves(self, chunk: str) -> list[tuple[int, bytes]]:
        return [(self._ids[symbol], self._bytes(symbol)) for symbol in self._symbols(chunk)]

    def _character_symbols(self, chunk: str) -> Iterator[str]:
        for char in chunk.replace(" ", "\u2581"):
            if char in self._ids:
                yield char
            else:
                yield from (f"<0x{byte:02X}>" for byte in char.encode())

    def find_whole(self, chunk: str) -> int | None:
        return None

    def rule(self, left: int, right: int) -> tuple[int, int] | None:
        pair = left << 32 | right
        at = bisect_left(self._pairs, pair)
        if at == len(self._pairs) or self._pairs[at] != pair:
            return None
        return self._places[at], self._ids[self._spelled[left] + self._spelled[right]]

    def other_rule(self, left: int, right: int) -> tuple[int, int] | None:
        """By ranks: any two merge that are a token together, and the lowest id goes first."""
        found = self._ids.get(self._spelled[left] + self._spelled[right])
        return None if found is None else (found, found)


def _each_byte(text: str) -> list[bytes]:
    return [bytes([byte]) for byte in text.encode()]


def _byte_symbols(chunk: str) -> Iterator[str]:
    return (BYTE_TO_LETTER[byte] for byte in chunk.encode())


def _pair_table(merges: list[Any], ids: Mapping[str, int]) -> tuple[array[int], array[int]]:
    """Sorted pairs (left id << 32 | right id), and for each its place in the list."""
    rows = (row.split(" ") if isinstance(row, str) else row for row in merges)
    pairs = array("Q", (ids[left] << 32 | ids[right] for left, right in rows))
    order = sorted(range(len(pairs)), key=pairs.__getitem__)
    return array("Q", map(pairs.__getitem__, order)), array("I", order)


# ---------------------------------------------------------------- which tokenizer has which


def _by_ranks(name: str, data: str) -> MergeRules:
    from service.tokenizers.reference.tiktoken import parse_ranks

    return RankRules(parse_ranks(read_verified(data)), RANK_PATTERNS[name].regex)


def _legacy_claude(name: str, data: str) -> MergeRules:
    from tokenizers import pre_tokenizers

    level = pre_tokenizers.ByteLevel(add_prefix_space=False)

    def cut(text: str) -> Iterator[str]:
        return (text[start:end] for _, (start, end) in level.pre_tokenize_str(text))

    return MergeListRules(read_verified(data), cut, get_normalizer(name).normalize, decode_byte_level, byte_level=True)


def _gemma(name: str, data: str) -> MergeRules:
    from service.tokenizers.reference.huggingface import decode_sentencepiece

    return MergeListRules(read_verified(data), _uncut, str, decode_sentencepiece, byte_level=False)


def _uncut(text: str) -> Iterator[str]:
    """Gemma's tokenizer would cut at blanks, but has made them U+2581 by then: it merges whole texts."""
    if text:
        yield text


_LOADERS: Mapping[str, Callable[[str, str], MergeRules]] = {
    **dict.fromkeys(RANK_PATTERNS, _by_ranks), "claude": _legacy_claude, "gemma3": _gemma,
}

_loading = threading.Lock()


def find_rules(tokenizer: str) -> MergeRules | None:
    """The rules of a tokenizer; None where it has none, or they are not published. Raises TokenizerUnavailable.

    The last three that were read stay in memory (o200k 44 MB, claude 20 MB, gemma3 70 MB); others are read again,
    which takes 0.05 to 2 s (measured 2026-11-29, 2 cores, CPython 3.13).
    """
    if tokenizer not in _LOADERS:
        return None
    with _loading:
        return _load(tokenizer)


@lru_cache(maxsize=3)
def _load(tokenizer: str) -> MergeRules:
    row = next(row for row in TOKENIZERS if row.name == tokenizer)
    return _LOADERS[tokenizer](tokenizer, row.file.tokenizer)
