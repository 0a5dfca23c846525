"""Lengths of recordings from their frames and headers."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.media.recordings import MAX_SECONDS, AudioLength, Video, audio_length, read_video, video_seconds
from tests.media.media_files import box, mp3, mp4, riff, wav, webm

FRAME = 1_152 / 44_100
ID3 = b"ID3\x04\x00\x00\x00\x00\x01\x00" + b"\xff\xfb\x90\xc4" * 32
"""A tag of 128 bytes whose content looks like frames."""


def played(data: bytes, mime: str = "") -> float | None:
    length = audio_length(data, mime)
    return length.played_seconds if length else None


def test_mp3_frames_are_counted_one_by_one() -> None:
    assert audio_length(mp3(100)) == AudioLength(115_200 / 44_100, 115_200 / 44_100)


def test_the_info_frame_is_not_sound_and_tells_what_to_trim() -> None:
    length = audio_length(mp3(100, delay=576, padding=1_000))
    assert length == AudioLength(115_200 / 44_100, (115_200 - 1_576) / 44_100)


def test_tags_around_the_frames_are_no_sound() -> None:
    assert played(mp3(50, tag=ID3) + b"TAG" + bytes(125)) == pytest.approx(50 * FRAME)


def test_rubbish_before_the_first_frame_is_skipped() -> None:
    assert played(mp3(50, tag=b"\xff\xfb\x90rubbish\xff\xf3\x10\x00")) == pytest.approx(50 * FRAME)


@pytest.mark.parametrize(("head", "size", "samples", "rate"), [
    pytest.param(b"\xff\xfb\x90\xc4", 417, 1_152, 44_100, id="mpeg1-layer3"),
    pytest.param(b"\xff\xf3\x84\xc4", 192, 576, 24_000, id="mpeg2-layer3"),
    pytest.param(b"\xff\xe3\x48\xc4", 288, 576, 8_000, id="mpeg2.5-layer3"),
    pytest.param(b"\xff\xfd\x84\xc4", 384, 1_152, 48_000, id="mpeg1-layer2"),
    pytest.param(b"\xff\xff\x44\xc4", 128, 384, 48_000, id="mpeg1-layer1"),
])
def test_every_mpeg_version_and_layer(head: bytes, size: int, samples: int, rate: int) -> None:
    assert played((head + bytes(size - 4)) * 20) == pytest.approx(20 * samples / rate)


def test_wav_by_its_chunks() -> None:
    assert played(wav(2.5)) == 2.5
    assert played(wav(2.5, before=((b"LIST", b"INFO" + bytes(41)), (b"bext", bytes(10))))) == 2.5


def test_a_streamed_wav_lasts_to_the_end_of_its_bytes() -> None:
    whole = wav(2.5)
    at = whole.index(b"data") + 4
    for size in (b"\xff\xff\xff\xff", b"\x00\x00\x00\x00"):
        assert played(whole[:at] + size + whole[at + 4 :]) == 2.5


def test_aiff() -> None:
    common = struct.pack(">hIhHQ", 1, 88_200, 16, 16_383 + 15, 44_100 << 48)
    body = b"AIFFCOMM" + struct.pack(">I", len(common)) + common
    assert played(b"FORM" + struct.pack(">I", len(body)) + body) == 2.0


def test_flac_by_its_stream_info() -> None:
    info = bytes(10) + (44_100 << 44 | 1 << 41 | 15 << 36 | 132_300).to_bytes(8, "big") + bytes(16)
    assert played(b"fLaC\x80\x00\x00\x22" + info) == 3.0


def ogg_page(position: int, packet: bytes) -> bytes:
    return b"OggS\x00\x02" + struct.pack("<qIII", position, 7, 0, 0) + bytes((1, len(packet))) + packet


def test_ogg_by_its_last_page() -> None:
    opus = b"OpusHead\x01\x02" + struct.pack("<HI", 312, 44_100) + bytes(3)
    vorbis = b"\x01vorbis" + bytes(5) + struct.pack("<I", 44_100) + bytes(14)
    assert audio_length(ogg_page(0, opus) + ogg_page(48_312, bytes(9))) == AudioLength(48_312 / 48_000, 1.0)
    assert played(ogg_page(0, vorbis) + ogg_page(88_200, bytes(9)) + ogg_page(-1, b"")) == 2.0


def test_aac_frames() -> None:
    frame = b"\xff\xf1" + bytes((0x50, 0x80, 0x02, 0x1F, 0xFC)) + bytes(9)
    assert played(frame * 43) == pytest.approx(43 * 1_024 / 44_100)


def test_headerless_pcm_by_its_mime_type() -> None:
    assert played(bytes(48_000), "audio/L16;rate=16000") == 1.5
    assert played(bytes(96_000), "audio/pcm; rate=24000; channels=2") == 1.0
    assert played(bytes(48_000), "audio/unheard-of") is None


def test_film_tells_length_sound_and_size() -> None:
    assert read_video(mp4(10.027, sound=10.0)) == Video(10.027, 10.0, (1_280, 720))
    assert read_video(mp4(1.305, size=(720, 1_280))) == Video(1.305, None, (720, 1_280))
    assert read_video(webm(13.347)) == Video(13.347, 13.347, (640, 360))
    assert read_video(webm(4.0, sound=False)) == Video(4.0, None, (640, 360))


def test_live_webm_has_the_time_of_its_last_cluster() -> None:
    assert video_seconds(webm(None, last_cluster=7_250)) == 7.25


def test_avi() -> None:
    header = struct.pack("<10I", 40_000, 0, 0, 0, 250, 0, 2, 0, 320, 240) + bytes(16)
    lists = riff(b"AVI ", (b"LIST", b"hdrl" + b"avih" + struct.pack("<I", len(header)) + header))
    assert read_video(lists) == Video(10.0, None, (320, 240))


def test_sound_of_m4a_is_its_track_and_the_presentation_is_trimmed() -> None:
    assert audio_length(mp4(9.95, sound=10.0)) == AudioLength(10.0, 9.95)


@pytest.mark.parametrize("data", [
    b"", b"RIFF", b"ID3", wav(1)[:30], b"fLaC", b"OggS" + bytes(30), b"\xff\xfb\x90\xc4", b"hello", bytes(2_000),
    box(b"ftyp", b"isom"), b"\x1a\x45\xdf\xa3\x80", b"\xff\xf1\x50",
])
def test_nothing_is_made_up(data: bytes) -> None:
    assert audio_length(data) is None
    assert read_video(data) is None


def test_an_incredible_length_is_not_believed() -> None:
    assert video_seconds(webm(2 * MAX_SECONDS)) is None
    assert video_seconds(mp4(2 * MAX_SECONDS)) is None
    one_byte_a_second = bytes(8) + struct.pack("<I", 1) + bytes(4)
    assert played(riff(b"WAVE", (b"fmt ", one_byte_a_second), (b"data", bytes(2_000_000)))) is None


MAGICS = [
    b"", b"RIFF\0\0\0\0WAVEfmt ", b"RIFF\0\0\0\0AVI LISTavih", b"ID3\4\0\0\0\0\0\0", b"fLaC", b"OggS\0\2",
    b"\xff\xfb\x90\xc4", b"\xff\xf1\x50\x80", b"\0\0\0\x10ftypisom\0\0\0\0", b"\x1a\x45\xdf\xa3",
    b"FORM\0\0\0\0AIFFCOMM", mp4(3, sound=3)[:200], webm(3)[:60],
]


@given(st.sampled_from(MAGICS), st.binary(max_size=600))
def test_any_bytes_give_a_length_or_none(magic: bytes, rest: bytes) -> None:
    for seconds in (played(magic + rest), video_seconds(magic + rest)):
        assert seconds is None or 0 <= seconds <= MAX_SECONDS


@pytest.mark.parametrize("data", [
    b"\xff" * 4_000_000,
    b"\xff\xfb\x90" * 1_000_000,
    b"\xff\xe3\x18\xc4" * 1_000_000,
    riff(b"WAVE") + bytes(4_000_000),
    box(b"ftyp", b"isom") + box(b"free") * 500_000,
    b"\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff" + b"\xec\x80" * 2_000_000,
    b"OggS" * 1_000_000,
], ids=["ones", "syncs", "frames", "chunks", "boxes", "elements", "pages"])
def test_hostile_bytes_are_given_up_soon(data: bytes) -> None:
    length = audio_length(data)
    assert length is None or length.played_seconds <= MAX_SECONDS
    assert read_video(data) is None
