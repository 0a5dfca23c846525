"""Images, files and recordings in a request to OpenAI: what they cost, what their text is, what must be assumed.

Nothing is fetched. A file's text is counted like any text; what the provider adds to it is a constant of the family.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from service.families.openai_rules import OpenAIRules
from service.media.documents import Pdf, file_text, read_pdf
from service.media.images import image_size
from service.media.recordings import audio_length
from service.renderers.base import RenderingBuilder
from service.renderers.openai.images import image_bound, image_doubt, image_tokens
from service.types import Media

REMOTE_FILE_TOKENS = 8_000
"""Assumed for a file whose bytes are not in the body: ten pages of 800 tokens, since no limit is a useful bound."""

AUDIO_PER_SECOND, AUDIO_FRAME = 10, 4
"""floor(10 x seconds) + 4 after the encoder's padding is cut off: 6 of 6 recorded requests, 2025 and 2026."""

REMOTE_AUDIO_SECONDS = 600
"""Assumed for a recording that does not tell its length."""

VIDEO_PER_SECOND = 260
"""No OpenAI model takes video; a request that holds one is counted like a picture a second."""

SHEET_EXTRA = 19
"""A CSV file beyond other files: 1 recorded request of gpt-5.4, July 2026."""

LATE_FILE, LATE_PAGE = 13, 779
"""What newer recordings (May to August 2026) bill for a file and for a page in Chat beyond the older ones (up to March
2026). Of the newer, the one PDF seen in Chat is tagged, and was billed so by an old and a new model: for older models
the tagging decides, because the date of a request is not in its body."""

CHARS_PER_TOKEN = 4
"""Of English text; used only where the caller describes a document without its words."""


@dataclass(slots=True)
class MediaPainter:
    """Adds media to a rendering. `surface` is "chat" or "responses"."""

    builder: RenderingBuilder
    rules: OpenAIRules
    surface: str

    def add(self, media: Media) -> bool:
        """Add one medium; True where the provider puts it into a message of its own."""
        if media.kind == "image":
            self._image(media)
        elif media.kind == "audio":
            self._audio(media)
        elif media.kind == "video":
            self._guess(media, VIDEO_PER_SECOND * math.ceil(media.seconds or 60), "OpenAI takes no video")
        else:
            self._file(media)
            return True
        return False

    # ------------------------------------------------------------ pictures and sound

    def _image(self, media: Media) -> None:
        size = media.size or (image_size(media.data) if media.data is not None else None)
        if size is None:
            bound = image_bound(self.rules.images, media.detail, self.surface)
            why = "its size cannot be read" if media.data is not None else "its size is not in the body"
            self._guess(media, bound, f"{why}; counted as the largest image the model bills")
            return
        self.builder.cost("media", image_tokens(self.rules.images, size, media.detail, self.surface), "image")
        low, high = image_doubt(self.rules.images, size, media.detail)
        if high:
            self.builder.doubt(low, high, "the wrapper of a patch image varies by 0 to 2")

    def _audio(self, media: Media) -> None:
        seconds = media.seconds
        if seconds is None and media.data is not None:
            length = audio_length(media.data, media.mime)
            seconds = length.trimmed_seconds if length else None
        if seconds is None:
            assumed = AUDIO_PER_SECOND * REMOTE_AUDIO_SECONDS
            self._guess(media, assumed, "its length cannot be read; ten minutes are assumed")
            return
        self.builder.cost("media", math.floor(AUDIO_PER_SECOND * seconds) + AUDIO_FRAME, "audio")
        self.builder.doubt(-1, 1, "the length of a recording is rounded")

    def _guess(self, media: Media, tokens: int, reason: str) -> None:
        self.builder.cost("media", tokens, "assumed_media")
        self.builder.miss(media.path, media.kind, reason, tokens)

    # ------------------------------------------------------------ files

    def _file(self, media: Media) -> None:
        if media.data is None:
            self._unseen(media)
            return
        pdf = read_pdf(media.data)
        if pdf is not None:
            self._pdf(media.data, pdf, media.path)
            return
        text = file_text(media)
        if text is None:
            self._guess(media, REMOTE_FILE_TOKENS, "its text cannot be read; ten pages are assumed")
            return
        self.builder.text("media", text)
        extra = SHEET_EXTRA if media.mime == "text/csv" else 0
        self.builder.cost("media", (self.rules.responses.file or LATE_FILE) + extra, "file")
        self.builder.doubt(-LATE_FILE, 30 + len(text) // 40, "files that are not PDF were recorded three times")

    def _pdf(self, data: bytes, pdf: Pdf, path: str) -> None:
        """The text of the pages, which are also billed as pictures where the family or the file says so."""
        self.builder.text("media", "\n".join(page.text for page in pdf.pages))
        late = is_tagged(data)
        pages = len(pdf.pages)
        if self.surface == "chat":
            self.builder.cost("media", self.rules.chat.file, "pdf")
            page_cost = self.rules.chat.file_page or (LATE_PAGE if late else 0)
            self.builder.cost("media", page_cost * pages, "pdf_pages")
            self.builder.doubt(-page_cost * pages, (LATE_PAGE - page_cost) * pages + 5, "PDF pages as pictures")
        else:
            cost = self.rules.responses.file or (LATE_FILE if late else 0)
            self.builder.cost("media", cost, "pdf")
            over = LATE_FILE * pages + 4 - cost
            self.builder.doubt(-cost - 3 * (pages - 1), over, "what stands around a PDF's text")
        if not pdf.complete:
            self.builder.miss(path, "document", "the text of some pages cannot be read")
            self.builder.doubt(0, 800 * pages, "pages without readable text")

    def _unseen(self, media: Media) -> None:
        """A file described by the caller, or one that only a URL or an id points to."""
        if media.page_sizes is None and media.text_chars is None:
            self._guess(media, REMOTE_FILE_TOKENS, "its bytes are not in the body; ten pages of text are assumed")
            return
        pages = len(media.page_sizes or ())
        text = math.ceil((media.text_chars or 0) / CHARS_PER_TOKEN)
        chat = self.surface == "chat"
        around = self.rules.chat.file + self.rules.chat.file_page * pages if chat else self.rules.responses.file
        self.builder.cost("media", text + around, "described_file")
        over = text + (LATE_PAGE * pages if chat else LATE_FILE)
        self.builder.doubt(-(text // 2), over, "a file described by its length")
        self.builder.miss(media.path, media.kind, "counted from the caller's description", text)


def is_tagged(data: bytes) -> bool:
    """Whether a PDF carries a structure tree (as word processors write), seen without unpacking anything."""
    return b"/StructTreeRoot" in data
