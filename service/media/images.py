"""Reading the size of an image from its header. No pixel is decoded and nothing is fetched.

The size is that of the stored pixels. Every provider that was measured bills by it. An EXIF orientation, which would
swap the sides, is not used.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from service.media.boxes import find_box, iterate_boxes

Size = tuple[int, int]

MAX_SEGMENTS = 20_000
"""JPEG segments or TIFF entries that are read. A real file has a few hundred at most."""


def image_size(data: bytes) -> Size | None:
    """Width and height in px of a PNG, JPEG, GIF, WebP, BMP, TIFF, HEIC, AVIF or ICO file. None where they are unknown.

    Never raises, whatever the bytes are. The time depends on the header and not on the picture.
    """
    for magic, read in _READERS:
        if magic.match(data):
            try:
                size = read(data)
            except (struct.error, IndexError):
                return None
            return size if size and size[0] > 0 and size[1] > 0 else None
    return None


def _png(data: bytes) -> Size | None:
    at = 8
    if data[12:16] == b"CgBI":  # Apple's variant has a chunk of its own in front
        at += 12 + int.from_bytes(data[8:12], "big")
    if data[at + 4 : at + 8] != b"IHDR":
        return None
    width, height = struct.unpack_from(">II", data, at + 8)
    return width, height


def _gif(data: bytes) -> Size | None:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


_NO_SIZE = frozenset((0xC4, 0xC8, 0xCC))
"""Markers from C0 to CF that are no frame header: Huffman tables, a reserved marker, arithmetic conditioning."""


def _jpeg(data: bytes) -> Size | None:
    at = 2
    for _ in range(MAX_SEGMENTS):
        at = data.find(b"\xff", at)
        if at < 0:
            return None
        while data[at] == 0xFF:  # any number of fill bytes may stand before a marker
            fill = _FILL.match(data, at)
            at = fill.end() if fill else at + 1
        marker = data[at]
        at += 1
        if 0xC0 <= marker <= 0xCF and marker not in _NO_SIZE:
            height, width = struct.unpack_from(">HH", data, at + 3)
            return width, height
        if marker in (0xD9, 0xDA):
            return None
        if marker in (0x00, 0x01) or 0xD0 <= marker <= 0xD8:
            continue
        at += int.from_bytes(data[at : at + 2], "big")
    return None


_FILL = re.compile(rb"\xff+")


def _webp(data: bytes) -> Size | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L" and data[20] == 0x2F:
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF  # the two high bits ask for upscaling
    return None


def _bmp(data: bytes) -> Size | None:
    if int.from_bytes(data[14:18], "little") == 12:  # the header of OS/2
        width, height = struct.unpack_from("<HH", data, 18)
        return width, height
    width, height = struct.unpack_from("<ii", data, 18)
    return width, abs(height)  # a negative height means top row first


def _tiff(data: bytes) -> Size | None:
    order: str = "<" if data[:2] == b"II" else ">"
    big = struct.unpack_from(f"{order}H", data, 2)[0] == 43
    (directory,) = struct.unpack_from(f"{order}{'Q' if big else 'I'}", data, 8 if big else 4)
    if directory >= len(data):
        return None
    (entries,) = struct.unpack_from(f"{order}{'Q' if big else 'H'}", data, directory)
    first, step, at_value = (directory + 8, 20, 12) if big else (directory + 2, 12, 8)
    sides: dict[int, int] = {}
    for i in range(min(entries, MAX_SEGMENTS)):
        tag, kind = struct.unpack_from(f"{order}HH", data, first + i * step)
        if tag in (256, 257):
            form = {3: "H", 4: "I", 16: "Q"}.get(kind)
            if form is None:
                return None
            (sides[tag],) = struct.unpack_from(order + form, data, first + i * step + at_value)
        if len(sides) == 2:
            return sides[256], sides[257]
    return None


def _heif(data: bytes) -> Size | None:
    """The largest `ispe` box. A picture that is made of tiles also lists the sizes of the tiles and of a thumbnail."""
    meta = find_box(data, (b"meta",))
    properties = meta and find_box(data, (b"iprp", b"ipco"), meta[0] + 4, meta[1])
    if not properties:
        return None
    sizes = [
        struct.unpack_from(">II", data, start + 4)
        for kind, start, _ in iterate_boxes(data, *properties)
        if kind == b"ispe"
    ]
    return max(((w, h) for w, h in sizes), key=lambda size: size[0] * size[1], default=None)


def _ico(data: bytes) -> Size | None:
    """The size of the largest picture. A side of 0 means 256 px."""
    (count,) = struct.unpack_from("<H", data, 4)
    sizes = [(data[at] or 256, data[at + 1] or 256) for at in range(6, min(6 + 16 * count, len(data) - 15), 16)]
    return max(sizes, key=lambda size: size[0] * size[1], default=None)


_READERS: tuple[tuple[re.Pattern[bytes], Callable[[bytes], Size | None]], ...] = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), _png),
    (re.compile(rb"\xff\xd8"), _jpeg),
    (re.compile(rb"GIF8[79]a"), _gif),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), _webp),
    (re.compile(rb"BM"), _bmp),
    (re.compile(rb"II[\x2a\x2b]\x00|MM\x00[\x2a\x2b]"), _tiff),
    (re.compile(rb".{4}ftyp(avi[fs]|hei[cfsxm]|hev[cxms]|mif[12]|msf1|mia[fa])", re.DOTALL), _heif),
    (re.compile(rb"\x00\x00\x01\x00[^\x00].|\x00\x00\x01\x00\x00[^\x00]", re.DOTALL), _ico),
)
