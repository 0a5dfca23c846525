"""Finding the boxes of ISO base media files (MP4, MOV, M4A, HEIC, AVIF) without trusting their sizes."""

from __future__ import annotations

from collections.abc import Iterator

MAX_BOXES = 4_096
"""Boxes that are read on one level. Most files have a few dozen, fragmented ones a few thousand."""


def iterate_boxes(data: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[bytes, int, int]]:
    """Type, start and end of the content of each box in `data[start:end]`, in order. Stops at a broken box."""
    end = len(data) if end is None else min(end, len(data))
    for _ in range(MAX_BOXES):
        if start + 8 > end:
            return
        size, head = int.from_bytes(data[start : start + 4], "big"), 8
        if size == 1:
            size, head = int.from_bytes(data[start + 8 : start + 16], "big"), 16
        elif size == 0:
            size = end - start
        if size < head:
            return
        yield data[start + 4 : start + 8], min(start + head, end), min(start + size, end)
        start += size


def find_box(data: bytes, path: tuple[bytes, ...], start: int = 0, end: int | None = None) -> tuple[int, int] | None:
    """Start and end of the content of the first box at `path`, such as `(b"moov", b"mvhd")`, or None."""
    for name in path:
        found = next(((a, b) for kind, a, b in iterate_boxes(data, start, end) if kind == name), None)
        if found is None:
            return None
        start, end = found
    return start, len(data) if end is None else end
