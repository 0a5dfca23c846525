"""Shortening a text to at most N tokens, on character boundaries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from service.errors import InvalidRequest
from service.text.graphemes import Graphemes
from service.text.search import Count, find_longest

CutFrom = Literal["end", "start", "middle"]


@dataclass(frozen=True, slots=True)
class Cut:
    """A shortened text. `kept` are the (start, end) of what is left of the input, in characters."""

    text: str
    tokens: int
    input_tokens: int
    kept: tuple[tuple[int, int], ...]
    truncated: bool


def truncate(text: str, limit: int, count: Count, cut_from: CutFrom = "end", marker: str = "") -> Cut:
    """`text` with at most `limit` tokens: as much as needed is removed at its end, start or middle.

    `marker` stands where text was removed, and is counted. What is kept ends on grapheme boundaries, and one more
    character would not fit. Raises InvalidRequest where the marker alone is too long.
    """
    input_tokens = count(text)
    if input_tokens <= limit:
        return Cut(text, input_tokens, input_tokens, ((0, len(text)),), truncated=False)
    if marker and count(marker) > limit:
        raise InvalidRequest("marker alone takes more tokens than max_tokens allows.", field="marker")
    keep = _KEEP[cut_from]
    graphemes = Graphemes(text)

    def render(length: int) -> str:
        head, tail = keep(graphemes, len(text), length)
        return text[:head] + marker + text[tail:]

    length, tokens = find_longest(len(text), limit, lambda size: count(render(size)))
    head, tail = keep(graphemes, len(text), length)
    kept = tuple((start, end) for start, end in ((0, head), (tail, len(text))) if start < end)
    return Cut(render(length), tokens, input_tokens, kept, truncated=True)


def _keep_start(graphemes: Graphemes, whole: int, length: int) -> tuple[int, int]:
    """The end of what is kept at the start, and the start of what is kept at the end: about `length` characters in all.
    """
    return graphemes.before(length), whole


def _keep_end(graphemes: Graphemes, whole: int, length: int) -> tuple[int, int]:
    return 0, graphemes.after(whole - length)


def _keep_both(graphemes: Graphemes, whole: int, length: int) -> tuple[int, int]:
    head = graphemes.before(length - length // 2)
    return head, max(head, graphemes.after(whole - length // 2))


_KEEP: dict[CutFrom, Callable[[Graphemes, int, int], tuple[int, int]]] = {
    "end": _keep_start, "start": _keep_end, "middle": _keep_both,
}
