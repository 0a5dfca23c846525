"""Sizes of images from their headers."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.media.images import image_size
from tests.media.media_files import box, jpeg, jpeg_segment, png, riff

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""The 1x1 PNG of countless test suites."""


def heif(brand: bytes, *sizes: tuple[int, int]) -> bytes:
    properties = b"".join(box(b"ispe", bytes(4), struct.pack(">II", *size)) for size in sizes)
    return box(b"ftyp", brand, bytes(4)) + box(b"meta", bytes(4), box(b"iprp", box(b"ipco", properties)))


def tiff(order: str, width: int, height: int, form: str = "H") -> bytes:
    kind = {"H": 3, "I": 4}[form]
    entries = [(254, 4, 0, "I"), (256, kind, width, form), (257, kind, height, form)]
    body = b"".join(
        struct.pack(f"{order}HHI", tag, kind, 1) + struct.pack(order + form, value).ljust(4, b"\x00")
        for tag, kind, value, form in entries
    )
    mark = b"II" if order == "<" else b"MM"
    return mark + struct.pack(f"{order}HI", 42, 8) + struct.pack(f"{order}H", len(entries)) + body + bytes(4)


VP8 = b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", 550 | 0x4000, 368)
VP8L = b"\x2f" + struct.pack("<I", (550 - 1) | (368 - 1) << 14)
VP8X = b"\x10\x00\x00\x00" + (550 - 1).to_bytes(3, "little") + (368 - 1).to_bytes(3, "little")
BMP = b"BM" + bytes(12) + struct.pack("<Iii", 40, 550, -368)
OLD_BMP = b"BM" + bytes(12) + struct.pack("<IHH", 12, 550, 368)
ICO = struct.pack("<HHH", 0, 1, 2) + bytes((16, 16)) + bytes(14) + bytes((0, 0)) + bytes(14)
APPLE_PNG = PIXEL[:8] + b"\x00\x00\x00\x04CgBI" + bytes(8) + png(550, 368)[8:]
BIG_TIFF = b"II" + struct.pack("<HHHQ", 43, 8, 0, 16) + struct.pack("<Q", 2) + b"".join(
    struct.pack("<HHQQ", tag, 4, 1, value) for tag, value in ((256, 550), (257, 368))
)
THUMBNAIL = jpeg_segment(0xE1, b"Exif\x00\x00" + jpeg(160, 120))


@pytest.mark.parametrize(("data", "size"), [
    pytest.param(PIXEL, (1, 1), id="png-pixel"),
    pytest.param(png(550, 368), (550, 368), id="png"),
    pytest.param(APPLE_PNG, (550, 368), id="png-apple"),
    pytest.param(b"GIF89a" + struct.pack("<HH", 550, 368), (550, 368), id="gif"),
    pytest.param(riff(b"WEBP", (b"VP8 ", VP8)), (550, 368), id="webp-lossy-without-scale-bits"),
    pytest.param(riff(b"WEBP", (b"VP8L", VP8L)), (550, 368), id="webp-lossless"),
    pytest.param(riff(b"WEBP", (b"VP8X", VP8X)), (550, 368), id="webp-extended"),
    pytest.param(BMP, (550, 368), id="bmp-top-down"),
    pytest.param(OLD_BMP, (550, 368), id="bmp-os2"),
    pytest.param(tiff("<", 550, 368), (550, 368), id="tiff-little"),
    pytest.param(tiff(">", 550, 368), (550, 368), id="tiff-big"),
    pytest.param(tiff(">", 70_000, 368, "I"), (70_000, 368), id="tiff-long"),
    pytest.param(BIG_TIFF, (550, 368), id="bigtiff"),
    pytest.param(heif(b"avif", (550, 368)), (550, 368), id="avif"),
    pytest.param(heif(b"heic", (512, 512), (4_032, 3_024), (320, 240)), (4_032, 3_024), id="heic-of-tiles"),
    pytest.param(ICO, (256, 256), id="ico-largest"),
    pytest.param(jpeg(550, 368), (550, 368), id="jpeg"),
    pytest.param(jpeg(550, 368, before=THUMBNAIL), (550, 368), id="jpeg-thumbnail-is-skipped"),
    pytest.param(jpeg(550, 368, before=b"\xff\xff\xff"), (550, 368), id="jpeg-fill-bytes"),
    pytest.param(jpeg(550, 368, before=b"rubbish\x00"), (550, 368), id="jpeg-rubbish-between"),
])
def test_size_is_read_from_the_header(data: bytes, size: tuple[int, int]) -> None:
    assert image_size(data) == size


@pytest.mark.parametrize("marker", [m for m in range(0xC0, 0xD0) if m not in (0xC4, 0xC8, 0xCC)])
def test_every_kind_of_jpeg_frame_tells_its_size(marker: int) -> None:
    tables = jpeg_segment(0xC4, bytes(20)) + jpeg_segment(0xCC, b"\x00\x10")
    assert image_size(jpeg(1_001, 77, marker=marker, before=tables)) == (1_001, 77)


@pytest.mark.parametrize("data", [
    b"", b"\x89PNG\r\n\x1a\n", PIXEL[:20], b"\xff\xd8", b"\xff\xd8\xff", b"GIF89a\x01", b"not an image", b"%PDF-1.4",
    jpeg(550, 0), png(1, 1)[:16] + bytes(8), b"\xff\xd8\xff\xda\x00\x02" + jpeg(5, 5), heif(b"avif"), b"BM" + bytes(30),
    riff(b"WAVE"),
])
def test_nothing_is_made_up_where_the_header_is_silent(data: bytes) -> None:
    assert image_size(data) is None


MAGICS = [
    b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8 ", b"BM", b"II*\0\x08\0\0\0", b"MM\0+",
    b"\0\0\0\x18ftypavif", b"\0\0\1\0\1\0",
]


@given(st.sampled_from(MAGICS), st.binary(max_size=400))
def test_any_bytes_give_a_size_or_none(magic: bytes, rest: bytes) -> None:
    size = image_size(magic + rest)
    assert size is None or (size[0] > 0 and size[1] > 0)


@pytest.mark.parametrize("data", [
    b"\xff\xd8" + b"\xff" * 4_000_000,
    b"\xff\xd8" + b"\xff\x01" * 2_000_000,
    b"\xff\xd8" + b"\x00" * 4_000_000,
    b"II*\0\x08\0\0\0\xff\xff" + bytes(4_000_000),
    box(b"ftyp", b"avif", bytes(4)) + box(b"meta", bytes(4), box(b"iprp", box(b"ipco", (box(b"free")) * 500_000))),
])
def test_a_hostile_header_is_given_up_soon(data: bytes) -> None:
    assert image_size(data) is None
