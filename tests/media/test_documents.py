"""Pages and text of documents."""

from __future__ import annotations

import logging
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.media import documents, pdf_text
from service.media.documents import Page, Pdf, decode_text, file_text, read_pdf
from service.media.time_limit import limit_file_time
from service.types import Media
from tests.media.media_files import docx, pdf, pdf_of, zipped

A4, LETTER = (595.0, 842.0), (612.0, 792.0)


def file(data: bytes | None, mime: str = "", filename: str | None = None) -> Media:
    return Media("file", mime, data=data, filename=filename)


def texts(read: Pdf | None) -> list[str]:
    assert read is not None
    return [page.text for page in read.pages]


# ---------------------------------------------------------------- PDF


@pytest.mark.parametrize("compress", [False, True])
def test_pages_have_their_size_in_points_and_their_text(compress: bool) -> None:
    data = pdf((*LETTER, "Hello, world!"), (*A4, "Second page"), compress=compress)
    assert read_pdf(data) == Pdf((Page(*LETTER, "Hello, world!"), Page(*A4, "Second page")))


def test_an_empty_page_is_read_and_has_no_text() -> None:
    assert read_pdf(pdf((*LETTER, ""))) == Pdf((Page(*LETTER, ""),))


@pytest.mark.parametrize(("extra", "size"), [
    ("/Rotate 90", (792, 612)), ("/Rotate 180", (612, 792)), ("/Rotate -90", (792, 612)),
    ("/CropBox [0 0 300 400]", (300, 400)), ("/CropBox [0 0 300 400] /Rotate 270", (400, 300)),
    ("/UserUnit 2.0", (1_224, 1_584)), ("/CropBox [0 0 0 0]", LETTER), ("/CropBox [0 0 (a) null]", LETTER),
])
def test_size_is_that_of_the_page_as_shown(extra: str, size: tuple[float, float]) -> None:
    read = read_pdf(pdf((*LETTER, "x"), extra=extra))
    assert read is not None
    assert (read.pages[0].width, read.pages[0].height) == size


def drawn(stream: bytes, resources: bytes = b"/Resources << /Font << /F1 3 0 R /F2 3 0 R >> >>") -> str:
    """The text of a page with these drawing operators."""
    data = pdf((*LETTER, "placeholder"))
    at, end = data.index(b"BT /F1"), data.index(b"ET\n") + 2
    data = data[:at] + stream + data[end:]
    return texts(read_pdf(data.replace(b"/Resources << /Font << /F1 3 0 R >> >>", resources)))[0]


def test_lines_are_joined_by_newlines_in_drawing_order() -> None:
    stream = b"BT /F1 12 Tf 72 700 Td 14 TL (First line) Tj T* (Second line) Tj T* (- a point) Tj ET"
    assert drawn(stream) == "First line\nSecond line\n- a point"


def test_a_line_ends_under_a_large_title() -> None:
    title = b"q 1 0 0 1 72 690 cm BT 30 0 0 30 0 0 Tm /F1 1 Tf (%b) Tj ET Q "
    text = b"BT 11 0 0 11 72 %d Tm /F2 1 Tf (%b) Tj ET "
    stream = title % b"Apples are tasty " + text % (673, b"by a farmer") + text % (660, b"They are.")
    assert drawn(stream) == "Apples are tasty \nby a farmer\nThey are."


def test_a_raised_note_mark_stays_in_its_line() -> None:
    stream = b"BT /F1 12 Tf 72 700 Td (text) Tj /F2 7 Tf 24 4 Td (1) Tj /F1 12 Tf 5 -4 Td (goes on) Tj ET"
    assert drawn(stream).replace(" ", "") == "text1goeson"


def test_ligatures_are_taken_apart_and_nothing_else_is() -> None:
    cmap = (
        b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange "
        b"2 beginbfchar <01> <FB01> <02> <00BD> endbfchar endcmap end"
    )
    data = pdf_of([
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length 41 >>\nstream\nBT /F1 12 Tf 72 700 Td (\\001le \\002) Tj ET\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(cmap), cmap),
    ])
    assert texts(read_pdf(data)) == ["file \u00bd"]


@pytest.mark.parametrize("resources", [
    b"/Resources 6 0 R", b"/Resources << /Font 7 0 R >>", b"/Resources << /Font << /F1 5 0 R >> >>",
])
def test_fonts_may_stand_in_other_objects(resources: bytes) -> None:
    data = pdf_of([
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R %b >>" % resources,
        b"<< /Length 39 >>\nstream\nBT /F1 12 Tf 72 700 Td (Hello) Tj ET    \nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", b"<< /Font 7 0 R >>", b"<< /F1 5 0 R >>",
    ])
    assert texts(read_pdf(data)) == ["Hello"]


