"""What files cost on Gemini: pictures, pages, sound and video, by generation and platform. Nothing is fetched.

The rule of a cost starts with its modality (`IMAGE:grid`), so that a count can be split by modality.
"""

from __future__ import annotations

import math
import mimetypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from service.families.google import GoogleMedia, PictureRule
from service.media.documents import file_text, read_pdf
from service.media.images import image_size
from service.media.recordings import Video, audio_length, read_video
from service.renderers.google.geometry import MAX_TILES, Size, patch_grid, tile_count
from service.types import Doubt, Media

LETTER: Size = (612.0, 792.0)
WIDE: Size = (16.0, 9.0)

ASSUMED_PAGES = 10
ASSUMED_SECONDS = 60.0
"""Assumed for a document or a recording that the request only refers to."""

MAX_SIDE_AT_ONE_PRICE = 604
"""Pixels. The largest picture that was recorded at the price of one tile on 2.5 is 603 x 427."""

MIN_SECONDS_WITH_SOUND = 2
"""A video of 1.3 s was billed without its sound, however it was sent, and one of 10 s with it (3-flash)."""


@dataclass(frozen=True, slots=True)
class FileCost:
    """What one file costs. `costs` are (rule, tokens), `text` is that of a text file, `missing` says what is unknown.
    """

    costs: tuple[tuple[str, int], ...] = ()
    text: str | None = None
    doubts: tuple[Doubt, ...] = ()
    missing: str | None = None


