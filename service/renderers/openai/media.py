"""Images, files and recordings in a request to OpenAI: their costs, their text, and what must be assumed.

Nothing is fetched. The text of a file is counted like any text. What the provider adds to it is a constant of the
family.
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
"""Tokens assumed for a file whose bytes are not in the body: ten pages of 800. No limit of the provider is a useful
bound."""

AUDIO_PER_SECOND, AUDIO_FRAME = 10, 4
"""A recording costs floor(10 x seconds) + 4 tokens, without the padding of the encoder (6 of 6 recorded requests, 2025
and 2026)."""

REMOTE_AUDIO_SECONDS = 600
"""Seconds assumed for a recording whose length is not known."""

VIDEO_PER_SECOND = 260
"""Tokens. No OpenAI model takes video; one is counted as a picture a second."""

SHEET_EXTRA = 19
"""Tokens that a CSV file costs more than other files (1 recorded request of gpt-5.4, July 2026)."""

LATE_FILE, LATE_PAGE = 13, 779
"""Tokens that newer requests (May to August 2026) are billed more than older ones (up to March 2026), for a file and
for a page in Chat.

The one PDF among the newer requests in Chat is tagged, and an old and a new model billed it alike. The date of a
request is not in its body, so for older models a tagged PDF is billed in the new way.
"""

CHARS_PER_TOKEN = 4
"""Of English text. Used only where the caller describes a document without its text."""


@dataclass(slots=True)
class MediaWriter:
    """Adds media to a rendering. `surface` is "chat" or "responses"."""

    builder: RenderingBuilder
    rules: OpenAIRules
    surface: str

    def add(self, media: Media) -> bool:
        """Add one medium. Returns True where the provider puts it into a message of its own."""
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
        self.builder.add_cost("media", image_tokens(self.rules.images, size, media.detail, self.surface), "image")
        low, high = image_doubt(self.rules.images, size, media.detail)
        if high:
            self.builder.add_doubt(low, high, "the wrapper of a patch image varies by 0 to 2")

    def _audio(self, media: Media) -> None:
        seconds = media.seconds
        if seconds is None and media.data is not None:
            length = audio_length(media.data, media.mime)
            seconds = length.trimmed_seconds if length else None
        if seconds is None:
            assumed = AUDIO_PER_SECOND * REMOTE_AUDIO_SECONDS
            self._guess(media, assumed, "its length cannot be read; ten minutes are assumed")
            return
        self.builder.add_cost("media", math.floor(AUDIO_PER_SECOND * seconds) + AUDIO_FRAME, "audio")
        self.builder.add_doubt(-1, 1, "the length of a recording is rounded")

    def _guess(self, media: Media, tokens: int, reason: str) -> None:
        self.builder.add_cost("media", tokens, "assumed_media")
        self.builder.add_uncounted(media.path, media.kind, reason, tokens)

    # ------------------------------------------------------------ files

    def _file(self, media: Media) -> None:
        if media.data is None:
            self._remote_file(media)
            return
        pdf = read_pdf(media.data)
        if pdf is not None:
            self._pdf(media.data, pdf, media.path)
            return
        text = file_text(media)
        if text is None:
            self._guess(media, REMOTE_FILE_TOKENS, "its text cannot be read; ten pages are assumed")
            return
        self.builder.add_text("media", text)
        extra = SHEET_EXTRA if media.mime == "text/csv" else 0
        self.builder.add_cost("media", (self.rules.responses.file or LATE_FILE) + extra, "file")
        self.builder.add_doubt(-LATE_FILE, 30 + len(text) // 40, "files that are not PDF were recorded three times")

    def _pdf(self, data: bytes, pdf: Pdf, path: str) -> None:
        """The text of the pages. Pages are also billed as pictures where the family or the file says so."""
        self.builder.add_text("media", "\n".join(page.text for page in pdf.pages))
        late = is_tagged_pdf(data)
        pages = len(pdf.pages)
        if self.surface == "chat":
            self.builder.add_cost("media", self.rules.chat.file, "pdf")
            page_cost = self.rules.chat.file_page or (LATE_PAGE if late else 0)
            self.builder.add_cost("media", page_cost * pages, "pdf_pages")
            self.builder.add_doubt(-page_cost * pages, (LATE_PAGE - page_cost) * pages + 5, "PDF pages as pictures")
        else:
            cost = self.rules.responses.file or (LATE_FILE if late else 0)
            self.builder.add_cost("media", cost, "pdf")
            over = LATE_FILE * pages + 4 - cost
            self.builder.add_doubt(-cost - 3 * (pages - 1), over, "what stands around a PDF's text")
        if not pdf.complete:
            self.builder.add_uncounted(path, "document", "the text of some pages cannot be read")
            self.builder.add_doubt(0, 800 * pages, "pages without readable text")

    def _remote_file(self, media: Media) -> None:
        """A file described by the caller, or one that only a URL or an id points to."""
        if media.page_sizes is None and media.text_chars is None:
            self._guess(media, REMOTE_FILE_TOKENS, "its bytes are not in the body; ten pages of text are assumed")
            return
        pages = len(media.page_sizes or ())
        text = math.ceil((media.text_chars or 0) / CHARS_PER_TOKEN)
        chat = self.surface == "chat"
        around = self.rules.chat.file + self.rules.chat.file_page * pages if chat else self.rules.responses.file
        self.builder.add_cost("media", text + around, "described_file")
        over = text + (LATE_PAGE * pages if chat else LATE_FILE)
        self.builder.add_doubt(-(text // 2), over, "a file described by its length")
        self.builder.add_uncounted(media.path, media.kind, "counted from the caller's description", text)


def is_tagged_pdf(data: bytes) -> bool:
    """Whether a PDF has a structure tree, as word processors write it. Nothing is unpacked to find out."""
    return b"/StructTreeRoot" in data
