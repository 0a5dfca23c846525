"""The fonts of a PDF: what their tables cost, and plain ones where a page brings none. No I/O."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

MAX_TABLE_BYTES = 1_000_000
"""Decompressed bytes of what a table is made from: 65,536 characters, each in a line of its own."""

BYTES_PER_ENTRY = 40
"""What is read for a table takes memory, too, whatever it holds: so many bytes cost as much as an entry."""

MAX_DESCENDANTS = 4
"""Fonts inside a composite font; the format knows one."""


class CapReachedError(Exception):
    """A cap was reached while text was being read."""


@dataclass(frozen=True, slots=True)
class FontCost:
    """A font (held, so that no other gets its identity), the entries of its tables, the longest text of a code."""

    font: Any
    entries: int
    longest: int


def dictionary_at(value: Any) -> Any:
    """What `value` refers to where that is a dictionary, else None."""
    value = None if value is None else value.get_object()
    return value if isinstance(value, dict) else None


def font_cost(font: Any) -> FontCost:
    """Build a font as the library will, and drop it: nothing else tells how large its tables become."""
    from pypdf.generic._font import Font

    read = _table_bytes(font) // BYTES_PER_ENTRY
    try:
        built = Font.from_font_resource(font)
    except (AttributeError, TypeError):  # the library goes without it
        return FontCost(font, read, 1)
    longest = max((len(text) for text in built.character_map.values()), default=1)
    return FontCost(font, read + len(built.character_map) + len(built.character_widths), max(longest, 1))


def _table_bytes(font: Any) -> int:
    """Bytes of what the tables of a font are made from; raises where that is too much to try."""
    if not isinstance(font, dict):
        return 0
    descriptor = dictionary_at(font.get("/FontDescriptor")) or {}
    source = font.get("/ToUnicode") if "/ToUnicode" in font else descriptor.get("/FontFile")
    source = None if source is None else source.get_object()
    size = len(source.get_data()) if source is not None and hasattr(source, "get_data") else 0
    encoding = dictionary_at(font.get("/Encoding")) or {}
    changes = encoding.get("/Differences")
    if changes is not None and isinstance(changes.get_object(), list):
        size += BYTES_PER_ENTRY * len(changes.get_object()) // 10
    descendants = font.get("/DescendantFonts")
    inside = [] if descendants is None else descendants.get_object()
    if size > MAX_TABLE_BYTES or (isinstance(inside, list) and len(inside) > MAX_DESCENDANTS):
        raise CapReachedError
    return size


_USED_FONT = re.compile(rb"(/[^\s()<>\[\]{}/%]{1,40})\s+[-+\d.]+\s+Tf")


def plain_fonts(content: bytes) -> Any:
    """A plain font under each name that these drawing operators use; names may be escaped (`/F#31`)."""
    from pypdf.generic import DictionaryObject, NameObject

    plain = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding"}
    font = DictionaryObject({NameObject(key): NameObject(value) for key, value in plain.items()})
    used = set(_USED_FONT.findall(content))
    return DictionaryObject({NameObject.read_from_stream(io.BytesIO(name + b" "), None): font for name in used})
