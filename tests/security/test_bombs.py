"""Files that are made to need much time or memory. Each ends in time, in little memory, and without an exception."""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from service.media.documents import file_text, read_pdf
from service.media.images import image_size
from service.media.time_limit import limit_file_time
from service.types import Media
from tests.media.media_files import pdf_of, png, zipped

SECONDS = 2.0
"""The time limit of these tests, instead of 15 s. A step that cannot be interrupted takes no longer than this again."""

MEGABYTES = 300
"""How much one file may add to the peak memory of the process."""

CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
PLAIN_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
SHOW = b"BT /F1 12 Tf (a) Tj ET "


def stream(data: bytes, entries: bytes = b"") -> bytes:
    packed = zlib.compress(data, 9)
    return b"<< /Length %d /Filter /FlateDecode %b >>\nstream\n%b\nendstream" % (len(packed), entries, packed)


def page(content: bytes, *more: bytes, font: bytes = PLAIN_FONT, resources: bytes = b"") -> bytes:
    """A PDF of one page. Object 3 is its font, 4 the page, 5 its content, `more` are 6 and following."""
    tree = b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>"
    fonts = b"/Resources << /Font << /F1 3 0 R >> %b >>" % resources
    return pdf_of([
        CATALOG, tree, font, b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R %b >>" % fonts,
        content, *more,
    ])


def fonts_that_share_a_table(number: int) -> bytes:
    """Each font of the page has 32,769 characters, all from one stream of 60 bytes."""
    table = stream(b"begincmap 1 beginbfrange <0000> <8000> <0041> endbfrange endcmap")
    names = b"".join(b"/F%d %d 0 R " % (i, i + 6) for i in range(number))
    font = b"<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode 5 0 R /DescendantFonts [<< >>] >>"
    return pdf_of([
        CATALOG, b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << %b >> >> >>" % names,
        stream(SHOW), table, *[font] * number,
    ])


def nested_forms(depth: int, width: int) -> bytes:
    """A drawing that draws another one `width` times, which does the same, and so on."""
    def form(i: int) -> bytes:
        inner = b"/X%d Do " % (i + 1) * width if i < depth - 1 else SHOW
        more = b"/XObject << /X%d %d 0 R >>" % (i + 1, i + 7)
        return stream(inner, b"/Type /XObject /Subtype /Form /Resources << /Font << /F1 3 0 R >> %b >>" % more)
    forms = [form(i) for i in range(depth)]
    return page(stream(b"/X0 Do " * width), *forms, resources=b"/XObject << /X0 6 0 R >>")


def nested_pages(depth: int, width: int) -> bytes:
    """A tree of `width ** depth` pages in a kilobyte."""
    nodes = [b"<< /Type /Pages /Kids [%b] /Count 1 >>" % (b"%d 0 R " % (i + 3) * width) for i in range(depth)]
    return pdf_of([CATALOG, *nodes, b"<< /Type /Page >>"])


def object_stream(number: int) -> bytes:
    """A PDF with all objects in one compressed stream."""
    places = b"".join(b"%d %d " % (i + 10, i * 5) for i in range(number))
    out = bytearray(b"%PDF-1.5\n")
    offsets = {}
    kids = b"".join(b"%d 0 R " % (i + 10) for i in range(number))
    for i, body in enumerate((
        CATALOG, b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, number),
        stream(places + b"<<>> " * number, b"/Type /ObjStm /N %d /First %d" % (number, len(places))),
    ), 1):
        offsets[i] = len(out)
        out += b"%d 0 obj\n%b\nendobj\n" % (i, body)
    rows = [
        struct.pack(">BIH", 1, offsets[i], 0) if i in offsets else
        struct.pack(">BIH", 2, 3, min(i - 10, 65_535)) if i >= 10 else bytes(7)
        for i in range(number + 10)
    ]
    entries = b"/Type /XRef /W [1 4 2] /Size %d /Root 1 0 R" % (number + 10)
    return bytes(out) + b"4 0 obj\n%b\nendobj\nstartxref\n%d\n%%%%EOF" % (stream(b"".join(rows), entries), len(out))


def two_byte_font(table: bytes) -> tuple[bytes, bytes]:
    head = b"<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode 6 0 R /DescendantFonts [<< >>] >>"
    return head, stream(table)


def with_table(table: bytes) -> bytes:
    font, packed = two_byte_font(table)
    return page(stream(SHOW), packed, font=font)


LOOP = b"1 0 obj\n<< /Type /XRef /W [1 2 1] /Index [0 99999999] /Size 99999999 /Root 2 0 R /Length 5 >>\nstream\n"

