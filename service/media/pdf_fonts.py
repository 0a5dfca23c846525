"""The fonts of a PDF: how large their tables are, and plain fonts for pages without any."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

MAX_TABLE_BYTES = 1_000_000
"""Decompressed bytes that a table is made from. It is enough for 65,536 characters with one line each."""

BYTES_PER_ENTRY = 40
"""Bytes that are read for a table take memory, too. This many count as one entry."""

MAX_DESCENDANTS = 4
"""Fonts inside a composite font. PDF allows one."""


class LimitReachedError(Exception):
    """A limit was reached while text was read."""


@dataclass(frozen=True, slots=True)
class FontCost:
    """The number of entries in the tables of a font, and the longest text that it gives to a code.

    The font is kept, so that no other object gets its `id()`.
    """

    font: Any
    entries: int
    longest: int


def get_dictionary(value: Any) -> Any:
    """The dictionary that `value` is or refers to, or None."""
    value = None if value is None else value.get_object()
    return value if isinstance(value, dict) else None


def measure_font(font: Any) -> FontCost:
    """Build a font as the library does, to learn how large its tables are, and drop it."""
    from pypdf.generic._font import Font

    read = _table_bytes(font) // BYTES_PER_ENTRY
    try:
        built = Font.from_font_resource(font)
    except (AttributeError, TypeError):  # the library reads the page without this font
        return FontCost(font, read, 1)
    longest = max((len(text) for text in built.character_map.values()), default=1)
    return FontCost(font, read + len(built.character_map) + len(built.character_widths), max(longest, 1))


def _table_bytes(font: Any) -> int:
    """Bytes that the tables of a font are made from. Raises LimitReachedError where they are too many."""
    if not isinstance(font, dict):
        return 0
    descriptor = get_dictionary(font.get("/FontDescriptor")) or {}
    source = font.get("/ToUnicode") if "/ToUnicode" in font else descriptor.get("/FontFile")
    source = None if source is None else source.get_object()
    size = len(source.get_data()) if source is not None and hasattr(source, "get_data") else 0
    encoding = get_dictionary(font.get("/Encoding")) or {}
    changes = encoding.get("/Differences")
    if changes is not None and isinstance(changes.get_object(), list):
        size += BYTES_PER_ENTRY * len(changes.get_object()) // 10
    descendants = font.get("/DescendantFonts")
    inside = [] if descendants is None else descendants.get_object()
    if size > MAX_TABLE_BYTES or (isinstance(inside, list) and len(inside) > MAX_DESCENDANTS):
        raise LimitReachedError
    return size


_USED_FONT = re.compile(rb"(/[^\s()<>\[\]{}/%]{1,40})\s+[-+\d.]+\s+Tf")


def make_plain_fonts(content: bytes) -> Any:
    """A plain font for each name that these drawing operators use. Names may have escapes (`/F#31`)."""
    from pypdf.generic import DictionaryObject, NameObject

    plain = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding"}
    font = DictionaryObject({NameObject(key): NameObject(value) for key, value in plain.items()})
    used = set(_USED_FONT.findall(content))
    return DictionaryObject({NameObject.read_from_stream(io.BytesIO(name + b" "), None): font for name in used})
