"""The text of one page of a PDF and of the forms that it draws, within what may be spent on them. No I/O."""

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

from service.media.pdf_fonts import CapReachedError, FontCost, dictionary_at, font_cost, plain_fonts

MAX_FONTS = 100
"""Fonts of one page or form; a page of a book has ten, a dense one thirty."""

MAX_TABLES = 300_000
"""Entries of the font tables that are held at a time, for a page and the forms around what is being drawn. A font of a
book has 100, one of a Chinese book 3,000, and the largest 65,000. An entry takes 170 bytes and 2 microseconds."""

MAX_TABLES_OF_FILE = 2_000_000
"""Entries of font tables built for one file, for each page builds its own: a thousand pages with 2,000 each."""

MAX_OPERATORS = 300_000
"""Drawing operators and operands of one page: a dense page of text has 5,000, and 300,000 take two seconds. A form
may have half as many as what draws it, for all of them are held at a time."""

MAX_PAGE_TEXT = 2_000_000
"""Characters of one page, each reckoned as the longest text that a font of the page gives to one code."""

MAX_DEPTH = 8
"""Forms inside forms; a page that was placed on a sheet three times is three deep."""

MAX_FORMS = 5_000
"""Forms drawn by one page, the same one counted each time."""

FAILED_FORM = 20_000
"""Operators as which a form counts that is damaged or too large, for finding that out takes time."""

MAX_FORM_BYTES = 16_000_000
"""Decompressed bytes of the different forms of one page."""

KEPT_BYTES = 16_000_000
"""Decompressed streams that are kept for the next page, for pages share fonts and letterheads."""

DEAD_TABLES = 100_000
"""Entries of fonts of pages that were read, after which memory is swept: the library leaves them in cycles."""

MAX_KEPT_MAP = 1_000
"""Entries of a font's map that the library may keep for the next page; a font of that kind has 256."""


@dataclass(slots=True)
class Budget:
    """What may be spent on one file: characters, this thread's processor time up to `until` (see `allowance`), entries
    of font tables. It also knows which streams were decompressed, to drop the copies."""

    text: int
    until: float
    tables: int = field(default_factory=lambda: MAX_TABLES_OF_FILE)
    fonts: dict[int, FontCost] = field(default_factory=dict)
    fresh: dict[int, Any] = field(default_factory=dict)
    kept: dict[int, Any] = field(default_factory=dict)
    kept_bytes: int = 0
    swept: int = field(default_factory=lambda: MAX_TABLES_OF_FILE)

    @property
    def late(self) -> bool:
        return time.thread_time() > self.until

    @property
    def spent(self) -> bool:
        return self.text < 0 or self.tables < 0 or self.late

    def seen(self, stream: Any) -> None:
        """A stream was looked up for the page at hand."""
        if id(stream) not in self.kept:
            self.fresh[id(stream)] = stream

    def release(self) -> None:
        """Called after each page: drop the decompressed copies of streams where they outgrow what is kept."""
        for key, stream in self.fresh.items():
            built = stream._font_file_character_map  # the library has no other way to drop it
            if built and len(built.map_dict) > MAX_KEPT_MAP:
                stream._font_file_character_map = None
            if getattr(stream, "decoded_self", None) is not None:
                self.kept[key] = stream
                self.kept_bytes += len(stream.get_data())
        self.fresh.clear()
        if self.swept - self.tables > DEAD_TABLES:
            gc.collect()
            self.swept = self.tables
        if self.kept_bytes > KEPT_BYTES:
            for stream in self.kept.values():
                stream.decoded_self = None
            self.kept.clear()
            self.kept_bytes = 0


class _Lines:
    """Collects the pieces of a page's text.

    The library breaks a line where the baseline moves by 0.8 of the *previous* font size; under a large title it
    misses the break. So where the size changes, the smaller of the two decides.
    """

    def __init__(self, budget: Budget) -> None:
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


def page_text(page: Any, budget: Budget) -> tuple[str, bool]:
    """The text of a page as far as it could be read, and whether that is all of it. Never raises."""
    reading = _Reading(page, budget)
    try:
        reading.run()
    except Exception:  # noqa: BLE001 - broken fonts and streams raise anything; a cap that was reached ends here too
        reading.whole = False
    budget.release()
    return reading.lines.text, reading.whole and not budget.spent


