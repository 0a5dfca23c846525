"""Reading the text of one page of a PDF, and of the forms that it draws, within limits of time and memory."""

from __future__ import annotations

import gc
import math
import re
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from service.media.pdf_fonts import FontCost, LimitReachedError, get_dictionary, make_plain_fonts, measure_font

MAX_FONTS = 100
"""Fonts of one page or form. A page of a book has ten, a dense page thirty."""

MAX_TABLES = 300_000
"""Entries of the font tables that are in memory at a time: for a page and for the forms that are being drawn.

A font of a book has 100, one of a Chinese book 3,000, the largest 65,000. An entry takes 170 bytes and 2 microseconds.
"""

MAX_TABLES_OF_FILE = 2_000_000
"""Entries of font tables that are built for one file. Each page builds its own: this is enough for a thousand pages
with 2,000 entries each."""

MAX_OPERATORS = 300_000
"""Drawing operators and operands of one page. A dense page of text has 5,000, and 300,000 take two seconds. A form may
have half as many as the page or form that draws it, since all of them are in memory at a time."""

MAX_PAGE_TEXT = 2_000_000
"""Characters of one page. Each code is counted as the longest text that a font of the page gives to any code."""

MAX_DEPTH = 8
"""Levels of forms inside forms. A page that was placed on another sheet three times has three."""

MAX_FORMS = 5_000
"""Forms that one page draws. A form is counted each time that it is drawn."""

FAILED_FORM_OPERATORS = 20_000
"""Operators that a damaged or too large form is counted as, since finding that out takes time."""

MAX_FORM_BYTES = 16_000_000
"""Decompressed bytes of the different forms of one page."""

MAX_KEPT_BYTES = 16_000_000
"""Decompressed bytes of streams that are kept for the next page. Pages share fonts and letterheads."""

MAX_UNSWEPT_TABLES = 100_000
"""Entries of fonts of finished pages after which the garbage collector is run. The library leaves fonts in reference
cycles."""

MAX_KEPT_MAP = 1_000
"""Entries of the map of a font that the library may keep for the next page. An ordinary font of that kind has 256."""


@dataclass(slots=True)
class ReadingBudget:
    """What one file may still cost: characters, entries of font tables, and processor time of this thread up to `until`
    (see `time_limit`). It also knows which streams were decompressed, to drop the copies."""

    text: int
    until: float
    tables: int = field(default_factory=lambda: MAX_TABLES_OF_FILE)
    fonts: dict[int, FontCost] = field(default_factory=dict)
    fresh: dict[int, Any] = field(default_factory=dict)
    kept: dict[int, Any] = field(default_factory=dict)
    kept_bytes: int = 0
    swept: int = field(default_factory=lambda: MAX_TABLES_OF_FILE)

    @property
    def is_late(self) -> bool:
        return time.thread_time() > self.until

    @property
    def is_spent(self) -> bool:
        return self.text < 0 or self.tables < 0 or self.is_late

    def note_stream(self, stream: Any) -> None:
        """Note that a stream was read for the current page."""
        if id(stream) not in self.kept:
            self.fresh[id(stream)] = stream

    def drop_copies(self) -> None:
        """Drop decompressed copies of streams where they are more than is kept. Called after each page."""
        for key, stream in self.fresh.items():
            built = stream._font_file_character_map  # the library has no other way to drop it
            if built and len(built.map_dict) > MAX_KEPT_MAP:
                stream._font_file_character_map = None
            if getattr(stream, "decoded_self", None) is not None:
                self.kept[key] = stream
                self.kept_bytes += len(stream.get_data())
        self.fresh.clear()
        if self.swept - self.tables > MAX_UNSWEPT_TABLES:
            gc.collect()
            self.swept = self.tables
        if self.kept_bytes > MAX_KEPT_BYTES:
            for stream in self.kept.values():
                stream.decoded_self = None
            self.kept.clear()
            self.kept_bytes = 0


class _Lines:
    """Collects the pieces of the text of a page.

    The library begins a new line where the baseline moves by 0.8 of the *previous* font size, so it misses the line end
    under a large title. Here the smaller of the two font sizes decides.
    """

    def __init__(self, budget: ReadingBudget) -> None:
        self.budget = budget
        self.pieces: list[str] = []
        self.last = (0.0, 0.0, 0.0)

    def add_text(self, text: str, outer: list[float], inner: list[float], _: Any, font_size: float) -> None:
        """Add a piece of text. `outer` and `inner` are the matrices of user space and text space at its start."""
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


def read_page_text(page: Any, budget: ReadingBudget) -> tuple[str, bool]:
    """The text of a page as far as it could be read, and whether that is the whole text. Never raises."""
    reading = _PageReader(page, budget)
    try:
        reading.run()
    except Exception:  # noqa: BLE001 - broken fonts and streams raise anything; so does a limit that was reached
        reading.whole = False
    budget.drop_copies()
    return reading.lines.text, reading.whole and not budget.is_spent


