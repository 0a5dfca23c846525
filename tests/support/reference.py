"""Slow, simple versions of the fast tokenizers, which tests compare with them. They are written to be read."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

from service.tokenizers.byte_alphabet import BYTE_TO_LETTER
from service.tokenizers.splitting import WHITE_SPACE

GPT2_CUTS = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""


# ---------------------------------------------------------------- merging


def merge_neighbours[Part: (str, bytes)](
    parts: list[Part], find_rank: Callable[[Part, Part], int | None]
) -> list[Part]:
    """Merge the two neighbours with the lowest rank, the leftmost first, until no two neighbours have a rank."""
    while True:
        ranked = [(rank, at) for at, (left, right) in enumerate(pairwise(parts))
                  if (rank := find_rank(left, right)) is not None]
        if not ranked:
            return parts
        _, at = min(ranked)
        parts = [*parts[:at], parts[at] + parts[at + 1], *parts[at + 2:]]


def encode_by_ranks(text: str, cuts: re.Pattern[str], ranks: dict[bytes, int]) -> list[int]:
    """What tiktoken does: split by a pattern. A piece that is a token stays one; the bytes of others are merged."""
    ids: list[int] = []
    for piece in cuts.findall(text):
        whole = piece.encode()
        if whole in ranks:
            ids.append(ranks[whole])
            continue
        parts = merge_neighbours([bytes([byte]) for byte in whole], lambda left, right: ranks.get(left + right))
        ids += [ranks[part] for part in parts]
    return ids


# ---------------------------------------------------------------- cutting, with the standard library's re


@cache
def character_class(name: str) -> str:
    """The inside of a bracket expression for a Unicode category such as L or Lu."""
    codes = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith(name)]
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


@cache
def compile_cuts(pattern: str) -> re.Pattern[str]:
    r"""Compile a tokenizer's pattern for `re`, which has no \p{L}, and in which \s and $ mean something else."""
    blanks = "".join(f"\\U{ord(blank):08x}" for blank in sorted(WHITE_SPACE))

    def inside(bracket: str) -> str:
        named = re.sub(r"\\p\{(\w+)\}", lambda name: character_class(name[1]), bracket)
        return named.replace(r"\s", blanks)

    parts = re.split(r"(\[[^\]]*\])", pattern)
    for number, part in enumerate(parts):
        if part.startswith("["):
            parts[number] = inside(part)
            continue
        named = re.sub(r"\\p\{(\w+)\}", lambda name: f"[{character_class(name[1])}]", part)
        parts[number] = named.replace(r"\s", f"[{blanks}]").replace(r"\S", f"[^{blanks}]").replace("$", r"\Z")
    return re.compile("".join(parts))


# ---------------------------------------------------------------- merge lists


class MergeList:
    """A slow encoder for a tokenizer.json with a BPE model: normalize, split, merge by the list of merges."""

    def __init__(self, content: bytes) -> None:
        rows = json.loads(content)
        model = rows["model"]
        self.vocabulary: dict[str, int] = model["vocab"]
        pairs = (tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair) for pair in model["merges"])
        self.ranks = {pair: rank for rank, pair in enumerate(pairs)}
        self.always = {row["content"]: row["id"] for row in rows["added_tokens"] if not row["special"]}
        self.byte_level = rows["decoder"]["type"] == "ByteLevel"
        self.longest = max(map(len, self.always), default=0)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        for part in self._cut_at_added(text):
            ids += [self.always[part]] if part in self.always else self._ordinary(part)
        return ids

    def _cut_at_added(self, text: str) -> Iterator[str]:
        """Split at added tokens: the leftmost, and of these the longest."""
        start = at = 0
        while at < len(text):
            fits = (text[at:at + size] for size in range(min(self.longest, len(text) - at), 0, -1))
            found = next((part for part in fits if part in self.always), None)
            if found is None:
                at += 1
                continue
            if start < at:
                yield text[start:at]
            yield found
            start = at = at + len(found)
        if start < at:
            yield text[start:]

    def _ordinary(self, text: str) -> list[int]:
        if not self.byte_level:
            return self._merge(text.replace(" ", "\u2581"))
        cuts = compile_cuts(GPT2_CUTS).findall(unicodedata.normalize("NFKC", text))
        return [token for cut in cuts for token in self._merge("".join(BYTE_TO_LETTER[byte] for byte in cut.encode()))]

    def _merge(self, text: str) -> list[int]:
        parts = merge_neighbours(list(text), lambda left, right: self.ranks.get((left, right)))
        return [token for part in parts for token in self._token(part)]

    def _token(self, part: str) -> list[int]:
        """The token of a part. A character that is not in the vocabulary becomes byte tokens."""
        if part in self.vocabulary:
            return [self.vocabulary[part]]
        return [self.vocabulary[f"<0x{byte:02X}>"] for byte in part.encode()]
