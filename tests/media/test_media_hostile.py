"""Files written by other programs: read right when whole, survived when cut or changed.

The pictures were encoded by Pillow, the PDF by fpdf2; the recordings and archives are built here.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.media.documents import Page, file_text, read_pdf
from service.media.images import image_size
from service.media.recordings import MAX_SECONDS, audio_length, read_video
from service.types import Media
from tests.media.media_files import docx, mp3, mp4, wav, webm

FIXTURES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "media.json").read_text("utf-8")
)["files"]
FILES = {name: base64.b64decode(fixture["data"]) for name, fixture in FIXTURES.items()}
PICTURES = sorted(name for name, fixture in FIXTURES.items() if "size" in fixture)

EVERY = {
    **FILES, "mp3": mp3(4, delay=576, padding=100, tag=b"ID3\x04\x00\x00\x00\x00\x00\x05hello"), "wav": wav(0.01),
    "mp4": mp4(2.0, sound=1.9), "webm": webm(2.0), "live.webm": webm(None, last_cluster=90), "docx": docx("One", "Two"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_of_another_encoder(name: str) -> None:
    assert list(image_size(FILES[name]) or ()) == FIXTURES[name]["size"]


def test_a_pdf_of_another_writer() -> None:
    read = read_pdf(FILES["two_pages.pdf"])
    assert read is not None
    assert read.complete
    assert list(read.pages) == [Page(*page) for page in FIXTURES["two_pages.pdf"]["pages"]]


def check_picture(data: bytes) -> None:
    size = image_size(data)
    assert size is None or (size[0] > 0 and size[1] > 0)


def check_pdf(data: bytes) -> None:
    read = read_pdf(data)
    assert read is None or all(page.width >= 1 and page.height >= 1 for page in read.pages)


def check_text(data: bytes) -> None:
    assert isinstance(file_text(Media("file", "", data=data)), str | None)


def check_audio(data: bytes) -> None:
    length = audio_length(data)
    assert length is None or 0 <= length.trimmed_seconds <= length.played_seconds <= MAX_SECONDS


def check_video(data: bytes) -> None:
    video = read_video(data)
    assert video is None or 0 < video.seconds <= MAX_SECONDS


CHECKS: tuple[Callable[[bytes], None], ...] = (check_picture, check_pdf, check_text, check_audio, check_video)


@pytest.mark.parametrize("name", sorted(EVERY))
def test_a_file_cut_anywhere_is_survived(name: str) -> None:
    data = EVERY[name]
    for end in range(0, len(data), 1 + len(data) // 60):
        for check in CHECKS:
            check(data[:end])


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(sorted(EVERY)), at=st.integers(0, 4_000), patch=st.binary(min_size=1, max_size=8),
    grow=st.booleans(),
)
def test_a_file_changed_anywhere_is_survived(name: str, at: int, patch: bytes, grow: bool) -> None:
    data = EVERY[name]
    at %= len(data)
    changed = data[:at] + patch + data[at + (0 if grow else len(patch)) :]
    for check in CHECKS:
        check(changed)


@settings(max_examples=100, deadline=None)
@given(first=st.sampled_from(sorted(EVERY)), second=st.sampled_from(sorted(EVERY)), at=st.integers(0, 4_000))
def test_two_files_run_together_are_survived(first: str, second: str, at: int) -> None:
    for check in CHECKS:
        check(EVERY[first][: 1 + at % len(EVERY[first])] + EVERY[second])
