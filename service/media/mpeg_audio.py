"""Counting the frames of MPEG audio (MP1, MP2, MP3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HERTZ = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
_KBPS = {  # (MPEG 1 or not, layer) -> kbit/s by index 1..14
    (True, 1): (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (True, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (True, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (False, 1): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (False, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (False, 3): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_SYNC = re.compile(rb"\xff[\xe2-\xe7\xf2-\xff][\x10-\xef]")
"""Three bytes that can begin a frame. The regex engine finds them, so that bytes which are no audio cost little."""


@dataclass(frozen=True, slots=True)
class _Frame:
    kind: tuple[int, int, int]
    """MPEG version bits, layer and sampling rate. They are equal in all frames of a file."""
    size: int
    samples: int


def _frame(data: bytes, at: int) -> _Frame | None:
    """The frame at `at`, or None where none begins there."""
    if at + 4 > len(data) or data[at] != 0xFF or data[at + 1] & 0xE0 != 0xE0:
        return None
    version, layer = (data[at + 1] >> 3) & 3, 4 - ((data[at + 1] >> 1) & 3)
    rate, hertz, pad = data[at + 2] >> 4, (data[at + 2] >> 2) & 3, (data[at + 2] >> 1) & 1
    if version == 1 or layer == 4 or rate in (0, 15) or hertz == 3:
        return None
    kbps, hz = _KBPS[version == 3, layer][rate - 1], _HERTZ[version][hertz]
    if layer == 1:
        return _Frame((version, layer, hz), (12_000 * kbps // hz + pad) * 4, 384)
    samples = 576 if layer == 3 and version != 3 else 1_152
    return _Frame((version, layer, hz), samples * kbps * 125 // hz + pad, samples)


def mpeg_samples(data: bytes, at: int) -> tuple[int, int, int] | None:
    """From `at` on: samples of all frames of sound, samples of the encoder's delay and padding, sampling rate. Or None.

    The frames are counted one by one, since the header of a file with a variable bit rate can be wrong.
    """
    kind: tuple[int, int, int] | None = None
    samples = trim = 0
    while found := _SYNC.search(data, at):
        at = found.start()
        frame = _frame(data, at)
        if frame is None or (kind and frame.kind != kind):
            at += 1
            continue
        if kind is None:
            if not _is_first(data, at, frame):
                at += 1
                continue
            kind = frame.kind
            delay = _encoder_delay(data[at : at + frame.size])
            if delay is not None:
                trim = delay
                at += frame.size
                continue
        samples += frame.samples
        at += frame.size
    return (samples, min(trim, samples), kind[2]) if kind else None


def _is_first(data: bytes, at: int, frame: _Frame) -> bool:
    """Whether `frame` is a frame, and not other bytes that look like one: it is whole, and another frame follows it."""
    end = at + frame.size
    following = _frame(data, end)
    return end <= len(data) and (end + 4 > len(data) or (following is not None and following.kind == frame.kind))


def _encoder_delay(frame: bytes) -> int | None:
    """Samples of delay and padding by a Xing or Info frame, 0 where it gives none. None for a frame of sound."""
    mark = max(frame.find(b"Xing", 0, 64), frame.find(b"Info", 0, 64))
    if mark < 0:
        return 0 if frame.find(b"VBRI", 0, 64) >= 0 else None
    flags = int.from_bytes(frame[mark + 4 : mark + 8], "big")
    encoder = mark + 8 + 4 * (flags & 1) + 4 * (flags >> 1 & 1) + 100 * (flags >> 2 & 1) + 4 * (flags >> 3 & 1)
    gap = int.from_bytes(frame[encoder + 21 : encoder + 24], "big")
    return (gap >> 12) + (gap & 0xFFF)