@pytest.mark.parametrize("resources", [b"", b"/Resources << >>", b"/Resources << /Font << >> >>"])
def test_a_page_that_brings_no_font_is_read_all_the_same(resources: bytes) -> None:
    assert drawn(b"BT /F1 12 Tf 100 700 Td (Test Document) Tj ET", resources) == "Test Document"


@pytest.mark.parametrize("data", [
    b"", b"%PDF-", b"%PDF-1.4\n", b"hello", b"%PDF-1.7\nstartxref\n0\n%%EOF", b"%PDF-1.4\n" + b"1 0 obj\n" * 1_000,
])
def test_what_is_no_readable_pdf_is_none(data: bytes) -> None:
    assert read_pdf(data) is None


def test_a_file_locked_by_a_password_is_none() -> None:
    lock = b"<< /Filter /Standard /V 1 /R 2 /O <%b> /U <%b> /P -4 >>" % (b"ab" * 32, b"cd" * 32)
    data = pdf((*LETTER, "secret"))
    entry = b"/Encrypt " + lock + b" /ID [<00><00>] /Root"
    assert read_pdf(data.replace(b"/Root", entry)) is None


def test_a_repaired_file_is_read_without_a_word_in_the_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    data = pdf((*LETTER, "Hello, world!"))
    broken = data[: data.index(b"xref")] + b"xref\n0 1\nrubbish\ntrailer\n<< /Root 1 0 R >>\nstartxref\n99999\n%%EOF"
    assert texts(read_pdf(broken)) == ["Hello, world!"]
    assert not caplog.records


def page_with(stream: bytes, filters: bytes = b"/FlateDecode") -> bytes:
    return pdf_of([
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << >> >> >>",
        b"<< /Length %d /Filter %b >>\nstream\n%b\nendstream" % (len(stream), filters, stream),
    ])


def test_a_bomb_is_cut_and_the_answer_says_so() -> None:
    bomb = zlib.compress(b" " * (documents.MAX_STREAM_BYTES + 1), 9)
    for data in (page_with(bomb), page_with(zlib.compress(bomb), b"[/FlateDecode /FlateDecode]")):
        assert read_pdf(data) == Pdf((Page(*LETTER, ""),), complete=False)


def test_caps_on_pages_and_text(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pdf(*((*LETTER, f"Page {i}") for i in range(6)))
    monkeypatch.setattr(documents, "MAX_PAGES", 4)
    read = read_pdf(data)
    assert texts(read) == ["Page 0", "Page 1", "Page 2", "Page 3", "", ""]
    assert read is not None
    assert not read.complete
    monkeypatch.setattr(documents, "MAX_TEXT", 17)
    assert texts(read_pdf(data)) == ["Page 0", "Page 1", "Page 2", "", "", ""]


def test_no_file_is_read_when_the_time_of_the_request_is_spent() -> None:
    with limit_file_time(0.0):
        assert read_pdf(pdf((*LETTER, "Hello, world!"))) is None
        assert file_text(file(docx("Hello"))) is None
    with limit_file_time():
        assert texts(read_pdf(pdf((*LETTER, "Hello, world!")))) == ["Hello, world!"]
        assert file_text(file(docx("Hello"))) == "Hello"


def test_pages_after_the_time_is_spent_have_no_text() -> None:
    slow = b"BT " + b"(a) Tj " * 40_000 + b"ET"
    content = b"<< /Length %d >>\nstream\n%b\nendstream" % (len(slow), slow)
    kids = b" ".join(b"%d 0 R" % number for number in range(4, 44))
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 3 0 R /Resources << /Font << >> >> >>"
    data = pdf_of([
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%b] /Count 40 >>" % kids, content, *[page] * 40,
    ])
    with limit_file_time(0.5):
        read = read_pdf(data)
    assert read is not None
    assert not read.complete
    assert len(read.pages) == 40
    assert read.pages[-1].text == ""


def test_a_page_of_endless_operators_is_given_up() -> None:
    stream = zlib.compress(b"BT " + b"(a) Tj " * (pdf_text.MAX_OPERATORS // 2 + 1) + b"ET")
    assert read_pdf(page_with(stream)) == Pdf((Page(*LETTER, ""),), complete=False)


def test_a_page_tree_that_eats_its_tail_ends() -> None:
    data = pdf((*LETTER, "x")).replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]")
    read = read_pdf(data)
    assert read is None or len(read.pages) < 10


WHOLE = pdf((*LETTER, "Hello, world!"), (*A4, "Second"), compress=True)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(WHOLE) - 1), st.binary(min_size=0, max_size=12), st.booleans())
def test_a_damaged_pdf_is_read_or_none(at: int, patch: bytes, cut: bool) -> None:
    read = read_pdf(WHOLE[:at] + patch + (b"" if cut else WHOLE[at + len(patch) :]))
    assert read is None or all(1 <= page.width <= 14_400 * 10 and isinstance(page.text, str) for page in read.pages)