PDFS: dict[str, Callable[[], bytes]] = {
    "pages that hold themselves": lambda: pdf_of([
        CATALOG, b"<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 2 >>", b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>",
    ]),
    "the same page 200,000 times": lambda: pdf_of([
        CATALOG, b"<< /Type /Pages /Kids [%b] /Count 200000 >>" % (b"3 0 R " * 200_000), b"<< /Type /Page >>",
    ]),
    "ten to the tenth pages": lambda: nested_pages(10, 10),
    "pages 5,000 deep": lambda: nested_pages(5_000, 1),
    "an array 200,000 deep": lambda: pdf_of([CATALOG, b"[" * 200_000 + b"]" * 200_000]),
    "a dictionary 100,000 deep": lambda: pdf_of([
        b"<< /Type /Catalog /Pages 2 0 R /X %b >>" % (b"<</A " * 100_000 + b">>" * 100_000),
        b"<< /Type /Pages /Kids [] /Count 0 >>",
    ]),
    "a hundred billion pages, it says": lambda: pdf_of([CATALOG, b"<< /Type /Pages /Kids [] /Count 99999999999 >>"]),
    "ten to the tenth drawings": lambda: nested_forms(10, 10),
    "a drawing that draws itself": lambda: page(
        stream(b"/X0 Do " * 10), stream(b"/X0 Do " * 2, b"/Subtype /Form /Resources << /XObject << /X0 6 0 R >> >>"),
        resources=b"/XObject << /X0 6 0 R >>",
    ),
    "a hundred megabytes in 200 KB": lambda: page(stream(SHOW * 4_000_000)),
    "compressed twice": lambda: page(
        b"<< /Length 1 /Filter [/FlateDecode /FlateDecode] >>\nstream\n"
        + zlib.compress(zlib.compress(b" " * 50_000_000, 9), 9) + b"\nendstream"
    ),
    "three thousand filters": lambda: page(
        b"<< /Length 1 /Filter [%b] >>\nstream\n41\nendstream" % (b"/ASCIIHexDecode " * 3_000)
    ),
    "a table of four billion characters": lambda: with_table(
        b"begincmap 1 beginbfrange <0000> <FFFFFFFF> <0041> endbfrange endcmap"
    ),
    "two thousand tables in one": lambda: with_table(
        b"begincmap " + b"1 beginbfrange <0000> <FFFF> <0041> endbfrange " * 2_000 + b"endcmap"
    ),
    "ninety thousand lines of a table": lambda: with_table(
        b"begincmap " + b"1 beginbfchar <0000> <0041> endbfchar\n" * 90_000 + b"endcmap"
    ),
    "ninety fonts that share a table": lambda: fonts_that_share_a_table(90),
    "three thousand fonts that share a table": lambda: fonts_that_share_a_table(3_000),
    "a billion widths": lambda: page(stream(SHOW), font=(
        b"<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [<< /W [0 999999999 500] >>] >>"
    )),
    "half a million differences": lambda: page(stream(SHOW), font=(
        b"<< /Type /Font /Subtype /TrueType /FirstChar 0 /LastChar 999999999 /Widths [1] /Encoding "
        b"<< /Differences [0 %b] >> >>" % (b"/a " * 500_000)
    )),
    "150,000 changes of font": lambda: page(stream(b"BT " + b"/F1 12 Tf (a) Tj " * 150_000 + b"ET")),
    "300,000 saved states": lambda: page(stream(b"q " * 300_000)),
    "a million brackets in a string": lambda: page(stream(b"BT (%b) Tj ET" % (b"(" * 1_000_000 + b")" * 1_000_000))),
    "a picture that seems to end everywhere": lambda: page(stream(b"BI /W 1 /H 1 ID " + b"EI" * 500_000)),
    "names for the search of fonts": lambda: page(stream(b"/a -" * 900_000)).replace(b"/Font << /F1 3 0 R >>", b""),
    "digits for the search of fonts": lambda: page(
        stream((b"/aaaa " + b"1" * 2_000) * 1_900)
    ).replace(b"/Font << /F1 3 0 R >>", b""),
    "a predictor of a byte a row": lambda: page(
        stream(b"\2" * 4_000_000, b"/DecodeParms << /Predictor 12 /Columns 1 >>")
    ),
    "a table that follows itself": lambda: (
        b"%PDF-1.4\nxref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 2 /Root 1 0 R /Prev 9 >>\nstartxref\n9\n%%EOF"
    ),
    "a hundred million objects, it says": lambda: (
        b"%PDF-1.5\n" + LOOP + bytes(5) + b"\nendstream\nendobj\nstartxref\n9"
    ),
    "fields of a gigabyte": lambda: (
        b"%PDF-1.5\n" + LOOP.replace(b"[1 2 1]", b"[1 999999999 1]") + bytes(5) + b"\nendstream\nendobj\nstartxref\n9"
    ),
    "no table, 100,000 objects": lambda: (
        b"%PDF-1.4\n" + b"".join(b"%d 0 obj\n<<>>\nendobj\n" % i for i in range(100_000)) + b"trailer<</Root 1 0 R>>"
    ),
    "objects that never end": lambda: b"%PDF-1.4\n" + b"1 0 obj\n<<" * 300_000,
    "megabytes of blanks": lambda: b"%PDF-1.4\n" + b" " * 3_000_000 + b"\nstartxref\n9\n%%EOF",
    "where the table is, 300,000 times": lambda: b"%PDF-1.4\n" + b"startxref\n" * 300_000,
    "references in a row": lambda: pdf_of([CATALOG, *(b"%d 0 R" % (i + 3) for i in range(20_000)), b"<<>>"]),
    "references in a ring": lambda: pdf_of([CATALOG, b"3 0 R", b"2 0 R"]),
    "a length that is its own stream": lambda: page(b"<< /Length 5 0 R >>\nstream\nBT ET\nendstream"),
    "nineteen thousand objects in a stream": lambda: object_stream(19_000),
    "two thousand pages of one content": lambda: pdf_of([
        CATALOG, b"<< /Type /Pages /Kids [%b] /Count 2000 >>" % (b"3 0 R " * 2_000),
        b"<< /Type /Page /Contents 4 0 R >>", stream(SHOW * 40_000),
    ]),
}


