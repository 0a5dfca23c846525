from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.renderers.google.geometry import patch_grid, tile_count
from service.types import Rendering
from tests.media.media_files import jpeg, mp3, mp4, pdf, png, wav
from tests.renderers.google.prompts import ask, rendered

LETTER = (612.0, 792.0, "Hello")
A4 = (595.0, 842.0, "Hallo")


def inline(mime: str, data: bytes, **rest: Any) -> dict[str, Any]:
    return {"inlineData": {"mimeType": mime, "data": base64.b64encode(data).decode()}, **rest}


def described(mime: str, **facts: Any) -> dict[str, Any]:
    return {"inlineData": {"mimeType": mime, "data": {"_media": facts}}}


def image(width: int, height: int, **rest: Any) -> dict[str, Any]:
    return inline("image/png", png(width, height), **rest)


def referred(mime: str, uri: str) -> dict[str, Any]:
    return {"fileData": {"mimeType": mime, "fileUri": uri}}


def media_of(rendering: Rendering) -> dict[str, int]:
    """Media tokens by modality."""
    costs: dict[str, int] = {}
    for overhead in rendering.overheads:
        if overhead.section == "media":
            modality = overhead.rule.partition(":")[0]
            costs[modality] = costs.get(modality, 0) + overhead.tokens
    return costs


def billed(parts: list[dict[str, Any]], model: str, platform: str = "gemini-api", **rest: Any) -> dict[str, int]:
    return media_of(rendered(ask(*parts, **rest), model, platform))


# ---------------------------------------------------------------- pictures, as billed


GRIDS = {(1, 1): 1_089, (60, 30): 1_081, (300, 346): 1_085, (400, 301): 1_102, (597, 566): 1_088, (352, 240): 1_080}


@pytest.mark.parametrize(("size", "tokens"), GRIDS.items())
@pytest.mark.parametrize("model", ["gemini-3-pro-preview", "gemini-3.1-flash", "gemini-3.5-flash", "gemini-3.6-flash"])
def test_images_of_3_and_later(model: str, size: tuple[int, int], tokens: int) -> None:
    for platform in ("gemini-api", "vertex"):
        assert billed([image(*size)], model, platform) == {"IMAGE": tokens}


def test_images_of_other_formats_and_described_ones_cost_by_their_shape() -> None:
    parts = [inline("image/jpeg", jpeg(400, 301)), described("image/webp", width=400, height=301)]
    assert billed(parts, "gemini-3-flash-preview") == {"IMAGE": 2 * 1_102}


TILES = {(8, 8): 258, (384, 384): 258, (540, 360): 1_806, (3_008, 2_000): 3_354, (6_016, 4_000): 3_354}


@pytest.mark.parametrize(("size", "tokens"), TILES.items())
def test_a_lone_image_of_2_0_is_cut_into_tiles(size: tuple[int, int], tokens: int) -> None:
    assert billed([described("image/png", width=size[0], height=size[1])], "gemini-2.0-flash") == {"IMAGE": tokens}


@pytest.mark.parametrize("size", [(8, 8), (128, 128), (239, 178), (400, 301), (597, 566), (603, 427)])
def test_images_of_2_5_have_one_price(size: tuple[int, int]) -> None:
    rendering = rendered(ask(image(*size)), "gemini-2.5-flash")
    assert media_of(rendering) == {"IMAGE": 258}
    assert rendering.doubts == ()


def test_a_large_image_of_2_5_is_doubted_upwards() -> None:
    rendering = rendered(ask(described("image/png", width=3_008, height=2_000)), "gemini-2.5-flash")
    assert media_of(rendering) == {"IMAGE": 258}
    assert [(doubt.low, doubt.high) for doubt in rendering.doubts] == [(0, 3_354 - 258)]


SIDES = st.integers(1, 20_000)


@given(width=SIDES, height=SIDES, budget=st.sampled_from([70, 280, 560, 1_120, 2_240]))
def test_a_grid_fills_its_budget_whatever_the_size(width: int, height: int, budget: int) -> None:
    patches = patch_grid((width, height), budget)
    assert 1 <= patches <= budget
    assert patch_grid((2 * width, 2 * height), budget) == patches == patch_grid((height, width), budget)
    if 1 / 4 <= width / height <= 4:
        assert patches > budget * 0.6


@given(width=SIDES, height=SIDES)
def test_a_picture_has_one_to_seventeen_tiles_unless_it_is_a_ribbon(width: int, height: int) -> None:
    tiles = tile_count((width, height))
    assert (tiles == 1) == (max(width, height) <= 384)
    assert tiles <= (17 if max(width, height) <= 3 * min(width, height) else 1 + 12 * 4)


def test_shrinking_a_picture_costs_no_tile_by_rounding() -> None:
    assert tile_count((4_325, 5_766)) == tile_count((2_304, 3_072)) == 13


# ---------------------------------------------------------------- pages, as billed


