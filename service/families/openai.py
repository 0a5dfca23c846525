"""Families of OpenAI models: the template, the tokenizer and the measured constants of each.

Encodings are those of tiktoken 0.14.0 (August 2026). Image rules are those of the images guide (mid 2026) and, where
`measured` says so, of recorded requests. Each constant says what it was measured on. "rows" are recorded requests.
"""

from __future__ import annotations

import re
from dataclasses import replace

from service.families.base import Family
from service.families.openai_rules import (
    MAX_PATCHES,
    ChatRules,
    ImageRule,
    OpenAIRules,
    PatchImages,
    ResponsesRules,
    Sizing,
    TileImages,
)

# ---------------------------------------------------------------- templates

CLASSIC_CHAT = ChatRules(
    reply=3,  # 490 rows of gpt-3.5 to gpt-4.1; the cookbook says the same
    assistant_turn=0,
    heading="",
    tools_cost=-1,  # 153 of 157 rows
    call=5,  # 154 of 156 rows
    parallel=16,  # 35 of 35 rows
    named=4,  # 29 of 29 rows
    schema_reply=True,  # 107 of 107 rows with a schema
    file=212,  # 5 rows of gpt-4o and gpt-4o-mini, April 2025 to February 2026
)
SEARCH_CHAT = replace(CLASSIC_CHAT, reply=0, frame=0)  # 3 rows of the search models, 2025: the texts alone are billed
O_CHAT = replace(CLASSIC_CHAT, reply=2, tools_cost=0)  # o3-mini 2025: 2 rows with tools
GPT5_CHAT = ChatRules(
    reply=2,
    assistant_turn=2,  # "final" channel marker
    heading="# Instructions\n\n",
    tools_cost=0,  # 29 of 29 rows
    call=11,
    parallel=22,
    named=None,
    schema_reply=False,
    file=213,  # 6 rows of gpt-5-mini, January and February 2026
)

GPT54_CHAT = replace(GPT5_CHAT, file_page=779)  # 1 file, May and August 2026; gpt-4.1-nano was billed the same

CLASSIC_RESPONSES = ResponsesRules(
    reply=3,
    assistant_turn=0,
    tools_cost=3,  # 57 of 59 rows
    schema_cost=5,  # 61 of 61 rows, with GPT-5's
    compact_arguments=False,  # as sent
    call=9,
    sent_call=9,  # 25 of 25 rows without item id
    group=0,
    group_call=9,
    replayed=3,  # 49 of 63 rows; the others have 0 to 5, since the provider replays the tokens that it sampled
    named=4,
    serial_tools=0,
    added_tools=0,
)
O_RESPONSES = replace(CLASSIC_RESPONSES, reply=2)
GPT5_RESPONSES = ResponsesRules(
    reply=2,
    assistant_turn=2,
    tools_cost=3,  # 64 of 65 rows
    schema_cost=4,
    compact_arguments=True,
    call=18,
    sent_call=18,  # 49 rows of gpt-5.4 to 5.6, 2026
    group=22,
    group_call=12,  # groups of 2 (5 rows) and of 4 (1 row), gpt-5.4 and gpt-5.4-nano, 2026
    replayed=0,
    named=None,
    serial_tools=78,  # 1 row of gpt-5-mini, 2026
    added_tools=84,  # 3 rows of gpt-5, July 2026; 2 less beside tool_search (2 rows of gpt-5.6-sol)
    found_tools=64,  # 12 rows of gpt-5.4 and gpt-5.6-sol, July 2026: 62 to 79
    file=13,  # 9 rows of gpt-5.4, gpt-5.4-nano and gpt-5-nano, July and August 2026
)
EARLY_GPT5_RESPONSES = replace(GPT5_RESPONSES, sent_call=15, file=0)  # 5 of 6 rows of gpt-5, gpt-5.2, 2025 and 2026
NANO_RESPONSES = replace(EARLY_GPT5_RESPONSES, file=13)

# ---------------------------------------------------------------- images

TILES = TileImages(85, 170)  # gpt-4o and gpt-4.1: 12 rows exact
TILES_4O_MINI = TileImages(2833, 5667)  # 7 rows exact
TILES_O = TileImages(75, 150)
TILES_GPT5 = TileImages(70, 140)  # 1 row of gpt-5 exact
TILES_COMPUTER = TileImages(65, 129)
TILES_IMAGE = TileImages(65, 129, shortest=512)

SMALL = {"auto": Sizing(2048, 1536)}
WIDE = {"auto": Sizing(2048, 6144)}
GPT54 = {"auto": Sizing(2048, 2500), "low": Sizing(2048, 6144), "original": Sizing(6000, 10_000)}
GPT55 = {"auto": Sizing(6000, 10_000), "low": Sizing(512, 256), "high": Sizing(2048, 2500)}
GPT56 = {"auto": Sizing(65_535, MAX_PATCHES), "low": Sizing(512, 256), "high": Sizing(2048, 2500)}

