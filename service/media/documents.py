"""What a document holds: the pages and text of a PDF, the text of other files. No I/O, no rendering."""

from __future__ import annotations

import io
import logging
import math
import re
import time
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Any

from service.media.allowance import is_spent, reading_until
from service.media.office import office_text
from service.types import Media

MAX_PAGES = 2_000
"""Pages whose text is read; no provider takes more than 1,000. Later pages keep their size."""

MAX_FONTS = 100
"""Fonts of one page; a page of a book has ten. Each may bring a table of 100,000 characters (10 MB, a second) that
others share, so that 50 KB of file would fill gigabytes."""

MAX_OPERATORS = 300_000
"""Drawing operators and operands of one page: a dense page of text has 5,000, and 300,000 take two seconds."""

MAX_STREAM_BYTES = 4_000_000
"""Decompressed bytes of one stream. A page of a book is under 100 KB; a zip bomb is cut here."""

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
    """A PDF. `complete` is False where the text of a page could not be read, or a cap was reached."""

    pages: tuple[Page, ...]
    complete: bool = True


class _CapReachedError(Exception):
    """A cap was reached while text was being read."""


@dataclass(slots=True)
class _Budget:
    """What may be spent on one file: characters, and this thread's processor time up to `until` (see `allowance`)."""

    text: int
    until: float

    @property
    def late(self) -> bool:
        return time.thread_time() > self.until

    @property
    def spent(self) -> bool:
        return self.text < 0 or self.late

    def check(self, *_: Any) -> None:
        if self.spent:
            raise _CapReachedError


class _Lines:
    """Collects the pieces of a page's text.

    The library breaks a line where the baseline moves by 0.8 of the *previous* font size; under a large title it
    misses the break. So where the size changes, the smaller of the two decides.
    """

    def __init__(self, budget: _Budget) -> None:
        self.budget = budget
        self.pieces: list[str] = []
        self.last = (0.0, 0.0, 0.0)

    def take(self, text: str, outer: list[float], inner: list[float], _: Any, font_size: float) -> None:
        """A piece of text, the matrices (user space, text space) at its start, and the size of its font."""
        self.budget.text -= len(text)
        if not text:
            return
        a, b, c, d = outer[:4]
        x, y = (inner[4] * a + inner[5] * c + outer[4], inner[4] * b + inner[5] * d + outer[5])
        along = (inner[0] * a + inner[1] * c, inner[0] * b + inner[1] * d)
        size = font_size * math.hypot(inner[2] * a + inner[3] * c, inner[2] * b + inner[3] * d)
        old_x, old_y, old_size = self.last
        length = math.hypot(*along)
        open_line = bool(self.pieces) and not self.pieces[-1].endswith("\n") and text[0] != "\n"
        if open_line and length and not math.isclose(size, old_size):
            moved = abs((x - old_x) * along[1] - (y - old_y) * along[0]) / length
            if moved > 0.8 * min(abs(size), abs(old_size)):
                self.pieces.append("\n")
        self.pieces.append(text)
        self.last = (x, y, size)

    @property
    def text(self) -> str:
        return _LIGATURE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), "".join(self.pieces))


_LIGATURE = re.compile("[\ufb00-\ufb06]")


def read_pdf(data: bytes) -> Pdf | None:
    """Pages of a PDF, or None where it cannot be opened: broken beyond repair, locked, or no time is left for files.

    Never raises. A page whose text cannot be read has "" and the Pdf is not `complete`.
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
        budget = _Budget(MAX_TEXT, reading_until())
        try:
            reader = _reader_class()(io.BytesIO(data), budget)
            if reader.is_encrypted and not reader.decrypt(""):
                return None
            return _read_pages(list(reader.pages), budget)
        except Exception:  # noqa: BLE001 - a parser of hostile bytes may raise anything
            return None


def _pypdf() -> Any:
    """The library, loaded at first use. It logs what it repairs, with words of the file: that is switched off."""
    import pypdf  # noqa: PLC0415 - most requests have no PDF

    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)
    return pypdf


@cache
def _reader_class() -> Any:
    """The library's reader, which looks at the budget whenever an object of the file is asked for: tables of fonts and
    trees of pages take time before there is an operator."""

    class Reader(_pypdf().PdfReader):  # type: ignore[misc]  # the library is loaded at first use
        def __init__(self, stream: io.BytesIO, budget: _Budget) -> None:
            self.budget = budget
            super().__init__(stream)

        def get_object(self, indirect_reference: Any) -> Any:
            if self.budget.late:
                raise _CapReachedError
            return super().get_object(indirect_reference)

    return Reader


def _read_pages(pages: list[Any], budget: _Budget) -> Pdf:
    complete = len(pages) <= MAX_PAGES
    out = []
    for number, page in enumerate(pages):
        text = _page_text(page, budget) if number < MAX_PAGES and not budget.spent else None
        complete = complete and text is not None
        out.append(Page(*_page_size(page), text or ""))
    return Pdf(tuple(out), complete)


def _page_text(page: Any, budget: _Budget) -> str | None:
    lines = _Lines(budget)
    try:
        if len(_fonts(page)) > MAX_FONTS:
            return None
        _add_missing_fonts(page)
        page.extract_text(visitor_operand_before=budget.check, visitor_text=lines.take)
    except Exception:  # noqa: BLE001 - broken fonts and streams raise anything; a cap that was reached ends here too
        return None
    return lines.text


def _fonts(page: Any) -> Any:
    """The page's own fonts by name; what refers to another object is looked up."""
    fonts = page.get("/Resources", {}).get("/Font")
    return {} if fonts is None else fonts.get_object()


_USED_FONT = re.compile(rb"/([A-Za-z0-9_.+-]{1,40})\s+[-\d.]+\s+Tf")


def _add_missing_fonts(page: Any) -> None:
    """Give a page that brings no fonts a plain one under each name it uses, as viewers do.

    Hand-written files (test suites are full of them) have no resources; the library would skip their text.
    """
    if _fonts(page):
        return
    contents = page.get_contents()
    names = {"/" + found.decode() for found in _USED_FONT.findall(contents.get_data())} if contents is not None else ()
    if not names:
        return
    generic = _pypdf().generic
    name, table = generic.NameObject, generic.DictionaryObject
    plain = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding"}
    font = table({name(key): name(value) for key, value in plain.items()})
    page[name("/Resources")] = table({name("/Font"): table({name(used): font for used in names})})


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