@pytest.mark.parametrize(("page", "tokens"), [(LETTER, 520), (A4, 532)])
def test_pages_of_3_and_later(page: tuple[float, float, str], tokens: int) -> None:
    for platform in ("gemini-api", "vertex"):
        assert billed([inline("application/pdf", pdf(page))], "gemini-3-flash-preview", platform) == {"IMAGE": tokens}
    assert billed([inline("application/pdf", pdf(*[page] * 17))], "gemini-3.1-pro-preview") == {"IMAGE": 17 * tokens}


@pytest.mark.parametrize(("page", "tokens"), [(LETTER, 1_102), (A4, 1_092)])
def test_a_page_in_a_function_response_costs_as_an_image_on_one_platform(
    page: tuple[float, float, str], tokens: int
) -> None:
    part = {"functionResponse": {"name": "f", "response": {}, "parts": [inline("application/pdf", pdf(page))]}}
    assert billed([part], "gemini-3-flash-preview") == {"IMAGE": tokens}
    assert billed([part], "gemini-3-flash-preview", "vertex") == {"IMAGE": 520 if page is LETTER else 532}


def test_pages_of_2_5_have_one_price_on_the_gemini_api() -> None:
    for count in (1, 4, 6, 44):
        part = inline("application/pdf", pdf(*[LETTER] * count))
        assert billed([part], "gemini-2.5-flash") == {"DOCUMENT": 258 * count}


def test_a_lone_page_is_cut_into_tiles_on_vertex_and_beside_an_image_it_is_not() -> None:
    page = inline("application/pdf", pdf(LETTER))
    assert billed([page], "gemini-2.5-flash", "vertex") == {"DOCUMENT": 1_290}
    assert billed([page, image(128, 128)], "gemini-2.5-flash", "vertex") == {"DOCUMENT": 258, "IMAGE": 258}
    assert billed([page, page], "gemini-2.0-flash") == {"DOCUMENT": 516}


def test_a_pdf_that_cannot_be_read_counts_as_a_page_and_is_listed() -> None:
    rendering = rendered(ask(inline("application/pdf", b"%PDF-1.4 broken")), "gemini-2.5-flash")
    assert media_of(rendering) == {"DOCUMENT": 258}
    assert [item.assumed_tokens for item in rendering.uncounted] == [258]


def test_pages_may_be_described_and_chosen() -> None:
    part = described("application/pdf", page_sizes_pt=[[612, 792], [595, 842], [612, 792]])
    assert billed([part], "gemini-3.5-flash") == {"IMAGE": 520 + 532 + 520}
    part["documentMetadata"] = {"startPage": 2, "endPage": 2}
    assert billed([part], "gemini-3.5-flash") == {"IMAGE": 532}


# ---------------------------------------------------------------- recordings, as billed


def test_sound_of_2_5_is_rounded_up_by_the_token_or_by_the_second() -> None:
    part = inline("audio/wav", wav(3.7))
    assert billed([part], "gemini-2.5-flash") == {"AUDIO": 119}
    assert billed([part], "gemini-2.5-flash", "vertex") == {"AUDIO": 100}


def test_mp3_of_2_5_counts_every_frame_and_of_3_leaves_the_padding_out() -> None:
    part = inline("audio/mpeg", mp3(124, delay=576, padding=1_344))  # 3.239 s of frames, 3.196 s of sound
    assert billed([part], "gemini-2.5-flash") == {"AUDIO": 104}
    assert billed([part], "gemini-3-flash-preview") == {"AUDIO": 80}
    assert billed([part], "gemini-3-flash-preview", "vertex") == {"AUDIO": 80}


def test_films() -> None:
    long, short = described("video/mp4", seconds=10.027), described("video/mp4", seconds=1.305)
    assert billed([long], "gemini-3-flash-preview") == {"VIDEO": 910}
    assert billed([long], "gemini-3-flash-preview", "vertex") == {"VIDEO": 640, "AUDIO": 250}
    assert billed([short], "gemini-3-flash-preview") == {"VIDEO": 66}
    assert billed([short], "gemini-3-flash-preview", "vertex") == {"VIDEO": 64}
    video = described("video/mp4", seconds=13.347)
    assert billed([video], "gemini-2.5-flash") == {"VIDEO": 3_682, "AUDIO": 428}
    assert billed([video], "gemini-2.5-flash", "vertex") == {"VIDEO": 3_354}


def test_the_bytes_of_a_film_tell_its_shape_and_its_sound() -> None:
    silent, loud = inline("video/mp4", mp4(4, size=(720, 720))), inline("video/mp4", mp4(4, sound=4.1))
    assert billed([silent], "gemini-3.5-flash") == {"VIDEO": 4 * 64}
    assert billed([loud], "gemini-3.5-flash") == {"VIDEO": 4 * 66 + 4 * 25}
    assert billed([loud], "gemini-2.5-flash") == {"VIDEO": 5 * 263, "AUDIO": 132}
    assert billed([silent], "gemini-2.5-flash") == {"VIDEO": 5 * 263}


