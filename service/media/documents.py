"""Reading documents: the pages and text of a PDF, and the text of other files. Nothing is fetched or rendered."""

from __future__ import annotations

import io
import logging
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from service.media.office import office_text
from service.media.pdf_fonts import LimitReachedError
from service.media.pdf_text import MAX_OPERATORS, ReadingBudget, read_page_text
from service.media.time_limit import get_reading_deadline, is_time_spent
from service.types import Media

MAX_PAGES = 2_000
"""Pages whose text is read. No provider takes more than 1,000. Of later pages only the size is read."""

MAX_STREAM_BYTES = 4_000_000
"""Decompressed bytes of one stream. A page of a book has less than 100 KB. This stops compression bombs."""

PACKED_BYTES, PACKED_RATIO = 2_000_000, 8
"""Decompressed bytes of the streams that hold other objects: PACKED_BYTES, and PACKED_RATIO for each byte of the file.

An object takes up to 30 times its text in memory. In ordinary files these streams have at most the size of the file.
"""

MAX_ENTRIES, BYTES_PER_OBJECT = 50_000, 4
"""Entries in the tables of objects: MAX_ENTRIES, and one for each BYTES_PER_OBJECT bytes of the file. An entry takes
100 bytes of memory."""

MAX_TEXT = 20_000_000
"""Characters taken from one file."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its `width` and `height` in points as shown (crop box, after rotation), and its `text`.

    Lines are joined by a newline, in the order in which the page draws them. Blanks at the ends of lines stay,
    ligatures become single letters. With this text counts equal the bills of 2025 and 2026: OpenAI's for all seven
    recorded PDFs, Anthropic's for three of four (the fourth was billed 1 token more).
    """

    width: float
    height: float
    text: str


@dataclass(frozen=True, slots=True)
class Pdf:
    """A PDF. `complete` is False where the text of a page could not be read in full, or a limit was reached."""

    pages: tuple[Page, ...]
    complete: bool = True


def read_pdf(data: bytes) -> Pdf | None:
    """The pages of a PDF. None where it has no page, is broken or locked, or no time is left for files.

    Never raises. A page whose text cannot be read in full has the text before the fault, and the Pdf is not `complete`.
    """
    if b"%PDF-" not in data[:1_024] or is_time_spent():
        return None
    pypdf = _pypdf()
    with pypdf.apply_configuration(
        maximum_declared_stream_length=MAX_STREAM_BYTES,
        array_based_stream_maximum_output_length=MAX_STREAM_BYTES,
        zlib_maximum_output_length=MAX_STREAM_BYTES,
        lzw_maximum_output_length=MAX_STREAM_BYTES,
        run_length_maximum_output_length=MAX_STREAM_BYTES,
        brotli_maximum_output_length=MAX_STREAM_BYTES,
        stream_decoding_work_maximum_length=4 * MAX_STREAM_BYTES,
        stream_parsing_work_maximum_count=MAX_OPERATORS,
        page_tree_maximum_entries=20_000,
        jbig2dec_binary=None,
    ):
        budget = ReadingBudget(MAX_TEXT, get_reading_deadline())
        try:
            reader = _reader_class()(io.BytesIO(data), budget)
            if reader.is_encrypted and not reader.decrypt(""):
                return None
            pages = list(reader.pages)
            return _read_pages(pages, budget, complete=not reader.limit_reached) if pages else None
        except Exception:  # noqa: BLE001 - a parser of hostile bytes may raise anything
            return None


def _pypdf() -> Any:
    """The library, imported for the first PDF. Its log lines would repeat text of the file, so they are switched off.
    """
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)
    return pypdf


@cache
def _reader_class() -> Any:
    """The library's reader, with a check of the budget each time an object of the file is read.

    Tables of fonts and trees of pages take time before there is a drawing operator that could be counted.
    """

    class Reader(_pypdf().PdfReader):  # type: ignore[misc]  # the library is loaded at first use
        def __init__(self, stream: io.BytesIO, budget: ReadingBudget) -> None:
            self.budget = budget
            self.limit_reached = False
            self.unpacked: set[int] = set()
            self.packed_left = PACKED_BYTES + PACKED_RATIO * len(stream.getbuffer())
            self.entries_left = MAX_ENTRIES + len(stream.getbuffer()) // BYTES_PER_OBJECT
            super().__init__(stream)

        def _read_xref_subsections(self, idx_pairs: Any, *rest: Any) -> None:
            """Count the entries before the library reads them: many entries can be compressed to a few bytes."""
            self.entries_left -= sum(max(size, 0) for size in idx_pairs[1::2])
            if self.entries_left < 0 or self.budget.is_late:
                self.limit_reached = True  # the library goes on with what else it finds
                raise LimitReachedError
            super()._read_xref_subsections(idx_pairs, *rest)

        def get_object(self, indirect_reference: Any) -> Any:
            if self.budget.is_late:
                raise LimitReachedError
            found = super().get_object(indirect_reference)
            if hasattr(found, "decoded_self"):
                self.budget.note_stream(found)
                if found.get("/Type") == "/ObjStm" and id(found) not in self.unpacked:
                    self.unpacked.add(id(found))
                    self.packed_left -= len(found.get_data())
                    if self.packed_left < 0:
                        raise LimitReachedError
            return found

    return Reader