_SHOWING = frozenset((b"Tj", b"TJ", b"'", b'"'))


class _Reading:
    """One page being read. The library hides what goes wrong in a form: here it is remembered.

    `scopes` are the resources of the page and of the forms that are being drawn; `tables` the entries of their fonts.
    """

    def __init__(self, page: Any, budget: Budget) -> None:
        self.page, self.budget, self.lines = page, budget, _Lines(budget)
        self.scopes: list[Any] = []
        self.whole, self.capped = True, False
        self.tables = self.operators = self.drawn = self.form_bytes = self.shown = 0
        self.forms: set[int] = set()
        self.longest = 1

    def run(self) -> None:
        """Read the page into `lines`. A cap or damage of the page itself raises; that of a form clears `whole`."""
        import pypdf

        # the library would guess at damaged data, byte by byte, and not tell
        with pypdf.apply_configuration(zlib_maximum_recovery_input_length=0), self._scope(self.page, self._contents):
            self.page.extract_xform_text = self._form
            try:
                self.page.extract_text(visitor_operand_before=self._check, visitor_text=self.lines.take)
            finally:
                del self.page.extract_xform_text
        if self.capped:
            raise CapReachedError

    def _contents(self) -> bytes:
        contents = self.page.get_contents()
        return contents.get_data() if contents is not None else b""

    def _check(self, operator: bytes, operands: Any, *_: Any) -> None:
        """Called before each operator."""
        self.operators += 1
        if operator in _SHOWING:
            for operand in operands:
                pieces = operand if isinstance(operand, list) else (operand,)
                self.shown += self.longest * sum(len(piece) for piece in pieces if isinstance(piece, str | bytes))
        elif operator == b"Tf" and operands and operands[0] not in (dictionary_at(self.scopes[-1].get("/Font")) or {}):
            self.whole = False  # its text comes back as question marks
        over = self.operators > MAX_OPERATORS or self.shown > MAX_PAGE_TEXT
        if over or self.capped or self.budget.spent:
            raise CapReachedError

    def _form(self, form: Any, *args: Any, **named: Any) -> str:
        """The library's method of the same purpose, which it calls for each form that is drawn."""
        import pypdf

        depth = len(self.scopes)
        try:
            self._count_form(form, depth)
            held = pypdf.apply_configuration(stream_parsing_work_maximum_count=MAX_OPERATORS >> depth)
            with held, self._scope(form, form.get_data):
                return str(type(self.page).extract_xform_text(self.page, form, *args, **named))
        except (CapReachedError, MemoryError, RecursionError):
            self.capped = True
            raise
        except Exception:
            self.whole = False
            self.operators += FAILED_FORM
            raise

    def _count_form(self, form: Any, depth: int) -> None:
        self.drawn += 1
        if id(form) not in self.forms:
            self.forms.add(id(form))
            self.form_bytes += len(form.get_data())
        if self.drawn > MAX_FORMS or depth > MAX_DEPTH or self.form_bytes > MAX_FORM_BYTES:
            raise CapReachedError

    @contextmanager
    def _scope(self, drawing: Any, content: Callable[[], bytes]) -> Iterator[None]:
        """Draw a page or form with the resources and fonts it lacks, counting its fonts.

        A form without resources uses those of what draws it. A page without fonts gets plain ones, as viewers do:
        hand-written files (test suites are full of them) have none; the library would skip their text.
        """
        from pypdf.generic import DictionaryObject, NameObject

        around = self.scopes[-1] if self.scopes else DictionaryObject()
        resources = dictionary_at(drawing.get_inherited("/Resources"))
        if resources is None:
            resources = around
        fonts = dictionary_at(resources.get("/Font")) or dictionary_at(around.get("/Font")) or plain_fonts(content())
        if fonts and not dictionary_at(resources.get("/Font")):
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
        """Count the tables of fonts before all of them are built and held."""
        if len(fonts) > MAX_FONTS:
            raise CapReachedError
        for name in fonts:
            font = fonts[name]
            cost = self.budget.fonts.get(id(font))
            if cost is None:
                cost = self.budget.fonts[id(font)] = font_cost(font)
                self.budget.tables -= cost.entries
            self.budget.tables -= cost.entries
            self.tables += cost.entries
            self.longest = max(self.longest, cost.longest)
            if self.tables > MAX_TABLES or self.budget.spent:
                raise CapReachedError
