"""Reading length, sound and picture size of Matroska and WebM files from their headers."""

from __future__ import annotations

import struct
from collections.abc import Iterator

MAX_ELEMENTS = 20_000
"""Elements that are read on one level. A video of several hours has a few thousand clusters."""

_SEGMENT, _INFO, _TRACKS, _CLUSTER = 0x18538067, 0x1549A966, 0x1654AE6B, 0x1F43B675
_SCALE, _DURATION, _TRACK, _TRACK_TYPE = 0x2AD7B1, 0x4489, 0xAE, 0x83
_VIDEO, _WIDTH, _HEIGHT, _TIME = 0xE0, 0xB0, 0xBA, 0xE7
_SOUND_TRACK = 2


def _number(data: bytes, at: int, keep_marker: bool) -> tuple[int, int]:
    """Value and length of a variable-length number. An unknown size is -1. Raises IndexError at the end of the data."""
    first = data[at]
    length = 9 - first.bit_length()
    if length > 8:
        raise IndexError
    raw = int.from_bytes(data[at : at + length], "big")
    if keep_marker:
        return raw, length
    value = raw & (1 << 7 * length) - 1
    return (-1 if value == (1 << 7 * length) - 1 else value), length


def _elements(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Id, start and end of the elements in `data[start:end]`. An element of unknown size reaches to `end`."""
    for _ in range(MAX_ELEMENTS):
        if start >= end:
            return
        name, length = _number(data, start, keep_marker=True)
        start += length
        size, length = _number(data, start, keep_marker=False)
        start += length
        stop = end if size < 0 else min(start + size, end)
        yield name, start, stop
        start = stop


def _integer(data: bytes, start: int, end: int) -> int:
    return int.from_bytes(data[start : min(end, start + 8)], "big")


def read_matroska(data: bytes) -> tuple[float | None, bool, tuple[int, int] | None]:
    """Seconds or None, whether there is sound, and the picture size or None.

    A live recording gives no duration. Then the time of its last cluster is used. Raises IndexError or struct.error for
    broken bytes.
    """
    scale, length = 1_000_000, 0.0
    sound, size = False, None
    segment = next(((a, b) for name, a, b in _elements(data, 0, len(data)) if name == _SEGMENT), None)
    if segment is None:
        return None, False, None
    for name, start, end in _elements(data, *segment):
        if name == _CLUSTER:
            break
        for kind, a, b in _elements(data, start, end) if name in (_INFO, _TRACKS) else ():
            if kind == _SCALE:
                scale = _integer(data, a, b)
            elif kind == _DURATION:
                length = struct.unpack(">d" if b - a == 8 else ">f", data[a:b])[0]
            elif kind == _TRACK:
                has_sound, picture = _track(data, a, b)
                sound, size = sound or has_sound, size or picture
    if not 0 < length < 1e12:
        length = float(_last_cluster(data))
    return (length * scale / 1e9 if length else None), sound, size


def _track(data: bytes, start: int, end: int) -> tuple[bool, tuple[int, int] | None]:
    sound, size = False, None
    for name, a, b in _elements(data, start, end):
        if name == _TRACK_TYPE:
            sound = _integer(data, a, b) == _SOUND_TRACK
        elif name == _VIDEO:
            sides = {kind: _integer(data, x, y) for kind, x, y in _elements(data, a, b) if kind in (_WIDTH, _HEIGHT)}
            size = (sides[_WIDTH], sides[_HEIGHT]) if len(sides) == 2 else None
    return sound, size


def _last_cluster(data: bytes) -> int:
    at = data.rfind(_CLUSTER.to_bytes(4, "big"))
    if at < 0:
        return 0
    _, length = _number(data, at + 4, keep_marker=False)
    first = next(_elements(data, at + 4 + length, len(data)), None)
    return _integer(data, first[1], first[2]) if first and first[0] == _TIME else 0