def _read_pages(pages: list[Any], budget: ReadingBudget, *, complete: bool) -> Pdf:
    complete = complete and len(pages) <= MAX_PAGES
    out = []
    for number, page in enumerate(pages):
        text, whole = read_page_text(page, budget) if number < MAX_PAGES and not budget.is_spent else ("", False)
        complete = complete and whole
        out.append(Page(*_page_size(page), text))
    return Pdf(tuple(out), complete)


LETTER = (612.0, 792.0)
"""Size in points of a page that gives none. It is the default of every PDF reader."""


def _page_size(page: Any) -> tuple[float, float]:
    """Width and height of a page in points, as shown. A side has 1 to 14,400 points, which are the limits of PDF."""
    try:
        width, height = abs(float(page.cropbox.width)), abs(float(page.cropbox.height))
        turned = page.rotation % 180 == 90
        scale = float(page.get("/UserUnit", 1))
        width, height = width * scale, height * scale
    except Exception:  # noqa: BLE001 - boxes may hold anything
        return LETTER
    if not (1 <= width <= 14_400 and 1 <= height <= 14_400):
        return LETTER
    return (height, width) if turned else (width, height)


# ---------------------------------------------------------------- other files


_TEXT_MIMES = frozenset((
    "application/json", "application/ld+json", "application/xml", "application/xhtml+xml", "application/rtf",
    "application/javascript", "application/x-javascript", "application/typescript", "application/ecmascript",
    "application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/csv",
    "application/x-sh", "application/x-python", "application/x-httpd-php", "application/x-ndjson", "application/jsonl",
    "application/graphql", "application/x-tex", "image/svg+xml",
))
_TEXT_SUFFIX = re.compile(
    r"te?xt|md|markdown|rst|[ct]sv|(nd)?jsonl?|xml|x?html?|ya?ml|toml|ini|cfg|conf|log|sql|tex|srt|vtt|css|[cm]?jsx?|tsx?"
    r"|py|rb|php|java|kts?|scala|swift|go|rs|c|h|cc|cpp|hpp|cs|m|pl|lua|r|sh|bash|ps1|bat|diff|patch|ics|eml|svg|proto"
    r"|graphql"
)


def file_text(media: Media) -> str | None:
    """The text of a file, or None where its kind is unknown or it cannot be read.

    PDF: the texts of the pages, joined by a newline. Word, Excel and PowerPoint (docx, xlsx, pptx): paragraphs and
    rows. Files that are text (plain, CSV, Markdown, JSON, HTML, source code): the decoded text.
    """
    data = media.data
    if data is None:
        return None
    if b"%PDF-" in data[:1_024]:
        pdf = read_pdf(data)
        return "\n".join(page.text for page in pdf.pages) if pdf else None
    if data[:4] == b"PK\x03\x04":
        return office_text(data)
    mime = media.mime.partition(";")[0].strip().lower()
    suffix = (media.filename or "").rpartition(".")[2].lower()
    named = mime.startswith("text/") or mime in _TEXT_MIMES or mime.endswith(("+xml", "+json"))
    if named or _TEXT_SUFFIX.fullmatch(suffix) or (mime in ("", "application/octet-stream") and _looks_like_text(data)):
        return decode_text(data)
    return None


_BYTE_ORDER_MARKS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe\x00\x00", "utf-32-le"), (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"),
)


def decode_text(data: bytes) -> str:
    """Bytes as text, by their byte order mark (which is dropped), else as UTF-8, else as Windows-1252. Never raises."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _looks_like_text(data: bytes) -> bool:
    """Whether the first 4 KB are UTF-8 without control characters."""
    head = data[:4_096]
    try:
        text = head.decode("utf-8", "strict" if len(data) <= len(head) else "ignore")
    except UnicodeDecodeError:
        return False
    return not any(ch < " " and ch not in "\t\n\r\f" for ch in text)

