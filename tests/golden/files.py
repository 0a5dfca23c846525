"""Small files for requests, built byte by byte, and their base64."""

from __future__ import annotations

import base64
import struct
import zlib


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    def segment(marker: int, data: bytes) -> bytes:
        return bytes((0xFF, marker)) + struct.pack(">H", len(data) + 2) + data

    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8" + segment(0xC0, frame) + segment(0xDA, b"\x01\x01\x00\x00\x3f\x00") + b"\xff\xd9"


def wav(seconds: float) -> bytes:
    """Silence, 8,000 samples a second of one byte."""
    sound = bytes(round(seconds * 8_000))
    form = struct.pack("<HHIIHH", 1, 1, 8_000, 8_000, 1, 8)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(sound)) + sound
    return b"RIFF" + struct.pack("<I", len(body)) + body


def pdf(pages: int) -> bytes:
    """Pages of US letter with one line of text each, and no cross-reference table."""
    kids = " ".join(f"{3 + 2 * i} 0 R" for i in range(pages))
    parts = [
        "%PDF-1.4", "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj",
        f"2 0 obj<</Type/Pages/Kids[{kids}]/Count {pages}/MediaBox[0 0 612 792]>>endobj",
    ]
    for i in range(pages):
        text = f"BT /F1 12 Tf 72 720 Td (Page {i + 1} of the report.) Tj ET"
        parts.append(f"{3 + 2 * i} 0 obj<</Type/Page/Parent 2 0 R/Contents {4 + 2 * i} 0 R>>endobj")
        parts.append(f"{4 + 2 * i} 0 obj<</Length {len(text)}>>stream\n{text}\nendstream endobj")
    return "\n".join([*parts, "trailer<</Root 1 0 R>>", "%%EOF"]).encode()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


PNG, JPEG, WAV, PDF = b64(png(320, 200)), b64(jpeg(1_024, 768)), b64(wav(0.5)), b64(pdf(2))