_SHOWING = frozenset((b"Tj", b"TJ", b"'", b'"'))


class _PageReader:
    """Reads one page. The library hides faults in a form; here they are remembered.

    `scopes` are the resources of the page and of the forms that are being drawn, `tables` the entries of their fonts.
    """

    def __init__(self, page: Any, budget: ReadingBudget) -> None:
        self.page, self.budget, self.lines = page, budget, _Lines(budget)
        self.scopes: list[Any] = []
        self.whole, self.limit_reached = True, False
        self.tables = self.operators = self.drawn = self.form_bytes = self.shown = 0
        self.forms: set[int] = set()
        self.longest = 1

    def run(self) -> None:
        """Read the page into `lines`. A limit or a fault in the page raises, one in a form sets `whole` to False."""
        import pypdf

        # else the library would guess at damaged data, byte by byte, without a sign of it
        with pypdf.apply_configuration(zlib_maximum_recovery_input_length=0), self._scope(self.page, self._contents):
            self.page.extract_xform_text = self._form
            try:
                self.page.extract_text(visitor_operand_before=self._check, visitor_text=self.lines.add_text)
            finally:
                del self.page.extract_xform_text
        if self.limit_reached:
            raise LimitReachedError

    def _contents(self) -> bytes:
        contents = self.page.get_contents()
        return contents.get_data() if contents is not None else b""

    def _check(self, operator: bytes, operands: Any, *_: Any) -> None:
        """Count an operator and check the limits. The library calls it before each operator."""
        self.operators += 1
        if operator in _SHOWING:
            for operand in operands:
                pieces = operand if isinstance(operand, list) else (operand,)
                self.shown += self.longest * sum(len(piece) for piece in pieces if isinstance(piece, str | bytes))
        elif operator == b"Tf" and operands and operands[0] not in (get_dictionary(self.scopes[-1].get("/Font")) or {}):
            self.whole = False  # the library gives question marks for its text
        over = self.operators > MAX_OPERATORS or self.shown > MAX_PAGE_TEXT
        if over or self.limit_reached or self.budget.is_spent:
            raise LimitReachedError

    def _form(self, form: Any, *args: Any, **named: Any) -> str:
        """Read a form within the limits. It replaces the method that the library calls for each form that is drawn."""
        import pypdf

        depth = len(self.scopes)
        try:
            self._count_form(form, depth)
            held = pypdf.apply_configuration(stream_parsing_work_maximum_count=MAX_OPERATORS >> depth)
            with held, self._scope(form, form.get_data):
                return str(type(self.page).extract_xform_text(self.page, form, *args, **named))
        except (LimitReachedError, MemoryError, RecursionError):
            self.limit_reached = True
            raise
        except Exception:
            self.whole = False
            self.operators += FAILED_FORM_OPERATORS
            raise

    def _count_form(self, form: Any, depth: int) -> None:
        self.drawn += 1
        if id(form) not in self.forms:
            self.forms.add(id(form))
            self.form_bytes += len(form.get_data())
        if self.drawn > MAX_FORMS or depth > MAX_DEPTH or self.form_bytes > MAX_FORM_BYTES:
            raise LimitReachedError

    @contextmanager
    def _scope(self, drawing: Any, content: Callable[[], bytes]) -> Iterator[None]:
        """A `with` block in which a page or form has resources and fonts. Its fonts are counted.

        A form without resources uses those of what draws it. A page without fonts gets plain ones, as in viewers:
        hand-written files, which are common in test suites, have none, and the library would skip their text.
        """
        from pypdf.generic import DictionaryObject, NameObject

        around = self.scopes[-1] if self.scopes else DictionaryObject()
        resources = get_dictionary(drawing.get_inherited("/Resources"))
        if resources is None:
            resources = around
        own = get_dictionary(resources.get("/Font"))
        fonts = own or get_dictionary(around.get("/Font")) or make_plain_fonts(content())
        if fonts and not own:
            resources = DictionaryObject({**resources, NameObject("/Font"): fonts})
        key, before = NameObject("/Resources"), dict.get(drawing, "/Resources")
        tables, longest = self.tables, self.longest
        self._count_fonts(fonts)
        drawing[key] = resources
        self.scopes.append(resources)
        try:
            yield
        finally:
            self.scopes.pop()
            self.tables, self.longest = tables, longest
            if before is None:
                del drawing[key]
            else:
                drawing[key] = before

    def _count_fonts(self, fonts: Any) -> None:
        """Count the entries of the tables of fonts, before all of them are built."""
        if len(fonts) > MAX_FONTS:
            raise LimitReachedError
        for name in fonts:
            font = fonts[name]
            cost = self.budget.fonts.get(id(font))
            if cost is None:
                cost = self.budget.fonts[id(font)] = measure_font(font)
                self.budget.tables -= cost.entries
            self.budget.tables -= cost.entries
            self.tables += cost.entries
            self.longest = max(self.longest, cost.longest)
            if self.tables > MAX_TABLES or self.budget.is_spent:
                raise LimitReachedError
