"""What files cost on Gemini: pictures, pages, sound and film, by generation and platform. Nothing is fetched.

A cost's rule starts with its modality (`IMAGE:grid`), so that a count can be split by it.
"""

from __future__ import annotations

import math
import mimetypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from service.families.google import GoogleMedia, Picture
from service.media.documents import file_text, read_pdf
from service.media.images import image_size
from service.media.recordings import Video, audio_length, read_video
from service.renderers.google.geometry import MOST_TILES, Size, patch_grid, tile_count
from service.types import Doubt, Media

LETTER: Size = (612.0, 792.0)
WIDE: Size = (16.0, 9.0)

ASSUMED_PAGES = 10
ASSUMED_SECONDS = 60.0
"""What is assumed of a document or a recording that is only referred to."""

FLAT_UP_TO = 604
"""The largest side recorded at one price on 2.5 (603 x 427)."""

SOUND_FROM = 2
"""Seconds. A film of 1.3 s was billed without its sound however it was sent, one of 10 s with it (3-flash)."""


@dataclass(frozen=True, slots=True)
class Billed:
    """What one file costs: `costs` are (rule, tokens), `text` is a text file's, `missing` says what is not known."""

    costs: tuple[tuple[str, int], ...] = ()
    text: str | None = None
    doubts: tuple[Doubt, ...] = ()
    missing: str | None = None


