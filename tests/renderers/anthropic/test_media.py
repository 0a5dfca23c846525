"""Images and documents of Claude: sizes after the resize, pages, and what stands around them."""

from __future__ import annotations

import base64

import pytest

from service.families.anthropic import HAIKU_35_IMAGES, HIGH_IMAGES, STANDARD_IMAGES
from service.families.anthropic_rules import ImageRule
from service.renderers.anthropic.media import image_tokens, page_tokens
from tests.media.media_files import png
from tests.renderers.anthropic.prompts import NEW, OLD, body, costs, count, draw, loop, picture, text, tokens


@pytest.mark.parametrize(
    ("width", "height", "rule", "patches"),
    [
        # billed: 1x1 to 1001x1001
        (1, 1, STANDARD_IMAGES, 1), (60, 30, STANDARD_IMAGES, 6), (100, 100, STANDARD_IMAGES, 16),
        (540, 360, STANDARD_IMAGES, 260), (800, 600, STANDARD_IMAGES, 638), (1001, 1001, STANDARD_IMAGES, 1_296),
        (300, 346, HIGH_IMAGES, 143), (512, 512, HIGH_IMAGES, 361),
        # official examples
        (200, 200, STANDARD_IMAGES, 64), (1000, 1000, STANDARD_IMAGES, 1_296), (1092, 1092, STANDARD_IMAGES, 1_521),
        (1920, 1080, STANDARD_IMAGES, 1_560), (1920, 1080, HIGH_IMAGES, 2_691), (1075, 1520, STANDARD_IMAGES, 1_551),
        (3840, 2160, HIGH_IMAGES, 4_784),
        # billed: an even number of patches a side
        (640, 480, HAIKU_35_IMAGES, 24 * 18), (640, 480, STANDARD_IMAGES, 23 * 18),
        # a side that shrinks to less than a pixel still has one
        (30_000, 1, STANDARD_IMAGES, 56), (1, 30_000, HIGH_IMAGES, 92),
    ],
)
def test_patches(width: int, height: int, rule: ImageRule, patches: int) -> None:
    assert image_tokens(width, height, rule) == patches


@pytest.mark.parametrize("rule", [STANDARD_IMAGES, HIGH_IMAGES])
@pytest.mark.parametrize("size", [(5_000, 5_000), (8_000, 20), (1_569, 1_569), (2_577, 100), (123_456, 7_890)])
def test_no_image_passes_the_limits(size: tuple[int, int], rule: ImageRule) -> None:
    assert image_tokens(*size, rule) <= rule.max_patches
    assert image_tokens(*size, rule) == image_tokens(size[1], size[0], rule)


def test_the_resize_is_the_largest_that_fits() -> None:
    """The same answer as trying every edge from the top."""
    def slow(width: int, height: int, rule: ImageRule) -> int:
        long, short = max(width, height), min(width, height)
        for edge in range(min(long, rule.max_edge), 0, -1):
            sides = [-(-side // 28) for side in (edge, max(1, round(short * edge / long)))]
            if max(sides) * 28 <= rule.max_edge and sides[0] * sides[1] <= rule.max_patches:
                return sides[0] * sides[1]
        return 1
    for size in [(2_000, 1_500), (4_032, 3_024), (1_700, 900), (3_000, 3_001), (1_600, 40), (9_999, 8_888)]:
        for rule in (STANDARD_IMAGES, HIGH_IMAGES):
            assert image_tokens(*size, rule) == slow(*size, rule)


@pytest.mark.parametrize(
    ("width", "height", "rule", "patches"),
    [
        (612, 792, STANDARD_IMAGES, 34 * 45), (792, 612, HIGH_IMAGES, 34 * 45), (595, 842, STANDARD_IMAGES, 33 * 47),
        (612, 792, HAIKU_35_IMAGES, 34 * 46),
    ],
)
def test_pages_of_a_pdf(width: float, height: float, rule: ImageRule, patches: int) -> None:
    assert page_tokens(width, height, rule) == patches


def test_sizes_are_read_from_the_bytes() -> None:
    data = base64.b64encode(png(300, 346)).decode()
    sent = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    for model in (OLD, NEW):
        assert tokens(model, body(text("Hi"), sent)) == tokens(model, body(text("Hi"), picture(300, 346)))


def test_an_image_costs_three_beside_its_patches_and_what_follows_it_more() -> None:
    for model, after in ((OLD, 1), (NEW, 2)):
        alone = tokens(model, body(text("Hi"), picture(28, 28)))
        assert alone - tokens(model, body(text("Hi"))) == 4
        assert tokens(model, body(text("Hi"), picture(28, 28), picture(28, 28))) - alone == 4 + after


def test_bytes_that_tell_no_size_are_bounded_and_listed() -> None:
    data = base64.b64encode(b"not an image").decode()
    answer = count(OLD, body({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}))
    assert [item.kind for item in answer.uncounted] == ["image"]
    assert answer.details["media"] == 1_571


def test_documents() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "One. Two."}

    def paper(**fields: object) -> dict[str, object]:
        return {"type": "document", "source": source, **fields}
    words = 5  # on a line of their own; at the start of a turn they are four
    plain = tokens(OLD, body(text("Sum up"), paper()))
    assert plain - tokens(OLD, body(text("Sum up"))) == 41 + words
    assert tokens(OLD, body(text("Sum up"), paper(title="notes"))) == plain + 8
    assert tokens(OLD, body(text("Sum up"), paper(context="notes"))) == plain + 8
    cited = draw(body(text("Sum up"), paper(citations={"enabled": True})))
    assert costs(cited)["citable_chunks"] == 2 * 19
    assert costs(cited)["citations"] == 470
    in_result = loop({"content": [paper()]})
    assert tokens(OLD, in_result) - tokens(OLD, loop({"content": ""})) == 41 + words - 1  # a bracket merges


def test_a_document_of_blocks_holds_texts_and_images() -> None:
    def paper(*blocks: object) -> dict[str, object]:
        return {"type": "document", "source": {"type": "content", "content": list(blocks)}}
    one = tokens(OLD, body(text("Hi"), paper(text("One."))))
    assert tokens(OLD, body(text("Hi"), paper(text("One."), picture(28, 28)))) == one + 4
    assert tokens(OLD, body(text("Hi"), {"type": "document", "source": {"type": "content", "content": "One."}})) == one


def test_a_described_pdf_is_counted_by_its_pages_and_listed() -> None:
    facts = {"_media": {"page_sizes_pt": [[612, 792], [612, 792]], "text_chars": 3_000}}
    source = {"type": "base64", "media_type": "application/pdf", "data": facts}
    answer = count(OLD, body(text("Hi"), {"type": "document", "source": source}))
    assert answer.details["media"] == 38 + 2 * 1_533 + 1_000
    assert [item.assumed_tokens for item in answer.uncounted] == [1_000]


def test_a_text_file_sent_as_bytes_counts_as_its_text() -> None:
    data = base64.b64encode(b"One. Two.").decode()
    sent = {"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": data}}
    same = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "One. Two."}}
    assert tokens(OLD, body(text("Hi"), sent)) == tokens(OLD, body(text("Hi"), same))
