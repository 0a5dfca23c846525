"""Image rules: values of OpenAI's images guide (mid 2026) and of recorded requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.families import openai
from service.families.openai_rules import ImageRule, PatchImages
from service.renderers.openai.images import image_bound, image_doubt, image_tokens

RULES = [value for value in vars(openai).values() if isinstance(value, ImageRule)]


@pytest.mark.parametrize(
    ("rule", "size", "detail", "tokens"),
    [
        (openai.TILES, (100, 100), None, 255),
        (openai.TILES, (1024, 1024), "high", 765),
        (openai.TILES, (3008, 2000), "auto", 1105),
        (openai.TILES, (2048, 4096), "high", 1105),
        (openai.TILES, (4096, 8192), "low", 85),
        (openai.TILES_4O_MINI, (640, 480), None, 14_167),
        (openai.TILES_GPT5, (1, 1), None, 210),
        (openai.TILES_O, (513, 100), None, 375),
    ],
)
def test_tiles(rule: ImageRule, size: tuple[int, int], detail: str | None, tokens: int) -> None:
    assert image_tokens(rule, size, detail, "chat") == tokens


@pytest.mark.parametrize(
    ("rule", "size", "detail", "chat", "responses"),
    [
        (openai.PATCH_41_MINI, (300, 346), None, 179, 181),
        (openai.PATCH_41_NANO, (540, 360), None, 503, 503),
        (openai.PATCH_5_MINI, (597, 566), None, 413, 413),
        (openai.PATCH_5_MINI, (400, 301), None, 158, 158),
        (openai.PATCH_5_NANO, (16, 16), None, 3, 2),
        (openai.PATCH_5_NANO, (128, 128), None, 25, 24),
        (openai.PATCH_5_NANO, (2560, 1669), None, 2233, 2232),
        (openai.PATCH_54, (60, 30), None, 4, 4),
        (openai.PATCH_54, (1024, 1024), "high", 1230, 1230),
        (openai.PATCH_54, (2048, 2048), "high", 3001, 3001),
        (openai.PATCH_56, (512, 149), None, 98, 98),
        (openai.PATCH_56, (4000, 4000), "low", 310, 310),
    ],
)
def test_patches(rule: ImageRule, size: tuple[int, int], detail: str | None, chat: int, responses: int) -> None:
    assert image_tokens(rule, size, detail, "chat") == chat
    assert image_tokens(rule, size, detail, "responses") == responses


def test_original_detail_is_dearer_than_high_on_a_large_image() -> None:
    size = (5000, 4000)
    high, original = (image_tokens(openai.PATCH_55, size, detail, "chat") for detail in ("high", "original"))
    assert 2_500 < high <= 3_001 < original <= 12_001


@given(
    rule=st.sampled_from(RULES),
    size=st.tuples(st.integers(1, 100_000), st.integers(1, 100_000)),
    detail=st.sampled_from([None, "auto", "low", "high", "original", "made up"]),
)
def test_no_image_costs_more_than_the_bound(rule: ImageRule, size: tuple[int, int], detail: str | None) -> None:
    for surface in ("chat", "responses"):
        assert 0 < image_tokens(rule, size, detail, surface) <= image_bound(rule, detail, surface)
    low, high = image_doubt(rule, size, detail)
    assert low <= 0 <= high
    assert image_tokens(rule, size, detail, "chat") + low >= -2
    assert isinstance(rule, PatchImages) == (high > 0)
