"""What Claude's tokenizers do to a text before they cut it.

NFC is the interpreter's (`unicodedata.normalize`); Unicode never changes how an assigned character composes, so two
Pythons differ at most on characters that one of them does not know yet. All else is frozen here.
"""

from __future__ import annotations

import re
from functools import cache
from unicodedata import normalize

from .tables import ESCAPES

_CONTROLS = bytes([*range(1, 9), *range(11, 32), 127])  # all but tab and newline are stripped; NUL becomes a space
_ASCII = bytes([32, *range(1, 256)])
_STRIPPED_FIRST = "[\x01-\x08\x0b-\x1f\x7f-\x9f]"
_SPACES = "\x00\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f"
_QUOTES = (("\u2018", "'"), ("\u2019", "'"), ("\u201c", '"'), ("\u201d", '"'))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    return (
        re.compile("[\ud800-\udfff]"),
        re.compile(_STRIPPED_FIRST),
        re.compile(f"{_STRIPPED_FIRST}|[{_SPACES}\ue000-\uf8ff\ufdd0-\ufdd4]"),
    )


def normalise(text: str, fold_quotes: bool) -> str:
    """The text as it is cut: composed, without controls and private use, with plain spaces.

    Noncharacters U+FDD0 to U+FDD4 come back as U+E000 to U+E004 (`restore` undoes it).
    """
    if text.isascii():
        return text.encode("ascii").translate(_ASCII, _CONTROLS).decode("ascii")
    surrogates, controls, special = _patterns()
    try:
        text.encode("utf-16-le")
    except UnicodeEncodeError:
        text = surrogates.sub("\ufffd", text)
    text = normalize("NFC", text)
    if "\u0e4d" in text:  # Thai NIKHAHIT + SARA AA compose, after the controls went and before private use does
        text = controls.sub("", text).replace("\u0e4d\u0e32", "\u0e33")
    text = special.sub(_special, text)
    if fold_quotes:
        for quote, plain in _QUOTES:
            text = text.replace(quote, plain)
    return text


def _special(match: re.Match[str]) -> str:
    char = match[0]
    if char in ESCAPES:
        return ESCAPES[char]
    return "" if "\x01" <= char <= "\x9f" or "\ue000" <= char <= "\uf8ff" else " "


def restore(text: str) -> str:
    """The normalised text with its noncharacters back."""
    for char, escape in ESCAPES.items():
        text = text.replace(escape, char)
    return text
