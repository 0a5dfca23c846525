"""What a document holds: the pages and text of a PDF, the text of other files. No I/O, no rendering."""

from __future__ import annotations

import io
import logging
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from service.media.allowance import is_spent, reading_until
from service.media.office import office_text
from service.media.pdf_fonts import CapReachedError
from service.media.pdf_text import MAX_OPERATORS, Budget, page_text
from service.types import Media

MAX_PAGES = 2_000
"""Pages whose text is read; no provider takes more than 1,000. Later pages keep their size."""

MAX_STREAM_BYTES = 4_000_000
"""Decompressed bytes of one stream. A page of a book is under 100 KB; a zip bomb is cut here."""

PACKED_BYTES, PACKED_RATIO = 2_000_000, 8
"""Decompressed bytes of the streams that hold other objects: so many, and so many for each byte of the file. An object
takes up to 30 times its text in memory; other writers' files have at most the size of the file in them."""

MAX_ENTRIES, BYTES_PER_OBJECT = 50_000, 4
"""Entries in the tables of objects: so many, and one for each few bytes of the file. An entry takes 100 bytes."""

MAX_TEXT = 20_000_000
"""Characters taken from one file."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page: `width` and `height` in points as shown (crop box, after rotation), and its `text`.

    Lines are joined by a newline in the order in which the page draws them; blanks at their ends stay, ligatures are
    taken apart. So read, the text is what was billed: by OpenAI for all seven recorded PDFs, by Anthropic for all but
    one of four (1 token more), requests of 2025 and 2026.
    """

    width: float
    height: float
    text: str


@dataclass(frozen=True, slots=True)
class Pdf:
    """A PDF. `complete` is False where not all text of a page could be read, or a cap was reached."""

    pages: tuple[Page, ...]
    complete: bool = True


def read_pdf(data: bytes) -> Pdf | None:
    """Pages of a PDF, or None where it has none or cannot be opened: broken, locked, or no time is left for files.

    Never raises. A page whose text cannot be read has what was read before, and the Pdf is not `complete`.
    """
    if b"%PDF-" not in data[:1_024] or is_spent():
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
        budget = Budget(MAX_TEXT, reading_until())
        try:
            reader = _reader_class()(io.BytesIO(data), budget)
            if reader.is_encrypted and not reader.decrypt(""):
                return None
            pages = list(reader.pages)
            return _read_pages(pages, budget, complete=not reader.capped) if pages else None
        except Exception:  # noqa: BLE001 - a parser of hostile bytes may raise anything
            return None


def _pypdf() -> Any:
    """The library, loaded at first use. It logs what it repairs, with words of the file: that is switched off."""
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)
    return pypdf


@cache
def _reader_class() -> Any:
    """The library's reader, which looks at the budget whenever an object of the file is asked for: tables of fonts and
    trees of pages take time before there is an operator."""

    class Reader(_pypdf().PdfReader):  # type: ignore[misc]  # the library is loaded at first use
        def __init__(self, stream: io.BytesIO, budget: Budget) -> None:
            self.budget = budget
            self.capped = False
            self.unpacked: set[int] = set()
            self.packed_left = PACKED_BYTES + PACKED_RATIO * len(stream.getbuffer())
            self.entries_left = MAX_ENTRIES + len(stream.getbuffer()) // BYTES_PER_OBJECT
            super().__init__(stream)

        def _read_xref_subsections(self, idx_pairs: Any, *rest: Any) -> None:
            """The library's method of that name: entries may be packed to nothing, so they are counted first."""
            self.entries_left -= sum(max(size, 0) for size in idx_pairs[1::2])
            if self.entries_left < 0 or self.budget.late:
                self.capped = True  # for the library goes on with what else it finds
                raise CapReachedError
            super()._read_xref_subsections(idx_pairs, *rest)

        def get_object(self, indirect_reference: Any) -> Any:
            if self.budget.late:
                raise CapReachedError
            found = super().get_object(indirect_reference)
            if hasattr(found, "decoded_self"):
                self.budget.seen(found)
                if found.get("/Type") == "/ObjStm" and id(found) not in self.unpacked:
                    self.unpacked.add(id(found))
                    self.packed_left -= len(found.get_data())
                    if self.packed_left < 0:
                        raise CapReachedError
            return found

    return Reader


def _read_pages(pages: list[Any], budget: Budget, *, complete: bool) -> Pdf:
    complete = complete and len(pages) <= MAX_PAGES
    out = []
    for number, page in enumerate(pages):
        text, whole = page_text(page, budget) if number < MAX_PAGES and not budget.spent else ("", False)
        complete = complete and whole
        out.append(Page(*_page_size(page), text))
    return Pdf(tuple(out), complete)


LETTER = (612.0, 792.0)
"""Points of a page that does not tell its size: the default of every reader."""


def _page_size(page: Any) -> tuple[float, float]:
    """Points as shown, 1 to 14,400 a side (the format's own limits)."""
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
    """The text that a file holds, or None where it is of an unknown kind or cannot be read.

    PDF: the pages joined by a newline. Word, Excel and PowerPoint (the zipped XML kinds): paragraphs and rows.
    Everything that is text already (plain, CSV, Markdown, JSON, HTML source, programs): decoded.
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


_MARKS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe\x00\x00", "utf-32-le"), (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"),
)


def decode_text(data: bytes) -> str:
    """Text of bytes: by their byte order mark (which is dropped), else UTF-8, else Windows-1252. Never raises."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _looks_like_text(data: bytes) -> bool:
    """UTF-8 without control characters in the first 4 KB."""
    head = data[:4_096]
    try:
        text = head.decode("utf-8", "strict" if len(data) <= len(head) else "ignore")
    except UnicodeDecodeError:
        return False
    return not any(ch < " " and ch not in "\t\n\r\f" for ch in text)