def test_a_film_may_be_cut_and_sampled() -> None:
    cut = {**described("video/mp4", seconds=60), "videoMetadata": {"startOffset": "10s", "endOffset": "20s", "fps": 2}}
    assert billed([cut], "gemini-3.5-flash", "vertex") == {"VIDEO": 20 * 64, "AUDIO": 250}


def test_a_recording_without_a_length_is_listed() -> None:
    for part in (inline("audio/mpeg", b"no sound"), inline("video/mp4", b"no film"), described("video/mp4")):
        rendering = rendered(ask(part), "gemini-2.5-flash")
        assert rendering.uncounted[0].assumed_tokens == sum(media_of(rendering).values()) > 1_000


# ---------------------------------------------------------------- resolutions


@pytest.mark.parametrize(
    ("level", "tokens"), [("LOW", 256), ("MEDIUM", 529), ("HIGH", 1_089), ("UNSPECIFIED", 1_089), ("ULTRA_HIGH", 2_209)]
)
def test_the_resolution_of_a_part_wins_over_that_of_the_request(level: str, tokens: int) -> None:
    """A square: 16, 23, 33 and 47 patches a side, within the documented 280, 560, 1,120 and 2,240."""
    part = image(9, 9, mediaResolution={"level": f"MEDIA_RESOLUTION_{level}"})
    settings = {"generationConfig": {"mediaResolution": "MEDIA_RESOLUTION_LOW"}}
    assert billed([part], "gemini-3.5-flash", **settings) == {"IMAGE": tokens}
    assert billed([image(9, 9)], "gemini-3.5-flash", **settings) == {"IMAGE": 256}


def test_low_resolution_of_2_5_and_a_number_of_tokens() -> None:
    low = {"generationConfig": {"mediaResolution": 1}}
    rendering = rendered(ask(image(9, 9), **low), "gemini-2.5-flash")
    assert media_of(rendering) == {"IMAGE": 66}
    assert rendering.doubts[0].low < 0 < rendering.doubts[0].high
    assert billed([image(9, 9, mediaResolution={"numTokens": 100})], "gemini-3.5-flash") == {"IMAGE": 100}
    assert billed([described("video/mp4", seconds=10)], "gemini-3.5-flash", **low) == {"VIDEO": 10 * 66 + 250}


def test_another_providers_detail_says_nothing() -> None:
    part = image(9, 9, mediaResolution="low")
    assert billed([part], "gemini-3.5-flash") == {"IMAGE": 1_089}


# ---------------------------------------------------------------- text and references


def test_a_text_file_costs_its_text_in_any_alphabet_of_base64() -> None:
    text = "ab?>~é\n" * 3
    for data in (base64.b64encode(text.encode()), base64.urlsafe_b64encode(text.encode()).rstrip(b"=")):
        part = {"inline_data": {"mime_type": "text/csv", "data": data.decode()}}
        rendering = rendered(ask(part), "gemini-3.5-flash")
        assert [(segment.spans[0][0], segment.text) for segment in rendering.segments] == [("messages", text)]


@pytest.mark.parametrize(
    ("part", "model", "tokens"),
    [
        (referred("image/png", "gs://b/a.png"), "gemini-3.5-flash", 1_120),
        (referred("image/png", "gs://b/a.png"), "gemini-2.5-flash", 258),
        (referred("image/png", "gs://b/a.png"), "gemini-2.0-flash", 17 * 258),
        (referred("application/pdf", "gs://b/a.pdf"), "gemini-2.5-flash", 10 * 258),
        (referred("audio/mp3", "gs://b/a.mp3"), "gemini-2.5-flash", 60 * 32),
        (referred("", "https://www.youtube.com/watch?v=x"), "gemini-3.5-flash", 60 * (64 + 25)),
        (referred("", "https://a.example/a.jpg?size=2"), "gemini-2.5-flash", 258),
    ],
)
def test_a_file_by_reference_is_assumed_and_listed(part: dict[str, Any], model: str, tokens: int) -> None:
    rendering = rendered(ask(part), model)
    assert sum(media_of(rendering).values()) == tokens
    (item,) = rendering.uncounted
    assert (item.path, item.assumed_tokens) == ("contents[0].parts[0].fileData", tokens)


def test_a_file_by_reference_in_a_function_response_is_not_looked_at_on_the_gemini_api() -> None:
    part = {"functionResponse": {"name": "f", "response": {}, "parts": [referred("image/png", "https://x.example/f")]}}
    assert billed([part], "gemini-3-flash-preview") == {}
    assert billed([part], "gemini-3-flash-preview", "vertex") == {"IMAGE": 1_120}


def test_a_file_of_an_unknown_kind_is_listed() -> None:
    rendering = rendered(ask(inline("application/x-thing", b"\x00\xff" * 40)), "gemini-2.5-flash")
    assert [(item.kind, item.assumed_tokens) for item in rendering.uncounted] == [("file_file", 20)]