class Cost:
    """Processor seconds, and the growth of the peak memory of the process, in a block. Only Linux reports the peak."""

    def __enter__(self) -> Cost:
        Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
        self.memory, self.began = _peak_megabytes(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self.began
        self.megabytes = _peak_megabytes() - self.memory


def _peak_megabytes() -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1_024


@pytest.mark.parametrize("name", sorted(PDFS))
def test_a_pdf_that_costs_more_than_it_weighs_ends_in_time(name: str) -> None:
    data = PDFS[name]()
    with Cost() as cost, limit_file_time(SECONDS):
        read = read_pdf(data)
    assert cost.seconds < 2 * SECONDS + 1
    assert cost.megabytes < MEGABYTES
    assert read is None or all(1 <= page.width <= 14_400 and 1 <= page.height <= 14_400 for page in read.pages)


def test_a_page_of_too_many_fonts_is_said_to_be_unread() -> None:
    read = read_pdf(fonts_that_share_a_table(3_000))
    assert read is not None
    assert not read.complete


HUGE = 2**31 - 1

PICTURES = {
    "png": png(1, 1)[:16] + struct.pack(">II", HUGE, HUGE) + png(1, 1)[24:],
    "tiff": b"II\x2a\x00\x08\x00\x00\x00\xff\xff" + struct.pack("<HHII", 256, 4, 1, HUGE) * 30_000,
    "tiff of 64 bits": b"II\x2b\x00\x08\x00\x00\x00" + struct.pack("<QQ", 16, 2**63) + bytes(100),
    "bmp": b"BM" + bytes(12) + struct.pack("<Iii", 40, -(2**31), -(2**31)) + bytes(30),
    "jpeg of fill bytes": b"\xff\xd8" + b"\xff" * 3_000_000,
    "jpeg of empty segments": b"\xff\xd8" + b"\xff\xe0\x00\x02" * 1_000_000,
    "heic of empty boxes": bytes(4) + b"ftypheic" + b"\x00\x00\x00\x08free" * 500_000,
}


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_a_picture_is_never_decoded_whatever_its_header_says(name: str) -> None:
    data = PICTURES[name]
    with Cost() as cost:
        size = image_size(data)
    assert cost.seconds < 0.5
    assert cost.megabytes < 20
    assert size is None or (size[0] > 0 and size[1] > 0)


def test_a_picture_of_two_billion_pixels_a_side_has_its_size() -> None:
    assert image_size(PICTURES["png"]) == (HUGE, HUGE)


ARCHIVES = {
    "a gigabyte of one letter": lambda: zipped(word__document_dot_xml="<w:t>" + "a" * 100_000_000),
    "elements a million deep": lambda: zipped(word__document_dot_xml="<a>" * 1_000_000),
    "a million attributes": lambda: zipped(word__document_dot_xml="<a " + 'b="" ' * 1_000_000 + "/>"),
    "entities of entities": lambda: zipped(word__document_dot_xml=(
        '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + "".join(
            f'<!ENTITY a{i} "{f"&a{i - 1 if i else str()};" * 10}">' for i in range(10)
        ) + "]><w:t>&a9;</w:t>"
    )),
    "an outside entity": lambda: zipped(word__document_dot_xml=(
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><w:p><w:t>&x;</w:t></w:p>'
    )),
    "cells of one long string": lambda: zipped(
        xl__workbook_dot_xml="<a/>", xl__sharedStrings_dot_xml=f"<sst><si><t>{'a' * 1_000_000}</t></si></sst>",
        xl__worksheets__sheet1_dot_xml=f"<r>{'<c t="s"><v>0</v></c>' * 100_000}</r>",
    ),
}


@pytest.mark.parametrize("name", sorted(ARCHIVES))
def test_an_archive_that_costs_more_than_it_weighs_is_refused(name: str) -> None:
    data = ARCHIVES[name]()
    with Cost() as cost:
        text = file_text(Media("file", "", data=data))
    assert cost.seconds < 2 * SECONDS + 1
    assert cost.megabytes < MEGABYTES
    assert not text or "root:" not in text
