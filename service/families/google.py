"""Families of Google models: the template, the tokenizer and the measured constants of each.

The Gemini API and Vertex AI bill the same request differently, so a family has one set of rules for each.

Unless a constant says otherwise it was measured on requests that were recorded between May 2024 and June 2026 with the
promptTokenCount that came back: 427 of 18 public test suites, and 46 more that both platforms received. "Documented"
means Google's pages on tokens and media resolution as of November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from service.families.base import Family

Style = Literal["strings", "python", "declaration", "words"]
"""How tools, calls and results are written: as single strings, as Python stubs, as `declaration:` blocks, or as the
words of such blocks. Each style is a module of `service.renderers.google`."""

Thoughts = Literal["free", "turn", "all"]
"""Which hidden thoughts (signatures) are billed again: none, those since the last message of the user, or all."""

PictureRule = Literal["flat", "tiles", "grid"]
"""How a picture is billed: at one price, by tiles where it is the only picture, or by patches of its shape."""


@dataclass(frozen=True, slots=True)
class GoogleMedia:
    """How files are billed. All numbers are tokens.

    `image`, `page` and `frame` are budgets by media resolution ("" is the default). A budget is the price of a picture
    at one price, the price of one tile, or the most patches of a grid. `frame` is for the frames of a video.
    """

    image: Mapping[str, int]
    page: Mapping[str, int]
    frame: Mapping[str, int]
    image_rule: PictureRule
    page_rule: PictureRule
    frame_rule: Literal["flat", "grid", "square"]
    """"grid" uses the shape of the video, "square" a square."""
    page_modality: Literal["DOCUMENT", "IMAGE"]
    last_frame: bool
    """A frame at the start and one at the end of each second are billed: one more than there are whole seconds."""
    audio_rate: int
    audio_round: Literal["tokens", "seconds"]
    """What is rounded up: the tokens, or the seconds before they are multiplied by the rate."""
    audio_trimmed: bool
    """The delay and the padding of the encoder are not billed."""
    sound: Literal["track", "seconds", "free"]
    """How the sound of a video is billed: by the length of its track, by whole seconds of the video, or not at all."""
    sound_modality: Literal["AUDIO", "VIDEO"] = "AUDIO"
    results_as_images: bool = False
    """A page inside a function response costs what an image costs."""
    results_by_reference: bool = True
    """A file that is given by reference inside a function response is billed."""


@dataclass(frozen=True, slots=True)
class GoogleRules:
    """What one platform bills for one generation."""

    name: str
    style: Style
    media: GoogleMedia
    turn: int = 0
    """Tokens of each content, and of the system instruction, where its role is given."""
    thoughts: Thoughts = "free"
    joins_texts: bool = False
    """Neighbouring texts of a content are one text."""
    type_tokens: int = 1
    """Tokens of a `type` in a schema, in style "strings"."""
    schema_frame: int | None = None
    """Tokens of a JSON response schema beyond its text. None where such a schema is free."""
    tools_inject: bool = False
    """A declared hosted tool adds text of its own when the model uses it."""


@dataclass(frozen=True, slots=True)
class GooglePlatforms:
    """The rules of both platforms."""

    gemini_api: GoogleRules
    vertex: GoogleRules

    def get_rules(self, platform: str | None) -> GoogleRules:
        """The rules of Vertex AI for "vertex", and those of the Gemini API for any other platform or none."""
        return self.vertex if platform == "vertex" else self.gemini_api


# ---------------------------------------------------------------- files

_TILE = {"": 258, "LOW": 66, "MEDIUM": 258, "HIGH": 258}
"""258: each picture and page of 1.5 to 2.5 (31 requests). 66: announced for low resolution in May 2025, unmeasured."""

_FRAME_TIMED = {"": 263, "LOW": 71, "MEDIUM": 263, "HIGH": 263}
"""258 and a time stamp of 5: 526 for 1.3 s and 3,682 for 13.3 s of video (Gemini API, 2.5-flash). Low is unmeasured."""

_IMAGE_3 = {"": 1120, "LOW": 280, "MEDIUM": 560, "HIGH": 1120, "ULTRA_HIGH": 2240}
"""Budgets as documented; the default fits 17 requests of 3-flash to 3.5-flash on both platforms to the token."""

_PAGE_3 = {"": 560, "LOW": 280, "MEDIUM": 560, "HIGH": 1120, "ULTRA_HIGH": 1120}
"""Budgets as documented; the default fits 9 requests (520 for a Letter page, 532 for A4)."""

_FRAME_3 = {"": 70, "LOW": 70, "MEDIUM": 70, "HIGH": 280, "ULTRA_HIGH": 280}
"""Budgets as documented; the default fits 12 requests (66 for 16:9 on the Gemini API, 64 on Vertex AI)."""

_API_2_5 = GoogleMedia(
    image=_TILE, page=_TILE, frame=_FRAME_TIMED, image_rule="flat", page_rule="flat", frame_rule="flat",
    page_modality="DOCUMENT", last_frame=True, audio_rate=32, audio_round="tokens", audio_trimmed=False, sound="track",
)
"""Gemini API, 2.5: exact for 22 of 23 requests with images up to 603 x 427, PDFs of one page, MP3 and WAV."""

_API_2_0 = replace(_API_2_5, image_rule="tiles", page_rule="tiles")
"""Gemini API, 2.0: 540 x 360 cost 1,806 (7 x 258), 3008 x 2000 cost 3,354 (13 x 258). Two PDFs together cost 258 a
page."""

_VERTEX_2 = GoogleMedia(
    image=_TILE, page=_TILE, frame=_TILE, image_rule="tiles", page_rule="tiles", frame_rule="flat",
    page_modality="DOCUMENT", last_frame=False, audio_rate=25, audio_round="seconds", audio_trimmed=False, sound="free",
)
"""Vertex AI, 2.5: one Letter page alone cost 1,290 (5 x 258), the same page beside an image 258. 3.7 s of sound cost
100, 13.3 s of video with sound 3,354 (13 x 258). One or two requests each. On 2.0 sound costs the same (150 once)."""

_API_3 = GoogleMedia(
    image=_IMAGE_3, page=_PAGE_3, frame=_FRAME_3, image_rule="grid", page_rule="grid", frame_rule="grid",
    page_modality="IMAGE", last_frame=False, audio_rate=25, audio_round="tokens", audio_trimmed=True, sound="seconds",
    sound_modality="VIDEO", results_as_images=True, results_by_reference=False,
)
"""Gemini API, 3 and later: exact for 23 of 23 requests. Pages in function responses cost 1,092 and 1,102 (4 requests).
"""

_VERTEX_3 = replace(
    _API_3, frame_rule="square", sound_modality="AUDIO", results_as_images=False, results_by_reference=True
)
"""Vertex AI, 3: exact for 22 of 22 requests (3-flash-preview)."""

_API_3_IMAGE = replace(_API_3, image={**_IMAGE_3, "": 560})
"""Models that make images: 560 for an input image by the price list, unmeasured."""


# ---------------------------------------------------------------- rules

_API_1 = GoogleRules("gemini-1.5/gemini-api", "strings", replace(_API_2_5))
_VERTEX_1 = GoogleRules("gemini-1.5/vertex", "strings", _VERTEX_2)

_API_2 = GoogleRules("gemini-2.0/gemini-api", "strings", _API_2_0)
_VERTEX_2_0 = GoogleRules("gemini-2.0/vertex", "strings", _VERTEX_2)
_V2 = GooglePlatforms(_API_2, _VERTEX_2_0)

_API_2_5_RULES = GoogleRules("gemini-2.5/gemini-api", "python", _API_2_5, turn=1)
_VERTEX_2_5_RULES = GoogleRules("gemini-2.5/vertex", "strings", _VERTEX_2, thoughts="all")

_API_3_RULES = GoogleRules("gemini-3/gemini-api", "declaration", _API_3, turn=1, thoughts="turn", tools_inject=True)
_VERTEX_3_RULES = GoogleRules("gemini-3/vertex", "strings", _VERTEX_3, schema_frame=32, tools_inject=True)
"""The frame of a JSON response schema: one request of 3-flash-preview, 65 tokens for a schema of 33."""

_API_3_5 = GoogleRules("gemini-3.5/gemini-api", "declaration", _API_3, turn=1, thoughts="all", tools_inject=True)
_VERTEX_3_5 = GoogleRules(
    "gemini-3.5/vertex", "words", _VERTEX_3, thoughts="all", joins_texts=True, tools_inject=True
)


def _with_name(name: str, platforms: GooglePlatforms) -> GooglePlatforms:
    """The rules of another generation under a name of their own, so that the accuracy measured there is not claimed."""
    return GooglePlatforms(
        replace(platforms.gemini_api, name=f"{name}/gemini-api"), replace(platforms.vertex, name=f"{name}/vertex")
    )


_V2_5 = GooglePlatforms(_API_2_5_RULES, _VERTEX_2_5_RULES)
_V3 = GooglePlatforms(_API_3_RULES, _VERTEX_3_RULES)
_V3_5 = GooglePlatforms(_API_3_5, _VERTEX_3_5)
_GEMMA_4 = GooglePlatforms(replace(_API_3_RULES, media=_API_2_5), replace(_VERTEX_3_RULES, media=_VERTEX_2))
_V3_IMAGE = GooglePlatforms(replace(_API_3_RULES, media=_API_3_IMAGE), _VERTEX_3_RULES)


def _family(name: str, match: str, rules: GooglePlatforms, *, inferred: bool = False) -> Family:
    return Family(name, "google", re.compile(match), "gemma3", "google", rules, inferred)


FAMILIES: tuple[Family, ...] = (
    # The vocabulary of 1.x is that of Gemma 2, which is not in the data. It differs by one or two tokens in a hundred.
    _family(
        "gemini-1", r"gemini-1\.[05].*|gemini-(pro|ultra)(-vision)?|gemini-(flash|pro)-1\.5.*|learnlm-1\.5.*",
        GooglePlatforms(_API_1, _VERTEX_1),
    ),
    # A frame of 1 token a content: two requests of January 2025. Types are free: two requests of one suite.
    _family(
        "gemini-2.0-thinking", r"gemini-2\.0-flash-thinking.*",
        GooglePlatforms(replace(_API_2, name="gemini-2.0-thinking/gemini-api", turn=1), _VERTEX_2_0),
    ),
    _family(
        "gemini-2.0-exp", r"gemini-2\.0-(flash|pro)-exp.*",
        GooglePlatforms(replace(_API_2, name="gemini-2.0-exp/gemini-api", type_tokens=0), _VERTEX_2_0),
    ),
    _family("gemini-2.0", r"gemini-(live-)?2\.0.*|learnlm-2\.0.*", _V2),
    _family("gemini-2.5", r"gemini-(live-)?2\.5.*|gemini-robotics-er-1\.5.*", _V2_5),
    _family("gemini-3-image", r"gemini-3-pro-image.*", _with_name("gemini-3-image", _V3_IMAGE)),
    _family("gemini-3", r"gemini-3-.*", _V3),
    # 3.1 on Vertex AI is unmeasured. Google's own local tokenizer treats it like 3.5, and not like 3.
    _family(
        "gemini-3.1", r"gemini-(live-)?3\.1.*",
        _with_name("gemini-3.1", GooglePlatforms(replace(_API_3_RULES, thoughts="all"), _VERTEX_3_5)),
    ),
    _family("gemini-3.5", r"gemini-(live-)?3\.[2-5].*", _V3_5),
    _family("gemini-3.6", r"gemini-(live-)?3\.[6-9].*", _with_name("gemini-3.6", _V3_5)),
    # Gemma on the Gemini API: one request of gemma-3-27b-it. Gemma 4's own template has `declaration:` blocks. A PDF of
    # two pages was billed 516 (published answer of gemma-4-31b-it).
    _family("gemma-3", r"gemma-3n?(-.+)?", _with_name("gemma-3", _V2_5)),
    _family("gemma-4", r"gemma-4n?(-.+)?", _with_name("gemma-4", _GEMMA_4)),
    _family(
        "gemini-embedding", r"gemini-embedding-.+|(text-)?(multilingual-)?embedding-\d+|text-embedding-(004|005)"
        r"|text-multilingual-embedding-\d+|textembedding-gecko.*",
        _with_name("gemini-embedding", _V2),
    ),
    _family("gemini-4", r"gemini-4.*", _with_name("gemini-4", _V3_5), inferred=True),
    _family("gemini-next", r"gemini-.+", _with_name("gemini-next", _V3_5), inferred=True),
)
