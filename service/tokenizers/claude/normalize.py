"""How Claude's tokenizers change a text before they cut it.

NFC is the interpreter's (`unicodedata.normalize`); Unicode never changes how an assigned character composes, so two
Pythons differ at most on characters that one of them does not know yet. All else is frozen here.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby

from service.tokenizers.claude.tables import ESCAPES, ranges

_CONTROLS = bytes([*range(1, 9), *range(11, 32), 127])  # all but tab and newline are stripped; NUL becomes a space
_ASCII = bytes([32, *range(1, 256)])
_PLAIN = bytes([9, 10, *range(32, 127)])
_STRIPPED = "\x01-\x08\x0b-\x1f\x7f-\x9f"
_SPACES = "\x00\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f"
_MANY = 40
"""Different special characters in a text (private use, mostly) from which one pass strips them faster than one each."""
_MAX_UNSORTED = 32
"""Marks in a row from which they are put in order before NFC. CPython 3.13 does it in quadratic time: 80,000 marks of
two classes in turn take 5 s, and the interpreter lock."""
_LONG_CHARS = 512
"""Of a text that is searched for so many marks."""
_QUOTES = (("\u2018", "'"), ("\u2019", "'"), ("\u201c", '"'), ("\u201d", '"'))


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return (
        re.compile("[\ud800-\udfff]+"),
        re.compile(f"[{_STRIPPED}]+"),
        re.compile(f"[{_STRIPPED}\ue000-\uf8ff]+"),
        re.compile(f"[{_STRIPPED}{_SPACES}\ue000-\uf8ff\ufdd0-\ufdd4]"),
    )


@cache
def _many_marks() -> re.Pattern[str]:
    """Matches long runs of characters that begin with a mark when NFD takes them apart. Beyond the BMP all may match,
    since Python is slow to tell them apart."""
    marks = bytes(unicodedata.combining(unicodedata.normalize("NFD", chr(code))[0]) > 0 for code in range(0x10000))
    return re.compile(f"[{ranges(marks)}\U00010000-\U0010ffff]{{{_MAX_UNSORTED + 1},}}")


def _sort_marks(found: re.Match[str]) -> str:
    """The characters in NFD, in linear time."""
    parts = {char: unicodedata.normalize("NFD", char) for char in set(found[0])}
    runs = groupby("".join(map(parts.__getitem__, found[0])), lambda char: unicodedata.combining(char) > 0)
    return "".join("".join(sorted(run, key=unicodedata.combining) if is_marks else run) for is_marks, run in runs)


def to_nfc(text: str) -> str:
    """`text` in NFC, in linear time."""
    if len(text) > _LONG_CHARS:
        text = _many_marks().sub(_sort_marks, text)
    return unicodedata.normalize("NFC", text)


def normalize(text: str, fold_quotes: bool) -> str:
    """The text in the form that is cut: composed, without controls and private use, with plain spaces.

    Noncharacters U+FDD0 to U+FDD4 come back as U+E000 to U+E004 (`restore` undoes it).
    """
    if text.isascii():
        return text.encode("ascii").translate(_ASCII, _CONTROLS).decode("ascii")
    surrogates, controls, stripped, special = _patterns()
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = surrogates.sub(lambda match: "\ufffd" * len(match[0]), text)
    text = to_nfc(text)
    if "\u0e4d" in text:  # Thai NIKHAHIT and SARA AA compose over controls, but not over private use
        text = controls.sub("", text).replace("\u0e4d\u0e32", "\u0e33")
    found = set(special.findall(_without_plain(text)))
    if len(found) > _MANY:
        text = stripped.sub("", text)
        found.intersection_update((*_SPACES, *ESCAPES))
    for char in sorted(found):  # private use goes before ESCAPES bring it in
        text = text.replace(char, ESCAPES.get(char, " " if char in _SPACES else ""))
    if fold_quotes:
        for quote, plain in _QUOTES:
            text = text.replace(quote, plain)
    return text


def _without_plain(text: str) -> str:
    """The text, without its plain ASCII where most of it is ASCII: searching the rest takes a quarter of the time."""
    encoded = text.encode("utf-8")
    if len(encoded) > len(text) * 9 // 8:
        return text
    return encoded.translate(None, _PLAIN).decode("utf-8")


def is_changed(char: str) -> bool:
    """Whether a single character is stripped, replaced, or made a space."""
    surrogates, _, _, special = _patterns()
    return special.match(char) is not None or surrogates.match(char) is not None


def restore(text: str) -> str:
    """The normalized text with its noncharacters back."""
    for char, escape in ESCAPES.items():
        text = text.replace(escape, char)
    return text