class MediaBiller:
    """Finds the costs of the files of one prompt. `resolution` is the media resolution of the request, or ""."""

    def __init__(self, rules: GoogleMedia, resolution: str, files: Iterable[Media]) -> None:
        self.rules = rules
        self.resolution = resolution
        self.files = tuple(files)
        self._pages: dict[int, tuple[Size, ...] | None] = {}

    def bill(self, media: Media, *, in_result: bool = False) -> FileCost:
        """The cost of one of the files. `in_result` says that it stands inside a function response."""
        if in_result and media.reference is not None and not self.rules.results_by_reference:
            return FileCost(missing="a file given by reference inside a function response is not looked at")
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
    def is_only_picture(self) -> bool:
        """Whether the prompt has one picture or page in all.

        Only then is it cut into tiles: on Vertex AI a page alone cost 5 tiles, and 1 beside an image (2.5-flash).
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
        """Page sizes of a PDF in points, or None where they cannot be known. A file is read once."""
        if media.page_sizes is not None:
            return media.page_sizes
        if id(media) not in self._pages:
            pdf = read_pdf(media.data) if media.data is not None else None
            self._pages[id(media)] = tuple((page.width, page.height) for page in pdf.pages) if pdf else None
        return self._pages[id(media)]

    def _level(self, media: Media) -> str:
        """The media resolution of a file without its prefix. "" for the default and for details of other providers."""
        own = media.detail if media.detail and media.detail.startswith(("MEDIA_RESOLUTION_", "num_tokens:")) else None
        level = (own or self.resolution).removeprefix("MEDIA_RESOLUTION_")
        return "" if level == "UNSPECIFIED" else level

    def _image(self, media: Media) -> FileCost:
        size = media.size or (image_size(media.data) if media.data is not None else None)
        level = self._level(media)
        budget = _find_budget(self.rules.image, level)
        if size is None:
            reason = "the file is only referred to" if media.reference else "the size of the picture is not told"
            most = budget * MAX_TILES if self.rules.image_rule == "tiles" and level in ("", "HIGH") else budget
            return FileCost((("IMAGE:unseen", most),), missing=reason)
        tokens, doubts = self._picture_tokens(self.rules.image_rule, size, budget, level)
        return FileCost(((f"IMAGE:{self.rules.image_rule}", tokens),), doubts=doubts)

    def _picture_tokens(self, rule: PictureRule, size: Size, budget: int, level: str) -> tuple[int, tuple[Doubt, ...]]:
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
            return budget, (doubt,) if max(size) > MAX_SIDE_AT_ONE_PRICE else ()
        if not self.is_only_picture:
            return budget, (Doubt(0, crops - budget, "pictures beside others may be cut into tiles"),)
        return crops, (Doubt(budget - crops, 0, "the picture may be billed whole"),) if rule == "flat" else ()

    def _document(self, media: Media, *, in_result: bool) -> FileCost:
        rules, level = self.rules, self._level(media)
        budget = _find_budget(rules.image if in_result and rules.results_as_images else rules.page, level)
        pages = self.pages(media)
        sizes = pages if pages is not None else (LETTER,) * (ASSUMED_PAGES if media.reference is not None else 1)
        if media.clip is not None:
            sizes = sizes[max(0, int(media.clip[0]) - 1) : None if media.clip[1] is None else int(media.clip[1])]
        tokens, doubts = 0, list[Doubt]()
        for size in sizes:
            if rules.page_rule == "flat":
                tokens += budget
                continue
            cost, found = self._picture_tokens(rules.page_rule, size, budget, level)
            tokens += cost
            doubts += found
        if rules.page_rule == "tiles" and tokens > budget * len(sizes):
            doubts.append(Doubt(budget * len(sizes) - tokens, 0, "a page may be billed whole"))
        if level and media.text_chars != 0:  # the documentation says: "plus native text"
            letters = media.text_chars or 2_000 * len(sizes)
            doubts.append(Doubt(0, letters // 3, "the text of the pages may be billed"))
        missing = None
        if pages is None:
            missing = "the file is only referred to" if media.reference else "the pages of the file cannot be read"
        return FileCost(((f"{rules.page_modality}:page", tokens),), doubts=_sum_by_reason(doubts), missing=missing)

    # ------------------------------------------------------------ recordings

    def _audio(self, media: Media) -> FileCost:
        found = audio_length(media.data, media.mime) if media.data is not None else None
        seconds = media.seconds
        if found:
            seconds = found.trimmed_seconds if self.rules.audio_trimmed else found.played_seconds
        tokens = self._sound_tokens(_apply_clip(ASSUMED_SECONDS if seconds is None else seconds, media))
        if seconds is None:
            reason = "the file is only referred to" if media.reference else "the length of the recording is not told"
            return FileCost((("AUDIO:seconds", tokens),), missing=reason)
        doubts = () if found else (Doubt(-2, 3, "the length is given, not read"),)
        return FileCost((("AUDIO:seconds", tokens),), doubts=doubts)

    def _sound_tokens(self, seconds: float) -> int:
        if self.rules.audio_round == "seconds":
            return self.rules.audio_rate * _round_up(Fraction(seconds))
        return _round_up(self.rules.audio_rate * Fraction(seconds))

    def _video(self, media: Media) -> FileCost:
        video = read_video(media.data) if media.data is not None else None
        if video is None and media.seconds is not None:
            video = Video(media.seconds, media.seconds, media.size)
        missing = None
        if video is None:
            missing = "the film is only referred to" if media.reference else "the length of the film is not told"
            video = Video(ASSUMED_SECONDS, ASSUMED_SECONDS)
        level, seconds = self._level(media), _apply_clip(video.seconds, media)
        frames = max(1, math.floor(seconds * (media.fps or 1.0)) + self.rules.last_frame)
        pictures = frames * self._frame_tokens(video.size, level, by_reference=media.reference is not None)
        sound = self._count_sound_of_video(video, media, seconds)
        modality = "AUDIO" if media.reference is not None else self.rules.sound_modality
        costs = (("VIDEO:frames", pictures), (f"{modality}:sound", sound))
        doubts = (*_doubt_level(level, pictures), *self._doubt_sound_of_video(video, media, sound))
        return FileCost(tuple(cost for cost in costs if cost[1]), doubts=doubts, missing=missing)

    def _frame_tokens(self, size: Size | None, level: str, *, by_reference: bool) -> int:
        budget = _find_budget(self.rules.frame, level)
        if self.rules.frame_rule == "flat":
            return budget
        square = self.rules.frame_rule == "square" or by_reference  # 64 tokens for a file by URI, on both platforms
        return patch_grid((1.0, 1.0) if square else size or WIDE, budget)

    def _count_sound_of_video(self, video: Video, media: Media, seconds: float) -> int:
        if video.sound_seconds is None or self.rules.sound == "free":
            return 0
        if self.rules.sound == "track":
            return self._sound_tokens(_apply_clip(video.sound_seconds, media))
        whole = math.floor(seconds)
        return self.rules.audio_rate * whole if whole >= MIN_SECONDS_WITH_SOUND else 0

    def _doubt_sound_of_video(self, video: Video, media: Media, sound: int) -> tuple[Doubt, ...]:
        """How uncertain the sound of a video is. Only three files with sound were recorded."""
        if video.sound_seconds is None:
            return ()
        if self.rules.sound == "free":
            likely = self._sound_tokens(_apply_clip(video.sound_seconds, media))
            return (Doubt(0, likely, "the sound of a film may be billed"),)
        if self.rules.sound == "seconds":
            return (Doubt(-sound, 2 * self.rules.audio_rate, "the sound of a film may be absent or longer"),)
        told = media.data is not None  # a described video may have a longer track (by up to two frames) or none
        return (Doubt(-3 if told else -sound, 3 if told else 5, "the length of the sound track is not certain"),)


# ---------------------------------------------------------------- kinds, lengths, doubts


def _kind(media: Media) -> Literal["image", "document", "audio", "video", "text"]:
    """The kind of a file: by its MIME type, else by the suffix of its reference, else as the dialect read it."""
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


def _text(media: Media) -> FileCost:
    """A text file is billed for its text and nothing more (7 requests of 2.0 to 3.5)."""
    text = file_text(media)
    if text is not None:
        return FileCost(text=text)
    if media.text_chars is not None:
        return FileCost((("TEXT:described", math.ceil(media.text_chars / 4)),), missing="the text is only described")
    if media.data is not None:
        reason = "the kind of the file is not known"
        return FileCost((("DOCUMENT:unseen", math.ceil(len(media.data) / 4)),), missing=reason)
    return FileCost((("DOCUMENT:unseen", ASSUMED_PAGES * 258),), missing="the file is only referred to")


def _find_budget(budgets: Mapping[str, int], level: str) -> int:
    """The budget in tokens of a media resolution. A part may name its number of tokens itself."""
    if level.startswith("num_tokens:"):
        return int(level.removeprefix("num_tokens:"))
    return budgets.get(level, budgets[""])


def _apply_clip(seconds: float, media: Media) -> float:
    """Seconds of a recording that the request uses."""
    if media.clip is None:
        return seconds
    start, end = media.clip
    return max(0.0, (seconds if end is None else min(seconds, end)) - start)


def _round_up(value: Fraction) -> int:
    """`value` rounded up. An excess of one millionth is taken for the rounding error of a division."""
    return max(0, math.ceil(value - Fraction(1, 10**6)))


def _doubt_level(level: str, tokens: int) -> tuple[Doubt, ...]:
    """The doubt about a media resolution. No request with one was recorded: the budgets are as documented."""
    return (Doubt(-(tokens // 10), tokens // 20, "media resolution is as documented, not measured"),) if level else ()


def _sum_by_reason(doubts: list[Doubt]) -> tuple[Doubt, ...]:
    """The doubts of many pages, summed by reason."""
    sums: dict[str, tuple[int, int]] = {}
    for doubt in doubts:
        low, high = sums.get(doubt.reason, (0, 0))
        sums[doubt.reason] = (low + doubt.low, high + doubt.high)
    return tuple(Doubt(low, high, reason) for reason, (low, high) in sums.items())
