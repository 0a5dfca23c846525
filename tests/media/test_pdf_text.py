"""What forms and fonts of a PDF hold and cost."""

from __future__ import annotations

import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from service.media import pdf_text
from service.media.documents import MAX_TEXT, Page, Pdf, read_pdf
from tests.media.media_files import pdf_of

SIZE = (612.0, 792.0)
FONT = b"<< /Font << /F1 5 0 R >> >>"
BOTH = b"<< /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >>"
HELLO = b"BT /F1 12 Tf 72 700 Td (Hello) Tj ET"


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(data), entries, data)


def packed(data: bytes, entries: bytes = b"") -> bytes:
    return stream(zlib.compress(data, 9), b"/Filter /FlateDecode " + entries)


def form(content: bytes, resources: bytes = b"/Resources " + FONT) -> bytes:
    return packed(content, b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] " + resources)


def page(contents: bytes, *more: bytes, resources: bytes = b"/Resources " + BOTH) -> bytes:
    """A file of one page; its contents are object 4, a plain font 5, `more` from 6 on."""
    return pdf_of([
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R %b >>" % resources,
        contents, b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", *more,
    ])


def read(data: bytes) -> tuple[str, bool]:
    """The text of the only page, and whether it is all."""
    found = read_pdf(data)
    assert found is not None
    assert len(found.pages) == 1
    return found.pages[0].text, found.complete


# ---------------------------------------------------------------- forms


@pytest.mark.parametrize("resources", [
    b"/Resources " + FONT, b"", b"/Resources null", b"/Resources << /ProcSet [/PDF /Text] >>",
])
def test_a_form_without_fonts_uses_those_of_its_page(resources: bytes) -> None:
    assert read(page(stream(b"/X Do"), form(HELLO, resources))) == ("Hello", True)


def test_a_form_and_a_page_without_fonts_are_read_all_the_same() -> None:
    data = page(stream(b"/X Do"), form(HELLO, b""), resources=b"/Resources << /XObject << /X 6 0 R >> >>")
    assert read(data) == ("Hello", True)


def test_a_page_that_gets_a_plain_font_keeps_its_forms() -> None:
    data = page(
        stream(b"BT /F7 12 Tf 72 740 Td (Page) Tj ET /X Do"), form(HELLO),
        resources=b"/Resources << /XObject << /X 6 0 R >> >>",
    )
    assert read(data) == ("Page\nHello", True)


def test_a_form_is_given_back_as_it_was() -> None:
    """Two pages with different fonts under one name draw the same form, which has none."""
    cmap = b"begincmap 1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfchar <48> <0059> endbfchar endcmap"
    kid = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Resources << /XObject << /X 6 0 R >> "
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica %b>>"
    data = pdf_of([
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>",
        kid + b"/Font << /F1 7 0 R >> >> >>", kid + b"/Font << /F1 8 0 R >> >> >>",
        stream(b"/X Do"), form(HELLO, b""), font % b"", font % b"/ToUnicode 9 0 R ", stream(cmap),
    ])
    assert read_pdf(data) == Pdf((Page(*SIZE, "Hello"), Page(*SIZE, "Yello")))


def nested(depth: int, content: bytes = HELLO, calls: bytes = b" /X Do") -> bytes:
    """Forms inside forms, the innermost of which draws nothing else."""
    inner = b"/Resources << /Font << /F1 5 0 R >> /XObject << /X %d 0 R >> >>"
    forms = [form(content + (calls if at < depth - 1 else b""), inner % (7 + at)) for at in range(depth)]
    return page(stream(b"/X Do"), *forms)


def test_forms_inside_forms() -> None:
    text, complete = read(nested(pdf_text.MAX_DEPTH))
    assert (text.count("Hello"), complete) == (pdf_text.MAX_DEPTH, True)
    text, complete = read(nested(pdf_text.MAX_DEPTH + 1))
    assert (text.count("Hello"), complete) == (pdf_text.MAX_DEPTH, False)


def test_a_form_that_draws_itself_is_drawn_once() -> None:
    text, complete = read(page(stream(b"/X Do"), form(HELLO + b" /X Do /X Do", b"/Resources " + BOTH)))
    assert (text.strip(), complete) == ("Hello", True)


def test_forms_that_double_at_each_depth_end_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_text, "MAX_FORMS", 100)
    text, complete = read(nested(8, calls=b" /X Do /X Do"))
    assert (text.count("Hello"), complete) == (100, False)