class MediaBiller:
    """Bills the files of one prompt. `resolution` is that of the whole request ("" where it sets none)."""

    def __init__(self, rules: GoogleMedia, resolution: str, files: Iterable[Media]) -> None:
        self.rules = rules
        self.resolution = resolution
        self.files = tuple(files)
        self._pages: dict[int, tuple[Size, ...] | None] = {}

    def bill(self, media: Media, *, in_result: bool = False) -> Billed:
        """The cost of one of the files; `in_result` where it stands inside a function response."""
        if in_result and media.reference is not None and not self.rules.results_by_reference:
            return Billed(missing="a file given by reference inside a function response is not looked at")
        kind = _kind(media)
        if kind == "image":
            return self._image(media)
        if kind == "document":
            return self._document(media, in_result=in_result)
        if kind == "audio":
            return self._audio(media)
        return self._video(media) if kind == "video" else _text(media)

    # ------------------------------------------------------------ pictures

    @cached_property
    def alone(self) -> bool:
        """Whether the prompt shows one picture or page in all.

        Only that one is cut into tiles: on Vertex AI a lone page cost 5 tiles, beside an image 1 (2.5-flash).
        """
        shown = 0
        for media in self.files:
            kind = _kind(media)
            shown += kind in ("image", "video")
            if kind == "document":
                pages = self.pages(media)
                shown += 2 if pages is None else len(pages)
        return shown == 1

    def pages(self, media: Media) -> tuple[Size, ...] | None:
        """Page sizes of a PDF in points, read once; None where they are not told."""
        if media.page_sizes is not None:
            return media.page_sizes
        if id(media) not in self._pages:
            pdf = read_pdf(media.data) if media.data is not None else None
            self._pages[id(media)] = tuple((page.width, page.height) for page in pdf.pages) if pdf else None
        return self._pages[id(media)]

    def _level(self, media: Media) -> str:
        """The media resolution of a file without its prefix, "" for the default and for other providers' details."""
        own = media.detail if media.detail and media.detail.startswith(("MEDIA_RESOLUTION_", "num_tokens:")) else None
        level = (own or self.resolution).removeprefix("MEDIA_RESOLUTION_")
        return "" if level == "UNSPECIFIED" else level

    def _image(self, media: Media) -> Billed:
        size = media.size or (image_size(media.data) if media.data is not None else None)
        level = self._level(media)
        budget = _budget(self.rules.image, level)
        if size is None:
            reason = "the file is only referred to" if media.reference else "the size of the picture is not told"
            most = budget * MOST_TILES if self.rules.image_rule == "tiles" and level in ("", "HIGH") else budget
            return Billed((("IMAGE:unseen", most),), missing=reason)
        tokens, doubts = self._picture(self.rules.image_rule, size, budget, level)
        return Billed(((f"IMAGE:{self.rules.image_rule}", tokens),), doubts=doubts)

    def _picture(self, rule: Picture, size: Size, budget: int, level: str) -> tuple[int, tuple[Doubt, ...]]:
        """Tokens of an image or page of this size."""
        if rule == "grid":
            tokens = patch_grid(size, budget)
            return tokens, _doubt_level(level, tokens)
        if level not in ("", "HIGH"):
            return budget, _doubt_level(level, budget)
        crops = budget * tile_count(size)
        if crops == budget:
            return budget, ()
        if rule == "flat" and not level:
            doubt = Doubt(0, crops - budget, "a large picture may be cut into tiles")
            return budget, (doubt,) if max(size) > FLAT_UP_TO else ()
        if not self.alone:
            return budget, (Doubt(0, crops - budget, "pictures beside others may be cut into tiles"),)
        return crops, (Doubt(budget - crops, 0, "the picture may be billed whole"),) if rule == "flat" else ()

    def _document(self, media: Media, *, in_result: bool) -> Billed:
        rules, level = self.rules, self._level(media)
        budget = _budget(rules.image if in_result and rules.results_as_images else rules.page, level)
        pages = self.pages(media)
        sizes = pages if pages is not None else (LETTER,) * (ASSUMED_PAGES if media.reference is not None else 1)
        if media.clip is not None:
            sizes = sizes[max(0, int(media.clip[0]) - 1) : None if media.clip[1] is None else int(media.clip[1])]
        tokens, doubts = 0, list[Doubt]()
        for size in sizes:
            if rules.page_rule == "flat":
                tokens += budget
                continue
            cost, found = self._picture(rules.page_rule, size, budget, level)
            tokens += cost
            doubts += found
        if rules.page_rule == "tiles" and tokens > budget * len(sizes):
            doubts.append(Doubt(budget * len(sizes) - tokens, 0, "a page may be billed whole"))
        if level and media.text_chars != 0:  # "plus native text", says the documentation
            letters = media.text_chars or 2_000 * len(sizes)
            doubts.append(Doubt(0, letters // 3, "the text of the pages may be billed"))
        missing = None
        if pages is None:
            missing = "the file is only referred to" if media.reference else "the pages of the file cannot be read"
        return Billed(((f"{rules.page_modality}:page", tokens),), doubts=_by_reason(doubts), missing=missing)

    # ------------------------------------------------------------ recordings

    def _audio(self, media: Media) -> Billed:
        found = audio_length(media.data, media.mime) if media.data is not None else None
        seconds = media.seconds
        if found:
            seconds = found.trimmed_seconds if self.rules.audio_trimmed else found.played_seconds
        tokens = self._sound(_clipped(ASSUMED_SECONDS if seconds is None else seconds, media))
        if seconds is None:
            reason = "the file is only referred to" if media.reference else "the length of the recording is not told"
            return Billed((("AUDIO:seconds", tokens),), missing=reason)
        doubts = () if found else (Doubt(-2, 3, "the length is given, not read"),)
        return Billed((("AUDIO:seconds", tokens),), doubts=doubts)

    def _sound(self, seconds: float) -> int:
        if self.rules.audio_round == "seconds":
            return self.rules.audio_rate * _round_up(Fraction(seconds))
        return _round_up(self.rules.audio_rate * Fraction(seconds))

    def _video(self, media: Media) -> Billed:
        film = read_video(media.data) if media.data is not None else None
        if film is None and media.seconds is not None:
            film = Video(media.seconds, media.seconds, media.size)
        missing = None
        if film is None:
            missing = "the film is only referred to" if media.reference else "the length of the film is not told"
            film = Video(ASSUMED_SECONDS, ASSUMED_SECONDS)
        level, seconds = self._level(media), _clipped(film.seconds, media)
        frames = max(1, math.floor(seconds * (media.fps or 1.0)) + self.rules.last_frame)
        pictures = frames * self._frame(film.size, level, by_reference=media.reference is not None)
        sound = self._film_sound(film, media, seconds)
        modality = "AUDIO" if media.reference is not None else self.rules.sound_modality
        costs = (("VIDEO:frames", pictures), (f"{modality}:sound", sound))
        doubts = (*_doubt_level(level, pictures), *self._doubt_sound(film, media, sound))
        return Billed(tuple(cost for cost in costs if cost[1]), doubts=doubts, missing=missing)

    def _frame(self, size: Size | None, level: str, *, by_reference: bool) -> int:
        budget = _budget(self.rules.frame, level)
        if self.rules.frame_rule == "flat":
            return budget
        square = self.rules.frame_rule == "square" or by_reference  # 64 for a file by URI, on both platforms
        return patch_grid((1.0, 1.0) if square else size or WIDE, budget)

    def _film_sound(self, film: Video, media: Media, seconds: float) -> int:
        if film.sound_seconds is None or self.rules.sound == "free":
            return 0
        if self.rules.sound == "track":
            return self._sound(_clipped(film.sound_seconds, media))
        whole = math.floor(seconds)
        return self.rules.audio_rate * whole if whole >= SOUND_FROM else 0

    def _doubt_sound(self, film: Video, media: Media, sound: int) -> tuple[Doubt, ...]:
        """Sound is the least known of a film: three files were recorded."""
        if film.sound_seconds is None:
            return ()
        if self.rules.sound == "free":
            likely = self._sound(_clipped(film.sound_seconds, media))
            return (Doubt(0, likely, "the sound of a film may be billed"),)
        if self.rules.sound == "seconds":
            return (Doubt(-sound, 2 * self.rules.audio_rate, "the sound of a film may be absent or longer"),)
        told = media.data is not None  # a described film may have a track up to two frames longer, or none
        return (Doubt(-3 if told else -sound, 3 if told else 5, "the length of the sound track is not certain"),)


# ---------------------------------------------------------------- kinds, lengths, doubts


def _kind(media: Media) -> Literal["image", "document", "audio", "video", "text"]:
    """By MIME type, else by the ending of a reference, else what the dialect took it for."""
    mime = media.mime.partition(";")[0].strip().lower()
    if mime in ("", "application/octet-stream") and media.reference:
        guess = mimetypes.guess_type(media.reference.partition("?")[0])[0]
        mime = guess or ("video/mp4" if "youtu" in media.reference else "")
    if mime == "application/pdf" or (mime == "" and media.kind == "document"):
        return "document"
    kind = media.kind if mime == "" else mime.partition("/")[0]
    if kind == "image" and mime != "image/svg+xml":
        return "image"
    if kind == "audio":
        return "audio"
    return "video" if kind == "video" else "text"


def _text(media: Media) -> Billed:
    """A text file is billed for its text, nothing more (7 requests of 2.0 to 3.5)."""
    text = file_text(media)
    if text is not None:
        return Billed(text=text)
    if media.text_chars is not None:
        return Billed((("TEXT:described", math.ceil(media.text_chars / 4)),), missing="the text is only described")
    if media.data is not None:
        reason = "the kind of the file is not known"
        return Billed((("DOCUMENT:unseen", math.ceil(len(media.data) / 4)),), missing=reason)
    return Billed((("DOCUMENT:unseen", ASSUMED_PAGES * 258),), missing="the file is only referred to")


def _budget(budgets: Mapping[str, int], level: str) -> int:
    """The budget of a media resolution; a part may name its number of tokens itself."""
    if level.startswith("num_tokens:"):
        return int(level.removeprefix("num_tokens:"))
    return budgets.get(level, budgets[""])


def _clipped(seconds: float, media: Media) -> float:
    """The part of a recording that the request asks for."""
    if media.clip is None:
        return seconds
    start, end = media.clip
    return max(0.0, (seconds if end is None else min(seconds, end)) - start)


def _round_up(value: Fraction) -> int:
    """Rounded up, forgiving the noise of a division."""
    return max(0, math.ceil(value - Fraction(1, 10**6)))


def _doubt_level(level: str, tokens: int) -> tuple[Doubt, ...]:
    """No request with a media resolution was recorded: the budgets are the documented ones."""
    return (Doubt(-(tokens // 10), tokens // 20, "media resolution is as documented, not measured"),) if level else ()


def _by_reason(doubts: list[Doubt]) -> tuple[Doubt, ...]:
    """The doubts of many pages, one a reason."""
    sums: dict[str, tuple[int, int]] = {}
    for doubt in doubts:
        low, high = sums.get(doubt.reason, (0, 0))
        sums[doubt.reason] = (low + doubt.low, high + doubt.high)
    return tuple(Doubt(low, high, reason) for reason, (low, high) in sums.items())
