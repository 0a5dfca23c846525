"""Finding the tokens of a text, and the characters that each of them holds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from service.tokenizers.base import Tokenizer, VocabularyTokenizer
from service.tokenizers.normalizers import align, get_normalizer

Unit = Literal["code_point", "utf16"]

_CONTINUATION = bytes(range(0x80, 0xC0))


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of `text`, in order.

    `ids` is None where the tokenizer has no ids. `pieces` are the bytes of each token. A token holds all or part of the
    characters from `starts` to `ends`, in code points. Each character is in a token; tokens that split a character
    overlap in it. `altered` says that the tokenizer changed the text first: the bytes are then those of the changed
    text. `specials` are the ids of special tokens.
    """

    text: str
    ids: Sequence[int] | None
    pieces: list[bytes]
    starts: list[int]
    ends: list[int]
    altered: bool
    specials: frozenset[int]

    def __len__(self) -> int:
        return len(self.pieces)

    def is_special(self, number: int) -> bool:
        return self.ids is not None and self.ids[number] in self.specials


def locate_tokens(tokenizer: Tokenizer, text: str, *, parse_special: bool = False) -> Tokens:
    """The tokens that `tokenizer.count` counts. `parse_special` reads special-token strings as special tokens.

    Never raises for a text without lone surrogates. The time is linear in the text.
    """
    ids: Sequence[int] | None = None
    if isinstance(tokenizer, VocabularyTokenizer):
        ids = tokenizer.encode(text, parse_special=parse_special)
        spelled = {token: tokenizer.decode_bytes([token]) for token in set(ids)}
        pieces = [spelled[token] for token in ids]
    else:
        pieces = tokenizer.pieces(text)
    starts, ends = _spans(pieces)
    seen = b"".join(pieces)
    altered = seen != text.encode()
    if altered:
        starts, ends = _in_original(text, seen.decode("utf-8", "replace"), tokenizer.name, starts, ends)
    if ids is None:
        _place_empty_tokens(pieces, starts)
    specials = frozenset(tokenizer.specials.values()) if isinstance(tokenizer, VocabularyTokenizer) else frozenset()
    return Tokens(text, ids, pieces, starts, ends, altered, specials)


def _spans(pieces: list[bytes]) -> tuple[list[int], list[int]]:
    """Starts and ends of the pieces, in characters of the text that they make together."""
    begun = {piece: len(piece.translate(None, _CONTINUATION)) for piece in set(pieces)}
    inside = {piece: int(bool(piece) and 0x80 <= piece[0] < 0xC0) for piece in begun}
    ends = list(accumulate(begun[piece] for piece in pieces))
    starts = [end - begun[piece] - inside[piece] for end, piece in zip(ends, pieces, strict=True)]
    return starts, ends


def _in_original(
    text: str, seen: str, tokenizer: str, starts: list[int], ends: list[int]
) -> tuple[list[int], list[int]]:
    """Spans of characters of `seen`, as spans of the `text` that the tokenizer changed into it."""
    alignment = align(text, seen, get_normalizer(tokenizer))
    from_, to = alignment.starts, alignment.ends
    new_starts, new_ends = [], []
    at = 0
    for start, end in zip(starts, ends, strict=True):
        new_starts.append(from_[start] if end > start else at)
        at = to[end - 1] if end > start else at
        new_ends.append(at)
    if new_ends:
        new_ends[-1] = len(text)  # where nothing is left of the text, the tokens stand for all of it
    return new_starts, new_ends


def _place_empty_tokens(pieces: list[bytes], starts: list[int]) -> None:
    """Put each token without bytes, that stands between the tokens of one split character, into that character."""
    for number in range(len(pieces) - 2, -1, -1):
        if not pieces[number]:
            starts[number] = min(starts[number], starts[number + 1])


class Offsets:
    """Converts places in a text between code points and `unit`."""

    def __init__(self, text: str, unit: Unit) -> None:
        wide = unit == "utf16" and not text.isascii()
        self._wide = [place for place, char in enumerate(text) if char > "\uffff"] if wide else []
        self._wide_out = [place + number for number, place in enumerate(self._wide)]

    def to_unit(self, place: int) -> int:
        """`place`, given in code points, in the unit."""
        return place + bisect_left(self._wide, place) if self._wide else place

    def to_code_point(self, place: int) -> int:
        """The number of the code point that holds `place`, which is given in the unit."""
        return place - bisect_left(self._wide_out, place) if self._wide else place


def find_token_at(tokens: Tokens, place: int) -> int:
    """The number of the first token that holds the character at `place`. Behind the end it is the last token."""
    return min(bisect_right(tokens.ends, place), max(0, len(tokens) - 1))