def test_text_of_a_form_that_is_too_long_is_missed() -> None:
    endless = b"BT /F1 12 Tf " + b"(x) Tj " * 400_000 + b"ET"
    text, complete = read(page(stream(HELLO + b" /X Do"), form(endless)))
    assert (text.strip(), complete) == ("Hello", False)


def test_a_form_that_is_drawn_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_text, "MAX_OPERATORS", 30_000)
    text, complete = read(page(packed(b"/X Do " * 200), form(b"BT /F1 12 Tf " + b"(x) Tj " * 1_000 + b"ET")))
    assert 25_000 < text.count("x") < 30_000
    assert not complete


def test_a_damaged_form_is_missed_and_the_rest_is_read() -> None:
    """Damage that the library would repair by guessing, and a filter that it does not know."""
    entries = b"/Subtype /Form /Resources << /Font << /F1 5 0 R >> >> /Filter "
    for broken in (stream(b"this was never compressed", entries + b"/FlateDecode"), stream(HELLO, entries + b"/New")):
        text, complete = read(page(stream(b"/X Do " + HELLO), broken))
        assert (text, complete) == ("Hello", False)


def test_the_time_of_a_request_ends_a_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is up when the first form was drawn: what the library hides inside the second is remembered."""
    is_late = property(lambda budget: budget.text <= MAX_TEXT - len("Hello"))
    monkeypatch.setattr(pdf_text.ReadingBudget, "is_late", is_late)
    text, complete = read(page(stream(b"/X Do /X Do /X Do"), form(HELLO)))
    assert (text.count("Hello"), complete) == (1, False)


# ---------------------------------------------------------------- damage of the page itself


def test_damaged_data_of_a_page_is_missed() -> None:
    assert read(page(stream(b"this was never compressed", b"/Filter /FlateDecode"))) == ("", False)


def test_a_font_that_is_not_there_is_missed() -> None:
    text, complete = read(page(stream(b"BT /F9 12 Tf 72 700 Td (Hello) Tj ET")))
    assert (set(text), complete) == ({"\ufffd"}, False)


@pytest.mark.parametrize("name", [b"/F#31", b"/#46#31", b"/F1", b"/\xc3\xa9", b"/F1+x'*@"])
def test_names_of_missing_fonts_may_be_escaped(name: bytes) -> None:
    assert read(page(stream(b"BT %b 12 Tf 72 700 Td (Hello) Tj ET" % name), resources=b"")) == ("Hello", True)


@pytest.mark.parametrize("resources", [b"/Resources null", b"/Resources [1]", b"/Resources << /Font [5 0 R] >>"])
def test_a_page_whose_resources_are_no_dictionary_is_read(resources: bytes) -> None:
    assert read(page(stream(HELLO), resources=resources)) == ("Hello", True)


# ---------------------------------------------------------------- tables of fonts


def cmap(ranges: int, length: int = 600) -> bytes:
    lines = (b"<%04X> <%04X> <%04X>" % (at * length, (at + 1) * length - 1, 32) for at in range(ranges))
    return b"begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange\n%d beginbfrange\n%b\nendbfrange" % (
        ranges, b"\n".join(lines)
    )


def fonts(number: int, entries: bytes = b"/ToUnicode 7 0 R") -> bytes:
    one = b"/F%d << /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H %b >>"
    return b"/Font << %b >>" % b" ".join(one % (at, entries) for at in range(number))


TEXT = stream(b"BT /F1 12 Tf 72 700 Td <00010002> Tj ET")


def on_page(number: int, table: bytes) -> bytes:
    return page(TEXT, b"null", packed(table), resources=b"/Resources << %b >>" % fonts(number))


def in_form(number: int, table: bytes) -> bytes:
    resources = b"/Resources << %b >>" % fonts(number)
    return page(stream(b"/X Do"), form(b"BT /F1 12 Tf 72 700 Td <00010002> Tj ET", resources), packed(table))


def test_thirty_fonts_with_tables_of_a_chinese_book_are_read() -> None:
    for build in (on_page, in_form):
        assert read(build(30, cmap(5))) == ("!\"", True)
        assert read(build(4, cmap(100))) == ("!\"", True)


def test_fonts_with_too_large_tables_are_missed_wherever_they_stand() -> None:
    for build in (on_page, in_form):
        assert read(build(20, cmap(100))) == ("", False)
        assert read(build(pdf_text.MAX_FONTS + 1, cmap(1))) == ("", False)


def test_tables_of_forms_around_a_form_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_text, "MAX_TABLES", 2_500)
    assert read(nested(2))[1]
    monkeypatch.setattr(pdf_text, "MAX_TABLES", 400)  # a plain font has 256 widths at most
    assert not read(nested(4))[1]


def test_tables_of_all_pages_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A font costs twice where it is seen first (it is built to be counted), and once on each page."""
    monkeypatch.setattr(pdf_text, "MAX_TABLES_OF_FILE", 5_500)
    head = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
    kid = head + b"/Resources << /Font << /F1 6 0 R >> >> >>"
    data = pdf_of([
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%b] /Count 6 >>" % (b"3 0 R " * 6), kid, TEXT,
        packed(cmap(2)), b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 5 0 R >>",
    ])
    found = read_pdf(data)
    assert found is not None
    assert [page.text for page in found.pages] == ['!"', '!"', '!"', "", "", ""]
    assert not found.complete


