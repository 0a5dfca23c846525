"""What images and documents cost in a Claude prompt: patches, pages, and the markup around them."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from service.families.anthropic_rules import AnthropicRules, ImageRule
from service.media.documents import LETTER, Page, Pdf, file_text, read_pdf
from service.media.images import image_size
from service.renderers.base import RenderingBuilder
from service.types import Document, Media, SearchResult, Text

PATCH = 28
"""Side of a patch in pixels (official, and 22 recorded images)."""

PAGE_EDGE, PAGE_PATCHES = 1568, 1568
"""Limits of the image of a PDF page for every model, in pixels and patches (14 recorded pages; a US letter page has 34
x 45 patches, A4 33 x 47)."""

BLANK_PAGE = 1
"""Tokens more for a page without text (4 recorded requests with one file, Claude 3.5 Haiku)."""

CHARS_PER_TOKEN = 3.0
"""Assumed for a document that is only described by its length. It is a cautious value."""


def _grid(width: int, height: int) -> tuple[int, int]:
    return math.ceil(width / PATCH), math.ceil(height / PATCH)


def _is_within_limits(width: int, height: int, max_edge: int, max_patches: int) -> bool:
    columns, rows = _grid(width, height)
    return max(columns, rows) * PATCH <= max_edge and columns * rows <= max_patches


@lru_cache(maxsize=4096)
def image_tokens(width: int, height: int, rule: ImageRule) -> int:
    """Tokens of a picture after the resize, without the cost of its block.

    The resized picture is the largest one of the same shape within both limits. The long edge is searched, the short
    edge is rounded half to even.
    """
    if not _is_within_limits(width, height, rule.max_edge, rule.max_patches):
        long, short = max(width, height), min(width, height)

        def too_large(edge: int) -> bool:
            return not _is_within_limits(edge, max(1, round(short * edge / long)), rule.max_edge, rule.max_patches)

        edge = max(1, bisect_right(range(min(long, rule.max_edge) + 1), False, key=too_large) - 1)
        other = max(1, round(short * edge / long))
        width, height = (edge, other) if width >= height else (other, edge)
    return _patches(*_grid(width, height), rule)


@lru_cache(maxsize=4096)
def page_tokens(width: float, height: float, rule: ImageRule) -> int:
    """Tokens of the image of a PDF page of this size in points. The short edge is rounded down here."""
    long, short = max(width, height), min(width, height)

    def too_large(edge: int) -> bool:
        return not _is_within_limits(edge, max(1, math.floor(short * edge / long)), PAGE_EDGE, PAGE_PATCHES)

    edge = max(1, bisect_right(range(PAGE_EDGE + 1), False, key=too_large) - 1)
    other = max(1, math.floor(short * edge / long))
    return _patches(*_grid(edge, other) if width >= height else _grid(other, edge), rule)


def _patches(columns: int, rows: int, rule: ImageRule) -> int:
    return (rows + rows % 2) * (columns + columns % 2) if rule.even else rows * columns


# ---------------------------------------------------------------- images


def write_image(builder: RenderingBuilder, rules: AnthropicRules, media: Media) -> None:
    """The cost of an image block. An image of unknown size is counted as the largest there is."""
    rule = rules.images
    size = media.size or (image_size(media.data) if media.data is not None else None)
    if size is None:
        worst = rule.max_patches + rule.block
        builder.add_cost("media", worst, "image_of_unknown_size")
        reason = "never fetched" if media.reference is not None else "the bytes do not tell its size"
        builder.add_uncounted(media.path, "image", f"{reason}: counted as the largest image there is", worst)
        return
    builder.add_cost("media", image_tokens(*size, rule) + rule.block, "image")


# ---------------------------------------------------------------- documents


def write_document(builder: RenderingBuilder, rules: AnthropicRules, part: Document | Media) -> None:
    """What a document block holds, without the two brackets at the begin and the end of its markup."""
    rule = rules.documents
    builder.add_cost("media", rule.wrapper - 2, "document")
    for words in (part.title, part.context):
        if words:
            builder.add_cost("media", rule.title, "document_title")
            builder.add_text("media", f">{words}</", "inside")  # they stand between tags
    if isinstance(part, Document):
        _write_parts(builder, rules, part)
    else:
        _write_file(builder, rules, part)


_SENTENCE_END = re.compile(r"[.!?]\s++(?=\S)")


def _write_chunks(builder: RenderingBuilder, rules: AnthropicRules, texts: Sequence[str]) -> None:
    """What citations cost in a document: marks around each sentence of one text, or around each of several texts."""
    chunks = len(texts) if len(texts) > 1 else sum(1 + len(_SENTENCE_END.findall(text)) for text in texts)
    builder.add_cost("media", rules.documents.chunk * chunks, "citable_chunks")


def _write_parts(builder: RenderingBuilder, rules: AnthropicRules, document: Document) -> None:
    texts: list[str] = []
    for part in document.parts:
        if isinstance(part, Text):
            texts.append(part.text)
        else:
            write_image(builder, rules, part)
    if document.citations:
        _write_chunks(builder, rules, texts)
    if texts or not document.parts:
        builder.add_cost("media", rules.documents.text, "text_document")
        _write_text(builder, "".join(texts))


def _write_text(builder: RenderingBuilder, text: str) -> None:
    """Text on lines of its own. The cost of the wrapper already has one of the two line breaks."""
    builder.add_text("media", f"\n{text}\n", "inside")
    builder.add_cost("media", -1, "line_break")


def _write_file(builder: RenderingBuilder, rules: AnthropicRules, media: Media) -> None:
    pdf = read_pdf(media.data) if media.data is not None else None
    if pdf is not None:
        _write_pdf(builder, rules, media, pdf)
        return
    if media.page_sizes is not None or media.text_chars is not None:
        _write_described(builder, rules, media)
        return
    text = file_text(media)
    if text is not None:
        builder.add_cost("media", rules.documents.text, "text_document")
        _write_text(builder, text)
        return
    page = page_tokens(*LETTER, rules.images) + rules.images.block
    assumed = page + 1_500
    builder.add_cost("media", assumed, "document_of_unknown_length")
    reason = "never fetched" if media.reference is not None else "it cannot be read"
    builder.add_uncounted(media.path, "document", f"{reason}: counted as one dense page", assumed)


def _write_pdf(builder: RenderingBuilder, rules: AnthropicRules, media: Media, pdf: Pdf) -> None:
    for page in pdf.pages:
        _write_page(builder, rules, page)
        if media.citations:
            _write_chunks(builder, rules, [page.text])
    more = len(pdf.pages) - 1
    if more > 0:  # only single pages were recorded: each may have markup of its own
        builder.add_doubt(-2 * more, 12 * more, "pdf_of_several_pages")
    if not pdf.complete:
        builder.add_uncounted(media.path, "document", "the text of a page could not be read")


def _write_page(builder: RenderingBuilder, rules: AnthropicRules, page: Page) -> None:
    builder.add_cost("media", page_tokens(page.width, page.height, rules.images) + rules.images.block, "pdf_page")
    text = unicodedata.normalize("NFKC", page.text)
    if text.strip():
        _write_text(builder, text)
    else:
        builder.add_cost("media", BLANK_PAGE, "blank_page")


def _write_described(builder: RenderingBuilder, rules: AnthropicRules, media: Media) -> None:
    """A document whose bytes the caller did not send, but the sizes of its pages and the length of its text."""
    pages = media.page_sizes or ((LETTER,) if media.mime == "application/pdf" else ())
    for width, height in pages:
        builder.add_cost("media", page_tokens(width, height, rules.images) + rules.images.block, "pdf_page")
    chars = media.text_chars
    assumed = math.ceil((1_500 * len(pages) if chars is None else chars) / (1 if chars is None else CHARS_PER_TOKEN))
    if assumed:
        builder.add_cost("media", assumed, "described_text")
        builder.add_uncounted(media.path, "document", "its text was not sent: counted by its length", assumed)


def write_search_result(builder: RenderingBuilder, rules: AnthropicRules, result: SearchResult) -> None:
    builder.add_cost("messages", rules.documents.search_result, "search_result")
    builder.add_doubt(-60, 10, "search_result")  # 1 row, Haiku 4.5, with citations
    if result.citations:
        builder.add_cost("messages", rules.documents.chunk * len(result.parts), "citable_chunks")
    for words in (result.source, result.title, *(part.text for part in result.parts)):
        builder.add_text("messages", words)
