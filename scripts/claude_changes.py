"""The characters that the Claude kernel may normalize by itself, derived from the same code in Python.

`service/tokenizers/claude/normalize.py` says what becomes of a character; the Unicode database of this Python, which
characters NFC may compose or reorder. Both are frozen into the tables. What an assigned character composes with never
changes between Unicode versions, so a table is right on every Python; what is not assigned yet is left to Python.
"""

from __future__ import annotations

import unicodedata
from array import array
from functools import cache

from scripts.claude_facts import fact
from service.tokenizers.claude.normalize import normalize
from service.tokenizers.claude.tables import CHANGES, ESCAPES

HANGUL_VOWELS, HANGUL_FINALS = range(0x1161, 0x1176), range(0x11A8, 0x11C3)
THAI_NIKHAHIT = "\u0e4d"
"""Composes with what follows, by a rule of its own (see normalize.py)."""
BY_RESULT = {"": "strip", " ": "space"}
QUOTES = {"\u2018": "quote", "\u2019": "quote", "\u201c": "double quote", "\u201d": "double quote"}


@cache
def composing() -> frozenset[str]:
    """Every character that NFC may join to the one on its left (NFC_QC=Maybe)."""
    found = {chr(code) for codes in (HANGUL_VOWELS, HANGUL_FINALS) for code in codes}
    for char in map(chr, range(0x110000)):
        parts = unicodedata.decomposition(char).split()
        if len(parts) == 2 and not parts[0].startswith("<") and unicodedata.normalize("NFC", char) == char:
            found.add(chr(int(parts[1], 16)))
    return frozenset(found)


@cache
def classes() -> tuple[int, ...]:
    """The canonical combining classes but 0, in order."""
    found = tuple(sorted({unicodedata.combining(chr(code)) for code in range(0x110000)} - {0}))
    fact(len(CHANGES) - 1 + len(found) < 256, "classes fit in a byte", str(len(found)))
    return found


def is_left_alone(char: str) -> bool:
    """Whether NFC never touches this assigned character, but for its order among marks."""
    assigned = unicodedata.category(char) not in ("Cn", "Cs")
    return assigned and char not in composing() and unicodedata.normalize("NFC", char) == char


def find_change(char: str) -> int:
    """An index of CHANGES, or beyond for a higher combining class."""
    if "\ud800" <= char <= "\udfff":
        return CHANGES.index("astral")
    if char == THAI_NIKHAHIT:
        return CHANGES.index("ask")
    combining = unicodedata.combining(char)
    becomes = normalize(char, fold_quotes=False)
    what = QUOTES.get(char)
    if becomes != char and (char in ESCAPES or becomes in BY_RESULT):
        what = "escape" if char in ESCAPES else BY_RESULT[becomes]
        fact(combining == 0 and becomes == ESCAPES.get(char, becomes), "what goes or is replaced orders nothing", char)
    if what is not None:
        return CHANGES.index(what)
    if not is_left_alone(char) or becomes != char:
        return CHANGES.index("ask")
    return CHANGES.index("ordered") + classes().index(combining) if combining else CHANGES.index("keep")


def changes() -> bytes:
    """Of every UTF-16 unit."""
    return bytes(find_change(chr(unit)) for unit in range(0x10000))


def composed() -> array[int]:
    """Flat: first and last of each range of astral starters that NFC leaves alone."""
    edges, inside = array("I"), False
    for code in range(0x10000, 0x110001):
        char = chr(min(code, 0x10FFFF))
        now = code < 0x110000 and is_left_alone(char) and unicodedata.combining(char) == 0
        if now != inside:
            edges.append(code if now else code - 1)
            inside = now
    return edges