@pytest.mark.parametrize("entries", [
    b"/DescendantFonts [%b]" % (b"<< /W [0 65534 500] >> " * 2_000),
    b"/DescendantFonts [<< /W [0 65534 500] >>]",
])
def test_tables_of_widths_count(entries: bytes) -> None:
    assert read(page(TEXT, resources=b"/Resources << %b >>" % fonts(8, entries))) == ("", False)


def test_one_code_may_not_become_a_book() -> None:
    table = b"begincmap 1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfchar <41> <%b> endbfchar" % (
        b"0041" * 255
    )
    font = b"<< /Type /Font /Subtype /TrueType /BaseFont /X /ToUnicode 7 0 R >>"
    for length, expected in ((1_000, (255_000, True)), (1_000_000, (0, False))):
        data = page(packed(b"BT /F1 9 Tf (%b) Tj ET" % (b"A" * length)), font, stream(table),
                    resources=b"/Resources << /Font << /F1 6 0 R >> >>")
        text, complete = read(data)
        assert (len(text), complete) == expected


MEASURE = """
import base64, resource, sys
from tests.media import test_pdf_text as built
from service.media.documents import read_pdf
read_pdf(built.page(built.stream(built.HELLO)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = read_pdf(getattr(built, sys.argv[1])(int(sys.argv[2]), built.cmap(100)))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, found.complete)
"""


@pytest.mark.parametrize(("build", "number"), [("in_form", 99), ("on_page", 99)])
def test_memory_for_fonts_is_bounded(build: str, number: int) -> None:
    """Peak of a process of its own, above that of reading a plain page (KB): it was over 900 MB."""
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, build, str(number)], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[2], timeout=60,
    )
    grown, complete = run.stdout.split()
    assert int(grown) < 80_000
    assert complete == "False"


# ---------------------------------------------------------------- objects of the file


def numbered(table: bytes, entries: bytes, *objects: bytes) -> bytes:
    """Objects from 1 on, and a packed table of them."""
    out, at = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        at.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    known = b"".join(b"\x01%b\x00\x00" % offset.to_bytes(4) for offset in at)
    start, last = len(out), 99
    body = packed(bytes(7) + known + table, b"/Type /XRef /W [1 4 2] /Root 1 0 R " + entries)
    return out + b"%d 0 obj\n%b\nendobj\nstartxref\n%d\n%%%%EOF" % (last, body, start)


def test_packed_objects_are_read_up_to_a_cap() -> None:
    """`[]` takes 3 bytes of a file, 3,000 times less when packed, and 100 of memory."""
    for filler, expected in ((100, True), (1_000_000, False)):
        body = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /A [%b] >>" % (b"[] " * min(filler, 90_000))
        inside = b"4 0 " + body + b" " * (3 * filler if filler > 90_000 else 0)
        data = numbered(
            b"\x02" + (3).to_bytes(4) + b"\x00\x00", b"/Size 5", b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>", packed(inside, b"/Type /ObjStm /N 1 /First 4 "),
        )
        assert (read_pdf(data) == Pdf((Page(*SIZE, ""),))) is expected


@pytest.mark.parametrize("size", [b"/Size 30000000 /W [0 0 0]", b"/Size 30000000"])
def test_a_table_of_objects_without_end_is_refused(size: bytes) -> None:
    data = numbered(bytes(7 * 400_000), size, b"<< /Type /Catalog /Pages 2 0 R >>")
    if b"/W" in size:
        data = data.replace(b"/W [1 4 2]", b"")
    assert read_pdf(data) is None
