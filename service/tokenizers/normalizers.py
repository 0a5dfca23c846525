"""What a tokenizer changes in a text before it cuts it, and which characters of the text became which."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import takewhile
from operator import eq

import regex


@dataclass(frozen=True, slots=True)
class Normalizer:
    """`codes` say, in a closed set of words, what may change. `normalize` changes a text, except that `prefix` is put
    in front of it once. The ids of some vocabularies mean less than the text did: that is a change, too
    (`mark_is_blank`: U+2581 and a blank are the same piece)."""

    codes: tuple[str, ...] = ()
    normalize: Callable[[str], str] = str
    prefix: str = ""


NONE = Normalizer()


@cache
def _load_nfkc() -> Callable[[str], str]:
    """By the tables of Hugging Face tokenizers, which the engines follow."""
    from tokenizers.normalizers import NFKC

    normalize: Callable[[str], str] = NFKC().normalize_str
    return normalize


@cache
def _load_nfc() -> Callable[[str], str]:
    from tokenizers.normalizers import NFC

    normalize: Callable[[str], str] = NFC().normalize_str
    return normalize


def _to_nfkc(text: str) -> str:
    return text if text.isascii() else _load_nfkc()(text)


def to_nfc(text: str) -> str:
    """`text` in NFC, by the table of Hugging Face tokenizers; most text is so already and is only looked at."""
    return text if unicodedata.is_normalized("NFC", text) else _load_nfc()(text)


def _unmarked(text: str) -> str:
    return text.replace("\u2581", " ")


def _normalize_for_claude(fold_quotes: bool) -> Callable[[str], str]:
    def normalize(text: str) -> str:
        from service.tokenizers.claude.normalize import normalize, restore

        return restore(normalize(text, fold_quotes))
    return normalize


_CLAUDE_CODES = ("nfc", "controls_removed", "plain_spaces")
_SENTENCEPIECE = Normalizer(("blank_in_front", "mark_is_blank"), _unmarked, " ")

NORMALIZERS: Mapping[str, Normalizer] = {
    "claude": Normalizer(("nfkc",), _to_nfkc),
    "claude-v3": Normalizer((*_CLAUDE_CODES, "plain_quotes"), _normalize_for_claude(fold_quotes=True)),
    "claude-v4.7": Normalizer(_CLAUDE_CODES, _normalize_for_claude(fold_quotes=False)),
    "claude-v4.8": Normalizer(_CLAUDE_CODES, _normalize_for_claude(fold_quotes=False)),
    "gemma3": Normalizer(("mark_is_blank",), _unmarked),
    "gemma4": Normalizer(("mark_is_blank",), _unmarked),
    "llama2": _SENTENCEPIECE,
    "mistral_v1": _SENTENCEPIECE,
    "mistral_v2": _SENTENCEPIECE,
    "qwen3": Normalizer(("nfc",), to_nfc),
}
"""Tokenizer -> what it changes; the others change nothing."""


def get_normalizer(tokenizer: str) -> Normalizer:
    return NORMALIZERS.get(tokenizer, NONE)


# ---------------------------------------------------------------- which character became which

_SEGMENT = re.compile(r"[\t\n\x20-\x7e]+(?![^\x00-\x7f])|[\x00-\x7f]?[^\x00-\x7f]+|[\x00-\x7f]")
"""Cuts before ASCII characters, none of which ever joins what stands before it; controls apart, which may vanish."""

_ATOM = regex.compile(
    r".[\p{M}\u1160-\u11ff\uff9e\uff9f\u3131-\u318e\uffa0-\uffdc]*", regex.DOTALL
)
"""A character with those that may be composed with it: marks, and jamo in any of their widths."""


_REMEMBERED = 10_000
"""Stretches of a text whose change is remembered while it is aligned: most come again."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """For each character of the changed text: the characters of the original that it came from, `starts` to `ends`.

    In order and without holes: characters that vanished belong to the one before them, at the start to the first.
    """

    starts: array[int]
    ends: array[int]


def align(text: str, seen: str, alteration: Normalizer) -> Alignment:
    """Where the characters of `seen`, which `text` was changed into, come from. Linear in the text.

    Only characters that change together are told as one; where `alteration` does not explain `seen`, all that lies
    between the first and the last difference is.
    """
    parts = [("", alteration.prefix), *_parts(text, alteration.normalize)] if text else []
    if "".join(made for _, made in parts) != seen:
        parts = list(_differing(text, seen))
    starts, ends = array("L"), array("L")
    at = 0
    for source, made in parts:
        end = at + len(source)
        if source == made:
            starts.extend(range(at, end))
            ends.extend(range(at + 1, end + 1))
        elif made:
            starts.extend([at if starts else 0] * len(made))  # all that vanished in front belongs to all of them
            ends.extend([end] * len(made))
        elif ends:
            ends[-1] = end
        at = end
    if starts:
        starts[0] = 0
    return Alignment(starts, ends)


def _parts(text: str, normalize: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """(what stood there, what became of it), in order."""
    normalize = lru_cache(_REMEMBERED)(normalize)
    for segment in _segments(text):
        made = normalize(segment)
        if made == segment or len(segment) == 1:
            yield segment, made
            continue
        parts = [(atom, normalize(atom)) for atom in _ATOM.findall(segment)]
        yield from parts if "".join(out for _, out in parts) == made else [(segment, made)]


def _segments(text: str) -> Iterator[str]:
    return (found.group() for found in _SEGMENT.finditer(text))


def _differing(text: str, seen: str) -> Iterator[tuple[str, str]]:
    head = _common(text, seen)
    text_rest, seen_rest = text[head:], seen[head:]
    tail = _common(text_rest[::-1], seen_rest[::-1])
    yield text[:head], seen[:head]
    yield text_rest[: len(text_rest) - tail], seen_rest[: len(seen_rest) - tail]
    yield text[len(text) - tail :], seen[len(seen) - tail :]


def _common(one: str, other: str) -> int:
    """Characters that two texts begin with alike."""
    return sum(takewhile(bool, map(eq, one, other)))