# ---------------------------------------------------------------- other files


def test_word_paragraphs() -> None:
    assert file_text(file(docx("Offsite &amp; memo", "", "Capped at 240."))) == "Offsite & memo\n\nCapped at 240."


def test_word_tabs_and_breaks() -> None:
    data = docx("a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c")
    assert file_text(file(data)) == "a\tb\nc"


def test_excel_rows() -> None:
    data = zipped(
        xl__workbook_dot_xml="<workbook/>",
        xl__sharedStrings_dot_xml="<sst><si><t>Region</t></si><si><r><t>No</t></r><r><t>rth</t></r></si></sst>",
        xl__worksheets__sheet1_dot_xml=(
            '<worksheet><row><c t="s"><v>0</v></c><c t="inlineStr"><is><t>Q1</t></is></c></row>'
            '<row><c t="s"><v>1</v></c><c><v>12.5</v></c></row></worksheet>'
        ),
        xl__worksheets__sheet10_dot_xml="<worksheet><row><c><v>10</v></c></row></worksheet>",
        xl__worksheets__sheet2_dot_xml="<worksheet><row><c><v>2</v></c></row></worksheet>",
    )
    assert file_text(file(data)) == "Region\tQ1\nNorth\t12.5\n2\n10"


def test_powerpoint_slides_in_order() -> None:
    slide = '<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:sld>'
    data = zipped(
        ppt__slides__slide10_dot_xml=slide.format("ten"), ppt__slides__slide2_dot_xml=slide.format("two"),
        ppt__slides__slide1_dot_xml=slide.format("one"),
    )
    assert file_text(file(data)) == "one\ntwo\nten"


def test_text_of_a_pdf_is_its_pages() -> None:
    assert file_text(file(pdf((*LETTER, "One"), (*LETTER, "Two")))) == "One\nTwo"


@pytest.mark.parametrize(("mime", "filename"), [
    ("text/csv", None), ("text/plain; charset=utf-8", None), ("application/json", None), ("application/atom+xml", None),
    ("", "notes.md"), ("application/octet-stream", "x.PY"), ("application/octet-stream", None), ("", None),
])
def test_text_files_are_decoded(mime: str, filename: str | None) -> None:
    assert file_text(file("größe,1\n".encode(), mime, filename)) == "größe,1\n"


@pytest.mark.parametrize("media", [
    file(None, "text/plain"), file(b"\x00\x01\x02"), file(b"MZ\x90\x00", "application/octet-stream"),
    file(zipped(a_dot_txt="x")), file(b"abc", "application/x-unheard-of"), file(b"PK\x03\x04 torn", "application/zip"),
    file(b"%PDF-1.4 torn"),
])
def test_unknown_files_have_no_text(media: Media) -> None:
    assert file_text(media) is None


def test_encodings() -> None:
    assert decode_text("\ufeffé".encode()) == "é"
    assert decode_text("é€".encode("utf-16")) == "é€"
    assert decode_text("\ufeffé€".encode("utf-32-be")) == "é€"
    assert decode_text(b"caf\xe9 \x80 \x81") == "café € \ufffd"


def test_xml_bombs_are_refused() -> None:
    entities = '<!DOCTYPE a [<!ENTITY b "bbbbbbbb"><!ENTITY c "&b;&b;&b;">]>'
    assert file_text(file(zipped(word__document_dot_xml=entities + "<w:document>&c;</w:document>"))) is None
    assert file_text(file(zipped(word__document_dot_xml="<w:document>" + " " * 33_000_000))) is None
    cells = '<c t="s"><v>0</v></c>' * 2_000
    shared = zipped(
        xl__workbook_dot_xml="<workbook/>", xl__sharedStrings_dot_xml=f"<sst><si><t>{'x' * 100_000}</t></si></sst>",
        xl__worksheets__sheet1_dot_xml=f"<worksheet><row>{cells}</row></worksheet>",
    )
    assert file_text(file(shared)) is None


ARCHIVE = docx("Hello", "world")


@given(st.integers(0, len(ARCHIVE) - 1), st.binary(max_size=8), st.booleans())
def test_a_damaged_archive_is_read_or_none(at: int, patch: bytes, cut: bool) -> None:
    text = file_text(file(ARCHIVE[:at] + patch + (b"" if cut else ARCHIVE[at + len(patch) :]), "application/zip"))
    assert text is None or isinstance(text, str)