PATCH_41_MINI = PatchImages(162, WIDE, chat=0, responses=2, measured=True)  # 4 rows, August 2026
PATCH_41_NANO = PatchImages(246, SMALL, chat=1, responses=1, measured=True)  # 2 rows, October 2025
PATCH_O4_MINI = PatchImages(172, SMALL)
PATCH_5_MINI = PatchImages(120, SMALL, chat=2, responses=2, measured=True)  # 7 rows, January to June 2026
PATCH_5_NANO = PatchImages(150, SMALL, chat=1, responses=0, measured=True)  # chat 2025-08, responses 2026: 2 rows each
PATCH_52 = PatchImages(120, WIDE)
PATCH_54 = PatchImages(120, GPT54, chat=1, responses=1, measured=True)  # 4 rows, May 2026
PATCH_55 = PatchImages(120, GPT55)
PATCH_56 = PatchImages(120, GPT56, chat=2, responses=2, measured=True)  # 1 row of gpt-5.6-terra, August 2026

# ---------------------------------------------------------------- rule sets

CLASSIC = OpenAIRules("classic", "namespace", CLASSIC_CHAT, CLASSIC_RESPONSES, TILES, "gpt4")
SEARCH = replace(CLASSIC, chat=SEARCH_CHAT)
CLASSIC_5 = replace(CLASSIC, images=TILES_GPT5, hosted="gpt5")
O_SERIES = OpenAIRules("o", "namespace", O_CHAT, O_RESPONSES, TILES_O, "gpt4")
GPT5 = OpenAIRules("gpt5", "sections", GPT5_CHAT, EARLY_GPT5_RESPONSES, TILES_GPT5, "gpt5")
GPT5_NANO = replace(GPT5, responses=NANO_RESPONSES, images=PATCH_5_NANO)
GPT54_ON = replace(GPT5, chat=GPT54_CHAT, responses=GPT5_RESPONSES, images=PATCH_54)
OSS = OpenAIRules(
    "oss", "sections", GPT5_CHAT, GPT5_RESPONSES, TILES, "gpt5",
    preamble=67,  # the system message of the published harmony template, September 2025; its date line varies by 1
)
PLAIN = replace(CLASSIC, line="plain", plain=True)

# ---------------------------------------------------------------- rows

_DATE = r"(?:-\d{4}-\d\d-\d\d|-\d{4}|-latest|-preview)*"
_VERSION = r"(?::[\w.-]*)*"


def _row(
    name: str, ids: str, rules: OpenAIRules, *, tokenizer: str = "o200k_base", images: ImageRule | None = None,
    inferred: bool = False,
) -> Family:
    """A family of the ids that fit `ids`, with or without a date, and with or without what a fine-tune adds."""
    match = re.compile(rf"(?:ft:)?(?:{ids}){_DATE}{_VERSION}")
    rules = replace(rules, images=images) if images else rules
    return Family(name, "openai", match, tokenizer, "openai", rules, inferred)


CL100K, P50K, R50K = "cl100k_base", "p50k_base", "r50k_base"

