"""Reading the text of Word, Excel and PowerPoint files (zipped XML) with the standard library, within limits."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from xml.parsers import expat

from service.media.time_limit import is_time_spent

MAX_ENTRIES = 5_000
"""Files in the archive. A long presentation has a few hundred."""

MAX_XML_BYTES = 32_000_000
"""Decompressed XML read from one archive, all files together."""

MAX_TEXT = 20_000_000
"""Characters of a workbook. Many cells may refer to one long shared string."""


class _RefusedError(Exception):
    """The file has too much text, or a document type declaration. No office file has one, but XML bombs do."""


def office_text(data: bytes) -> str | None:
    """Paragraphs (docx, pptx) or rows of tab-separated cells (xlsx), one a line. None for any other archive.

    Also None where no time is left for files. Never raises. Memory is limited by MAX_XML_BYTES, whatever sizes the
    archive gives.
    """
    if is_time_spent() or data.count(b"PK\x01\x02") > MAX_ENTRIES:
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            parts = _Parts(archive, MAX_XML_BYTES)
            if "word/document.xml" in names:
                return "\n".join(_paragraphs(parts.read("word/document.xml"), "w:p", "w:t", _WORD_BLANKS))
            if "xl/workbook.xml" in names:
                return _workbook(parts, names)
            slides = sorted((n for n in names if _SLIDE.fullmatch(n)), key=_number)
            if slides:
                lines = (line for name in slides for line in _paragraphs(parts.read(name), "a:p", "a:t", _SLIDE_BLANKS))
                return "\n".join(lines)
    except (zipfile.BadZipFile, zlib.error, expat.ExpatError, _RefusedError, OSError, EOFError, ValueError,
            RuntimeError, OverflowError, LookupError):  # what damaged archives raise
        return None
    return None


class _Parts:
    """Reads files of an archive, up to a number of bytes in all."""

    def __init__(self, archive: zipfile.ZipFile, budget: int) -> None:
        self.archive = archive
        self.budget = budget

    def read(self, name: str) -> bytes:
        """The decompressed bytes of a file. Raises ValueError where they are more than is left."""
        with self.archive.open(name) as stream:
            data = stream.read(self.budget + 1)
        self.budget -= len(data)
        if self.budget < 0:
            raise ValueError("too much XML")
        return data


_SLIDE = re.compile(r"ppt/slides/slide(\d+)\.xml")
_SHEET = re.compile(r"xl/worksheets/sheet(\d+)\.xml")
_WORD_BLANKS = {"w:tab": "\t", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-"}
_SLIDE_BLANKS = {"a:br": "\n"}


def _number(name: str) -> tuple[int, str]:
    digits = re.search(r"(\d{1,9})\.xml$", name)
    return (int(digits[1]) if digits else 0, name)


def _parse(xml: bytes, start: object, end: object, text: object) -> None:
    """Give `xml` to the handlers. Raises ExpatError for broken XML, _RefusedError for a document type."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start  # type: ignore[assignment]
    parser.EndElementHandler = end  # type: ignore[assignment]
    parser.CharacterDataHandler = text  # type: ignore[assignment]
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.Parse(xml, True)


def _refuse_doctype(*_: object) -> None:
    raise _RefusedError


def _paragraphs(xml: bytes, paragraph: str, run: str, blanks: dict[str, str]) -> list[str]:
    """The text of each paragraph: the text of its runs, with breaks and tabs as characters."""
    lines: list[str] = []
    words: list[str] = []
    inside: list[str] = []

    def start(name: str, _: dict[str, str]) -> None:
        inside.append(name)
        if name in blanks:
            words.append(blanks[name])

    def end(name: str) -> None:
        inside.pop()
        if name == paragraph:
            lines.append("".join(words))
            words.clear()

    def text(data: str) -> None:
        if inside and inside[-1] == run:
            words.append(data)

    _parse(xml, start, end, text)
    return lines


def _workbook(parts: _Parts, names: list[str]) -> str:
    shared = _paragraphs(parts.read(_STRINGS), "si", "t", {}) if _STRINGS in names else []
    reader = _SheetReader(shared)
    for name in sorted((name for name in names if _SHEET.fullmatch(name)), key=_number):
        _parse(parts.read(name), reader.start, reader.end, reader.text)
    return "\n".join(reader.rows)


_STRINGS = "xl/sharedStrings.xml"


class _SheetReader:
    """Reads the rows of the sheets of a workbook, with cells joined by a tab. A cell of type `s` holds an index into
    `shared`."""

    def __init__(self, shared: list[str]) -> None:
        self.shared = shared
        self.rows: list[str] = []
        self.cells: list[str] = []
        self.cell: list[str] = []
        self.kind = self.inside = ""
        self.left = MAX_TEXT

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.inside = name
        if name == "c":
            self.kind = attributes.get("t", "")
            self.cell.clear()

    def end(self, name: str) -> None:
        self.inside = ""
        if name == "c":
            value = "".join(self.cell)
            if self.kind == "s" and value.isascii() and value.isdigit() and int(value[:9]) < len(self.shared):
                value = self.shared[int(value[:9])]
            self.left -= len(value)
            if self.left < 0:
                raise _RefusedError
            self.cells.append(value)
        elif name == "row":
            self.rows.append("\t".join(self.cells))
            self.cells.clear()

    def text(self, data: str) -> None:
        if self.inside in ("v", "t"):
            self.cell.append(data)
