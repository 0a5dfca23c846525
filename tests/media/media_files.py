"""Small real files, built byte by byte, so that what a reader must find in them is known by construction."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib


def png(width: int, height: int) -> bytes:
    """A grey PNG that decodes."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = zlib.compress(b"".join(b"\x00" + bytes(width) for _ in range(height)))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def jpeg_segment(marker: int, data: bytes) -> bytes:
    return bytes((0xFF, marker)) + struct.pack(">H", len(data) + 2) + data


def jpeg(width: int, height: int, *, marker: int = 0xC0, before: bytes = b"") -> bytes:
    """The headers of a JPEG up to its scan; `before` stands between the start and the frame header."""
    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"
    scan = jpeg_segment(0xDA, b"\x01\x01\x00\x00\x3f\x00")
    return b"\xff\xd8" + before + jpeg_segment(marker, frame) + scan + b"\xff\xd9"


def riff(kind: bytes, *chunks: tuple[bytes, bytes]) -> bytes:
    body = kind + b"".join(
        name + struct.pack("<I", len(data)) + data + b"\x00" * (len(data) & 1) for name, data in chunks
    )
    return b"RIFF" + struct.pack("<I", len(body)) + body


def wav(seconds: float, rate: int = 16_000, *, before: tuple[tuple[bytes, bytes], ...] = ()) -> bytes:
    """16-bit mono silence; `before` are chunks between the format and the sound."""
    form = struct.pack("<HHIIHH", 1, 1, rate, rate * 2, 2, 16)
    return riff(b"WAVE", (b"fmt ", form), *before, (b"data", bytes(2 * round(seconds * rate))))


def mp3(frames: int, *, delay: int | None = None, padding: int = 0, tag: bytes = b"") -> bytes:
    """MPEG 1 layer III, 44.1 kHz, 128 kbit/s (417 bytes and 1,152 samples a frame).

    With a `delay`, an Info frame that tells it and the padding stands in front.
    """
    head = b"\xff\xfb\x90\xc4"
    frame = head + bytes(413)
    info = b""
    if delay is not None:
        body = b"Info" + struct.pack(">I", 0) + b"LAME3.100" + bytes(12) + ((delay << 12) | padding).to_bytes(3, "big")
        info = (head + bytes(17) + body).ljust(417, b"\x00")
    return tag + info + frame * frames


def box(kind: bytes, *content: bytes) -> bytes:
    body = b"".join(content)
    return struct.pack(">I", len(body) + 8) + kind + body


def _header_box(kind: bytes, scale: int, length: int) -> bytes:
    return box(kind, struct.pack(">IIIII", 0, 0, 0, scale, length), bytes(80))


def mp4(seconds: float, *, sound: float | None = None, size: tuple[int, int] = (1_280, 720)) -> bytes:
    """The boxes of a film without its samples; `sound` is the length of its sound track."""
    def track(handler: bytes, length: float, width: int, height: int) -> bytes:
        header = box(b"tkhd", bytes(76), struct.pack(">II", width << 16, height << 16))
        length_box = _header_box(b"mdhd", 1_000, round(length * 1_000))
        return box(b"trak", header, box(b"mdia", length_box, box(b"hdlr", bytes(8), handler, bytes(12))))
    tracks = [track(b"vide", seconds, *size)] + ([track(b"soun", sound, 0, 0)] if sound is not None else [])
    movie = box(b"moov", _header_box(b"mvhd", 1_000, round(seconds * 1_000)), *tracks)
    return box(b"ftyp", b"isom", bytes(4)) + box(b"mdat", bytes(100)) + movie


def element(name: int, data: bytes) -> bytes:
    """A Matroska element with an 8-byte size."""
    raw = name.to_bytes((name.bit_length() + 7) // 8, "big")
    return raw + (len(data) | 1 << 56).to_bytes(8, "big") + data


def webm(seconds: float | None, *, sound: bool = True, last_cluster: int = 0) -> bytes:
    """The headers of a film of 640 x 360 px; without `seconds` only its last cluster tells the time (ms)."""
    info = element(0x2AD7B1, (1_000_000).to_bytes(3, "big"))
    if seconds is not None:
        info += element(0x4489, struct.pack(">d", seconds * 1_000))
    picture = element(0xE0, element(0xB0, (640).to_bytes(2, "big")) + element(0xBA, (360).to_bytes(2, "big")))
    tracks = element(0xAE, element(0x83, b"\x01") + picture)
    if sound:
        tracks += element(0xAE, element(0x83, b"\x02"))
    cluster = element(0x1F43B675, element(0xE7, last_cluster.to_bytes(4, "big")) + element(0xA3, bytes(10)))
    segment = element(0x1549A966, info) + element(0x1654AE6B, tracks) + cluster
    return element(0x1A45DFA3, element(0x4282, b"webm")) + element(0x18538067, segment)


def pdf(*pages: tuple[float, float, str], extra: str = "", compress: bool = False) -> bytes:
    """A PDF with one line of text a page; `extra` goes into every page dictionary (`/Rotate 90`)."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for width, height, text in pages:
        content = f"BT /F1 12 Tf 72 {height - 72} Td ({text}) Tj ET".encode("latin-1") if text else b""
        filters = b""
        if compress:
            content, filters = zlib.compress(content), b" /Filter /FlateDecode"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents {len(objects) + 2} 0 R {extra} "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        kids.append(f"{len(objects)} 0 R")
        objects.append(b"<< /Length %d%b >>\nstream\n%b\nendstream" % (len(content), filters, content))
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>".encode()
    return pdf_of(objects)


def pdf_of(objects: list[bytes]) -> bytes:
    """A PDF of numbered objects, the first being the catalog."""
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def zipped(**parts: str) -> bytes:
    """An archive; `__` in a name is a slash and `_dot_` a dot."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), text)
    return out.getvalue()


def docx(*paragraphs: str) -> bytes:
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    return zipped(word__document_dot_xml=f'<w:document xmlns:w="w"><w:body>{body}</w:body></w:document>')
