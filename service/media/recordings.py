"""Reading the length of a recording from its frames and headers. No sound or picture is decoded."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass

from service.media.boxes import find_box, iterate_boxes
from service.media.matroska import read_matroska
from service.media.mpeg_audio import mpeg_samples

MAX_CHUNKS = 10_000
"""RIFF or IFF chunks that are read. A real file has a dozen."""

MAX_SECONDS = 1_000_000.0
"""Eleven days. A header with more is taken for wrong: no provider accepts more than a few hours."""


@dataclass(frozen=True, slots=True)
class AudioLength:
    """Seconds of sound.

    `played_seconds` is all coded sound. In an MP3 these are all frames but the Xing or Info frame, which holds no
    sound. `trimmed_seconds` is that without the delay and the padding of the encoder, where the file gives them.
    """

    played_seconds: float
    trimmed_seconds: float


@dataclass(frozen=True, slots=True)
class Video:
    """A video: its `seconds`, the `sound_seconds` of its sound track or None, and its `size` in px or None."""

    seconds: float
    sound_seconds: float | None = None
    size: tuple[int, int] | None = None


def audio_length(data: bytes, mime: str = "") -> AudioLength | None:
    """The length of MP3, WAV, AIFF, FLAC, Ogg (Vorbis, Opus), AAC, M4A or WebM sound. None where it is unknown.

    `mime` is used only for PCM without a header (`audio/L16;rate=24000`, `audio/pcm`), which does not give its rate.
    Never raises. The time is linear in the bytes.
    """
    try:
        read = next((read for magic, read in _AUDIO if magic.match(data)), None)
        length = read(data) if read else _pcm(data, mime.lower()) or _mpeg(data)
    except (struct.error, IndexError, OverflowError):
        return None
    return length if length and 0 <= length.played_seconds <= MAX_SECONDS else None


def read_video(data: bytes) -> Video | None:
    """Length, sound and picture size of an MP4, MOV, 3GP, WebM, MKV or AVI file. None where the length is unknown."""
    read = _mkv if data[:4] == b"\x1a\x45\xdf\xa3" else _avi if data[:4] == b"RIFF" else _mp4
    try:
        video = read(data)
    except (struct.error, IndexError, OverflowError):
        return None
    return video if video and 0 < video.seconds <= MAX_SECONDS and (video.sound_seconds or 0) <= MAX_SECONDS else None


def video_seconds(data: bytes) -> float | None:
    """Seconds of a video, or None where they are unknown."""
    video = read_video(data)
    return video.seconds if video else None


# ---------------------------------------------------------------- PCM in chunks


def _untrimmed(seconds: float) -> AudioLength:
    return AudioLength(seconds, seconds)


def _pcm(data: bytes, mime: str) -> AudioLength | None:
    if not re.match(r"audio/(x-)?(l16|pcm|raw)\b", mime):
        return None
    rate = re.search(r"rate=(\d{1,7})", mime)
    channels = re.search(r"channels=(\d{1,3})", mime)
    per_second = 2 * (int(rate[1]) if rate else 24_000) * (int(channels[1]) if channels else 1)
    return _untrimmed(len(data) / per_second) if per_second else None


def _wav(data: bytes) -> AudioLength | None:
    """A streamed file has 0 or 0xFFFFFFFF as the size of its sound, which then reaches to the end of the bytes."""
    at, per_second = 12, 0
    for _ in range(MAX_CHUNKS):
        kind, size = struct.unpack_from("<4sI", data, at)
        at += 8
        if kind == b"fmt ":
            (per_second,) = struct.unpack_from("<I", data, at + 8)
        elif kind == b"data":
            here = len(data) - at
            return _untrimmed((min(size, here) or here) / per_second) if per_second else None
        at += size + (size & 1)
    return None


def _aiff(data: bytes) -> AudioLength | None:
    at = 12
    for _ in range(MAX_CHUNKS):
        kind, size = struct.unpack_from(">4sI", data, at)
        if kind == b"COMM":
            frames, exponent, mantissa = struct.unpack_from(">2xI2xHQ", data, at + 8)
            power = (exponent & 0x7FFF) - 16_446  # the rate is an 80-bit float
            rate = mantissa * 2.0**power if -128 < power < 128 else 0.0
            return _untrimmed(frames / rate) if rate else None
        at += 8 + size + (size & 1)
    return None


# ---------------------------------------------------------------- frames and containers


def _mpeg(data: bytes, at: int = 0) -> AudioLength | None:
    found = mpeg_samples(data, at)
    if not found:
        return None
    samples, trim, hertz = found
    return AudioLength(samples / hertz, (samples - trim) / hertz)


def _id3(data: bytes) -> AudioLength | None:
    """A file that begins with an ID3 tag, after which FLAC, AAC or MPEG audio follows."""
    length = 10 + sum((data[6 + i] & 0x7F) << (21 - 7 * i) for i in range(4))
    if data[length : length + 4] == b"fLaC":
        return _flac(data[length : length + 64])
    if data[length : length + 1] == b"\xff" and data[length + 1] & 0xF6 == 0xF0:
        return _adts(data, length)
    return _mpeg(data, length)


_AAC_HERTZ = (96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350)


def _adts(data: bytes, at: int = 0) -> AudioLength | None:
    frames = hertz = 0
    while at + 7 <= len(data) and data[at] == 0xFF and data[at + 1] & 0xF6 == 0xF0:
        hertz = _AAC_HERTZ[data[at + 2] >> 2 & 15]
        size = (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5
        if size < 7:
            break
        frames += 1 + (data[at + 6] & 3)
        at += size
    return _untrimmed(frames * 1_024 / hertz) if hertz else None


def _flac(data: bytes) -> AudioLength | None:
    bits = int.from_bytes(data[18:26], "big")
    hertz, samples = bits >> 44, bits & (1 << 36) - 1
    return _untrimmed(samples / hertz) if hertz and samples else None


def _ogg(data: bytes) -> AudioLength | None:
    """The length by the last page, which gives the position of the last sample. For Opus that includes the pre-skip, at
    48 kHz."""
    packet = 27 + data[26]
    skip = 0
    if data[packet : packet + 8] == b"OpusHead":
        skip, hertz = struct.unpack_from("<H", data, packet + 10)[0], 48_000
    elif data[packet : packet + 7] == b"\x01vorbis":
        (hertz,) = struct.unpack_from("<I", data, packet + 12)
    else:
        return None
    at = len(data)
    for _ in range(64):  # pages of other streams, and other bytes, may follow
        at = data.rfind(b"OggS", 0, at)
        if at < 0 or len(data) < at + 27:
            return None
        (position,) = struct.unpack_from("<q", data, at + 6)
        if data[at + 14 : at + 18] == data[14:18] and position > 0 and hertz:
            return AudioLength(position / hertz, max(0, position - skip) / hertz)
    return None


def _duration(data: bytes, box: tuple[int, int] | None) -> float | None:
    """Seconds in an `mvhd` or `mdhd` box, or None where they are 0 or unknown."""
    if not box:
        return None
    long = data[box[0]] == 1
    scale, length = struct.unpack_from(">IQ" if long else ">II", data, box[0] + (20 if long else 12))
    unknown = (1 << (64 if long else 32)) - 1
    return length / scale if scale and length and length != unknown else None


def _mp4(data: bytes) -> Video | None:
    movie = find_box(data, (b"moov",))
    if not movie:
        return None
    header = find_box(data, (b"mvhd",), *movie)
    seconds, sound, size = _duration(data, header), None, None
    for kind, start, end in iterate_boxes(data, *movie):
        if kind != b"trak":
            continue
        handler = find_box(data, (b"mdia", b"hdlr"), start, end)
        name = data[handler[0] + 8 : handler[0] + 12] if handler else b""
        length = _duration(data, find_box(data, (b"mdia", b"mdhd"), start, end))
        track = find_box(data, (b"tkhd",), start, end)
        if name == b"soun":
            sound = max(sound or 0.0, length or 0.0)
        elif name == b"vide" and track and track[1] - track[0] >= 8:
            width, height = struct.unpack_from(">II", data, track[1] - 8)
            size = (width >> 16, height >> 16) if width >> 16 and height >> 16 else size
        seconds = seconds or length
    extended = find_box(data, (b"mvex", b"mehd"), *movie)
    if not seconds and header and extended:  # in a fragmented file the movie header gives no length
        (scale,) = struct.unpack_from(">I", data, header[0] + (20 if data[header[0]] == 1 else 12))
        (length,) = struct.unpack_from(">Q" if data[extended[0]] == 1 else ">I", data, extended[0] + 4)
        seconds = length / scale if scale else None
    return Video(seconds, sound, size) if seconds else None


def _mkv(data: bytes) -> Video | None:
    seconds, sound, size = read_matroska(data)
    return Video(seconds, seconds if sound else None, size) if seconds else None


def _avi(data: bytes) -> Video | None:
    at = data.find(b"avih", 0, 4_096)
    if at < 0 or data[8:12] != b"AVI ":
        return None
    per_frame, frames, width, height = struct.unpack_from("<I12xI12xII", data, at + 8)
    seconds = per_frame * frames / 1e6
    sound = data.find(b"auds", 0, 65_536) >= 0
    return Video(seconds, seconds if sound else None, (width, height)) if seconds else None


def _read_sound_of_video(data: bytes) -> AudioLength | None:
    """Sound in a container for video. The track has all of it, the movie header leaves the delay out."""
    video = read_video(data)
    if not video:
        return None
    played = video.sound_seconds or video.seconds
    return AudioLength(played, min(played, video.seconds))


_AUDIO: tuple[tuple[re.Pattern[bytes], Callable[[bytes], AudioLength | None]], ...] = (
    (re.compile(rb"R(IFF|F64).{4}WAVE", re.DOTALL), _wav),
    (re.compile(rb"FORM.{4}AIF[FC]", re.DOTALL), _aiff),
    (re.compile(rb"fLaC"), _flac),
    (re.compile(rb"OggS"), _ogg),
    (re.compile(rb"ID3.{7}", re.DOTALL), _id3),
    (re.compile(rb".{4}ftyp", re.DOTALL), _read_sound_of_video),
    (re.compile(rb"\x1a\x45\xdf\xa3"), _read_sound_of_video),
    (re.compile(rb"\xff[\xf0\xf1\xf8\xf9]"), _adts),
)