FAMILIES: tuple[Family, ...] = (
    # texts without a frame
    _row("openai-embedding", r"text-embedding-(?:ada-002|3-small|3-large)(?:-v\d)?", PLAIN, tokenizer=CL100K),
    _row("openai-completion", r"gpt-3[.]?5-turbo-instruct(?:-0914)?", PLAIN, tokenizer=CL100K),
    _row("openai-completion", r"(?:davinci|babbage)(?:-002|(?=:20))", PLAIN, tokenizer=CL100K),
    _row("openai-davinci", r"text-davinci-00[23]|code-(?:davinci|cushman)-00\d|(?:davinci|cushman)-codex", PLAIN,
         tokenizer=P50K),
    _row("openai-edit", r"(?:text|code)-davinci-edit-001", PLAIN, tokenizer="p50k_edit"),
    _row("openai-gpt3", r"(?:text-)?(?:davinci|curie|babbage|ada)(?:-001)?", PLAIN, tokenizer=R50K),
    _row("openai-gpt3", r"(?:text-similarity|text-search|code-search)-(?:davinci|curie|babbage|ada)-[a-z-]*001", PLAIN,
         tokenizer=R50K),
    _row("openai-gpt2", r"gpt-?2", PLAIN, tokenizer="gpt2"),
    # gpt-3.5, gpt-4
    _row("gpt-3.5", r"gpt-3[.]?5(?:-turbo)?(?:-16k)?(?:-0301|-0613|-1106|-0125)?", CLASSIC, tokenizer=CL100K),
    _row("gpt-4", r"gpt-4(?:-32k|-turbo|-vision|-1106|-0125|-0314|-0613|-8k)*", CLASSIC, tokenizer=CL100K),
    # gpt-4o to gpt-4.5
    _row("gpt-4o-search", r"gpt-4o-search", SEARCH),
    _row("gpt-4o-mini-search", r"gpt-4o-mini-search", SEARCH, images=TILES_4O_MINI),
    _row("gpt-4o-mini", r"gpt-4o-mini(?:-audio|-realtime|-transcribe|-diarize|-tts)*", CLASSIC,
         images=TILES_4O_MINI),
    _row("gpt-4o", r"(?:chatgpt|gpt)-4o(?:-audio|-realtime|-transcribe|-diarize|:extended)*|gpt-4[.]5", CLASSIC),
    _row("gpt-4.1", r"gpt-4[.]1", CLASSIC),
    _row("gpt-4.1-mini", r"gpt-4[.]1-mini", CLASSIC, images=PATCH_41_MINI),
    _row("gpt-4.1-nano", r"gpt-4[.]1-nano", CLASSIC, images=PATCH_41_NANO),
    _row("gpt-audio", r"gpt-(?:audio|realtime|live|voice)(?:-mini|-\d(?:[.]\d)?|-translate|-whisper|-transcribe)*"
         r"|gpt-transcribe|gpt-4o-transcribe-diarize", CLASSIC),
    _row("gpt-image", r"(?:chat)?gpt-image(?:-\d(?:[.]\d)?)?(?:-mini|-flare|-sunburst)?", CLASSIC, images=TILES_IMAGE),
    _row("computer-use", r"computer-use", CLASSIC, images=TILES_COMPUTER),
    # o series
    _row("o1-mini", r"o1-mini|o1-preview", CLASSIC),
    _row("o", r"o1(?:-pro)?|o3(?:-mini|-pro|-deep-research)?", O_SERIES),
    _row("o4-mini", r"o4-mini(?:-deep-research)?|codex-mini", O_SERIES, images=PATCH_O4_MINI),
    # gpt-5: models with "chat" in their name have the older template
    _row("gpt-5-chat", r"gpt-5(?:[.]\d)?-chat|gpt-chat", CLASSIC_5),
    _row("gpt-5", r"gpt-5(?:-pro|-codex|-search-api|-image|-image-mini)*", GPT5),
    _row("gpt-5-mini", r"gpt-5-mini|gpt-5[.]1-codex-mini|gpt-5-codex-mini", GPT5, images=PATCH_5_MINI),
    _row("gpt-5-nano", r"gpt-5-nano", GPT5_NANO),
    _row("gpt-5.1", r"gpt-5[.]1(?:-pro|-codex|-max)*", GPT5),
    _row("gpt-5.2", r"gpt-5[.][23](?:-pro|-codex|-spark|-instant)*", GPT5, images=PATCH_52),
    _row("gpt-5.4", r"gpt-5[.]4(?:-mini|-nano|-pro|-codex|-image-2)*", GPT54_ON),
    _row("gpt-5.5", r"gpt-5[.]5(?:-pro|-codex|-cyber|-instant)*", GPT54_ON, images=PATCH_55),
    _row("gpt-5.6", r"gpt-5[.]6(?:-sol|-terra|-luna|-cyber|-pro|-codex)*", GPT54_ON, images=PATCH_56),
    # Text of gpt-6-luna was measured by others (400 prompts: o200k_base and 6 tokens); the rest is the nearest template
    _row("gpt-6", r"gpt-6(?:[.]\d)?(?:-astra|-sol|-luna|-terra|-cyber|-rosalind|-pro|-mini|-nano)*", GPT54_ON,
         images=PATCH_56, inferred=True),
    _row("gpt-oss", r"gpt-oss(?:-safeguard)?(?:-\d+b)?(?:[-:][a-z0-9.-]+)?", OSS, tokenizer="o200k_harmony"),
    # unknown members of known families
    _row("gpt-4-other", r"gpt-4-[a-z0-9-]+", CLASSIC, tokenizer=CL100K, inferred=True),
    _row("gpt-4o-other", r"(?:chatgpt|gpt)-4o-[a-z0-9.-]+|chatgpt-[a-z0-9.-]+|gpt-4[.]\d(?:-[a-z0-9.-]+)?", CLASSIC,
         inferred=True),
    _row("o-other", r"o[1-9](?:-[a-z0-9.-]+)?", O_SERIES, inferred=True),
    _row("gpt-5-chat-other", r"gpt-[5-9](?:[.]\d)?-chat-[a-z0-9.-]+", CLASSIC_5, inferred=True),
    _row("gpt-5-other", r"gpt-(?:[5-9]|[1-9]\d)(?:[.]\d+)?(?:-[a-z0-9.-]+)?|gpt-rosalind-[a-z0-9.-]+", GPT54_ON,
         images=PATCH_56, inferred=True),
    _row("gpt-audio-other", r"gpt-(?:audio|realtime|live|image)-[a-z0-9.-]+", CLASSIC, inferred=True),
    _row("openai-embedding-other", r"text-embedding-(?!00[0-9])[a-z0-9.-]+", PLAIN, tokenizer=CL100K, inferred=True),
)
