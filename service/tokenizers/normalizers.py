"""How tokenizers change a text before they cut it, and which characters of the changed text came from which."""

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
    """`codes` name what may change, from a closed set of words. `normalize` gives the changed text, without `prefix`,
    which is put in front of it once. Where ids do not tell two characters apart, that is a change, too
    (`mark_is_blank`: U+2581 and a blank are the same piece)."""

    codes: tuple[str, ...] = ()
    normalize: Callable[[str], str] = str
    prefix: str = ""


UNCHANGED = Normalizer()


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


def _mark_to_blank(text: str) -> str:
    return text.replace("\u2581", " ")


def _normalize_for_claude(fold_quotes: bool) -> Callable[[str], str]:
    def normalize(text: str) -> str:
        from service.tokenizers.claude.normalize import normalize, restore

        return restore(normalize(text, fold_quotes))
    return normalize


_CLAUDE_CODES = ("nfc", "controls_removed", "plain_spaces")
_SENTENCEPIECE = Normalizer(("blank_in_front", "mark_is_blank"), _mark_to_blank, " ")

NORMALIZERS: Mapping[str, Normalizer] = {
    "claude": Normalizer(("nfkc",), _to_nfkc),
    "claude-v3": Normalizer((*_CLAUDE_CODES, "plain_quotes"), _normalize_for_claude(fold_quotes=True)),
    "claude-v4.7": Normalizer(_CLAUDE_CODES, _normalize_for_claude(fold_quotes=False)),
    "claude-v4.8": Normalizer(_CLAUDE_CODES, _normalize_for_claude(fold_quotes=False)),
    "gemma3": Normalizer(("mark_is_blank",), _mark_to_blank),
    "gemma4": Normalizer(("mark_is_blank",), _mark_to_blank),
    "llama2": _SENTENCEPIECE,
    "mistral_v1": _SENTENCEPIECE,
    "mistral_v2": _SENTENCEPIECE,
    "qwen3": Normalizer(("nfc",), to_nfc),
}
"""By tokenizer; the others change nothing."""


def get_normalizer(tokenizer: str) -> Normalizer:
    return NORMALIZERS.get(tokenizer, UNCHANGED)


# ---------------------------------------------------------------- which character became which

_SEGMENT = re.compile(r"[\t\n\x20-\x7e]+(?![^\x00-\x7f])|[\x00-\x7f]?[^\x00-\x7f]+|[\x00-\x7f]")
"""Cuts before ASCII characters, none of which ever joins what stands before it. Controls, which may vanish, are cut off
by themselves."""

_CLUSTER = regex.compile(
    r".[\p{M}\u1160-\u11ff\uff9e\uff9f\u3131-\u318e\uffa0-\uffdc]*", regex.DOTALL
)
"""A character and the ones behind it that may be composed with it: marks, and jamo in any of their widths."""


_MAX_REMEMBERED = 10_000
"""Parts of a text whose change is remembered while it is aligned: most come again."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """For each character of the changed text: the characters of the original that it came from, `starts` to `ends`.

    They are in order and leave out none: characters that vanished belong to the one before them, or at the start of the
    text to the first one.
    """

    starts: array[int]
    ends: array[int]


def align(text: str, seen: str, normalizer: Normalizer) -> Alignment:
    """Which characters of `text` the characters of `seen`, the changed text, came from. Takes linear time.

    Only characters that changed together share their origin. Where `normalizer` does not give `seen`, all characters
    between the first and the last difference share it.
    """
    parts = [("", normalizer.prefix), *_parts(text, normalizer.normalize)] if text else []
    if "".join(made for _, made in parts) != seen:
        parts = list(_parts_by_difference(text, seen))
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
    """(original, changed) of each part, in order."""
    normalize = lru_cache(_MAX_REMEMBERED)(normalize)
    for segment in _segments(text):
        made = normalize(segment)
        if made == segment or len(segment) == 1:
            yield segment, made
            continue
        parts = [(cluster, normalize(cluster)) for cluster in _CLUSTER.findall(segment)]
        yield from parts if "".join(out for _, out in parts) == made else [(segment, made)]


def _segments(text: str) -> Iterator[str]:
    return (found.group() for found in _SEGMENT.finditer(text))


def _parts_by_difference(text: str, seen: str) -> Iterator[tuple[str, str]]:
    head = _count_common(text, seen)
    text_rest, seen_rest = text[head:], seen[head:]
    tail = _count_common(text_rest[::-1], seen_rest[::-1])
    yield text[:head], seen[:head]
    yield text_rest[: len(text_rest) - tail], seen_rest[: len(seen_rest) - tail]
    yield text[len(text) - tail :], seen[len(seen) - tail :]


def _count_common(one: str, other: str) -> int:
    """The number of equal characters at the start of both."""
    return sum(takewhile(bool, map(eq, one, other)))
