"""Families of Anthropic models: the template, the tokenizer and the measured constants of each.

"rows" are requests whose billing was recorded between early 2024 and autumn 2026. "official" is the provider's
documentation as of autumn 2026. A value with neither says so and has a band, which is how far it may be off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from service.families.anthropic_rules import (
    NAMESPACE,
    AnthropicRules,
    Definition,
    DocumentRule,
    ImageRule,
    ThinkingRule,
    ToolPrompt,
)
from service.families.base import Family

# ---------------------------------------------------------------- media

STANDARD_IMAGES = ImageRule(1568, 1568)  # official; 19 rows from 1x1 to 1001x1001 px
HIGH_IMAGES = ImageRule(2576, 4784, after=2)  # official; 7 rows up to 512x512 px, 3 of them with a text behind

# Claude 3.5 Haiku, 6 rows of 2025 and 2026: 23 x 18 patches cost 24 x 18, 11 x 12 cost 12 x 12, a letter page of
# 34 x 45 costs 34 x 46.
HAIKU_35_IMAGES = replace(STANDARD_IMAGES, even=True)

# 20 rows of Claude 3.5 Haiku to Sonnet 4.6: 5 PDFs of one page and 5 texts. Citations: 6 rows, with 2 and 4 chunks.
DOCUMENTS = DocumentRule()
NEW_DOCUMENTS = DocumentRule(wrapper=44, citations=708, chunk=20)  # 8 rows of Opus 4.8 and Sonnet 5, 2 chunks each

# ---------------------------------------------------------------- hidden definitions of the provider's own tools

OLD_DEFINITIONS: Mapping[str, Definition] = {
    "memory": Definition(1069, 2),  # memory_20250818: 2 rows of Sonnet 4.5, November 2025
    "tool_search_tool_bm25": Definition(188),  # 20251119: 10 rows of Sonnet 4.5 and 4.6
    "tool_search_tool_regex": Definition(213, 2),  # 20251119: 1 row of Sonnet 4.5
    "web_fetch_20250910": Definition(527),  # 4 rows of Sonnet 4, 4.5, 4.6 and Haiku 4.5
    "web_search_20250305": Definition(1708, 3),  # 1 row of Sonnet 4.5, beside web fetch
    "bash_20241022": Definition(245, 5),  # official, as are the others without a row
    "bash": Definition(244, 5),
    "text_editor": Definition(700, 10),
    "computer_20241022": Definition(683, 60),
    "computer": Definition(735, 60),
    # These were recorded only together with what the tool brought back. The values are differences.
    "web_search": Definition(1700, 300),  # web_search_20260318: 2 rows of Haiku 4.5
    "web_fetch": Definition(600, 300),
    "code_execution": Definition(1780, 300),  # code_execution_20260120: 3 rows of Sonnet 4.5 and 4.6
}
"""Tool type -> hidden definition. A type without a date stands for the other versions of that tool."""

NEW_DEFINITIONS: Mapping[str, Definition] = {
    "tool_search_tool_bm25": Definition(264),  # 20251119: 12 rows of Opus 4.8 and Fable 5
    "tool_search_tool_regex": Definition(299, 15),  # the older value, times the ratio of the two bm25 values
    "web_fetch_20250910": Definition(760, 1),  # 5 rows of Sonnet 5 and Opus 4.8
    "memory": Definition(1500, 80),  # the older value, times the ratio of the two vocabularies on English text
    "web_search_20250305": Definition(2430, 150),  # likewise
    "bash": Definition(325, 5),  # official
    "text_editor": Definition(700, 300),  # official, the same number for all generations
    "computer": Definition(735, 300),  # official, the same number for all generations
    "computer_toolset": Definition(4230, 60),  # official: 4,520 to 4,590 with the tool prompt
    "browser_toolset": Definition(6320, 60),  # official: 6,610 to 6,670 with the tool prompt
    "web_search": Definition(2430, 450),
    "web_fetch": Definition(850, 400),
    "code_execution": Definition(2500, 500),
}

# ---------------------------------------------------------------- templates

_OLD = AnthropicRules(
    name="anthropic-4.5", layout="document", prefix=1, turn=3, reply=3,  # 496 rows; 1,351 texts
    tools=ToolPrompt(496, 588, 288, 590),  # official; rows 117 of 118, 25 of 25, 2 of 2, 13 of 13
    images=STANDARD_IMAGES, documents=DOCUMENTS, definitions=OLD_DEFINITIONS,
    thinking=ThinkingRule(enabled=29),  # 13 of 13 rows; the block: 1 row of Haiku 4.5
    schema=79,  # 43 of 44 rows
)
_NEW = AnthropicRules(
    name="anthropic-5-sonnet", layout="turns", prefix=2, turn=2, reply=2,  # 62 rows; 1,351 texts
    tools=ToolPrompt(354, 474, 354, 474),  # official; 10 of 10, 6 of 6 and 1 row of Sonnet 5
    images=HIGH_IMAGES, documents=NEW_DOCUMENTS, definitions=NEW_DEFINITIONS,
    thinking=ThinkingRule(kept=True),  # official; the switch costs nothing in 5 rows
    schema=118,  # 3 rows of Opus 4.8 and Sonnet 5
    deferred=93,  # 17 rows of Opus 4.8 and Fable 5
    search_rate=0.57,  # 2 rows of Sonnet 5
)

CLAUDE_2 = AnthropicRules(
    name="anthropic-2", layout="document", prefix=1, turn=4, reply=4,  # 1 row of claude-2.1
    tools=ToolPrompt(0, 0, 0, 0), images=STANDARD_IMAGES, documents=DOCUMENTS,
)
_CLAUDE_3 = replace(_OLD, call_joint=" ", thinking=ThinkingRule())  # the joint: 5 rows
CLAUDE_3_OPUS = replace(
    _CLAUDE_3, name="anthropic-3-opus", tools=ToolPrompt(530, 296, 530, 296),  # rows 2 of 2, 1 row; official 530, 281
)
CLAUDE_3_SONNET = replace(
    _CLAUDE_3, name="anthropic-3-sonnet",
    tools=ToolPrompt(159, 250, 159, 250, band=15),  # official 159, 235; other models: 15 more
)
CLAUDE_3_HAIKU = replace(
    _CLAUDE_3, name="anthropic-3-haiku", tools=ToolPrompt(264, 355, 266, 357),  # rows 1 row, 2 of 2; official 264, 340
)
CLAUDE_35_JUNE = replace(
    _CLAUDE_3, name="anthropic-3.5-sonnet-june", tools=ToolPrompt(294, 276, 294, 276),  # 1 row each; official 294, 261
)
CLAUDE_35_OCTOBER = replace(
    _CLAUDE_3, name="anthropic-3.5-sonnet-october",
    tools=ToolPrompt(313, 314, 271, 272, band=1),  # 1 row each, October 2025; official 346, 313
)
CLAUDE_35_HAIKU = replace(
    _CLAUDE_3, name="anthropic-3.5-haiku", tools=ToolPrompt(264, 355, 266, 357),  # rows 9 of 9, 3 of 3, 1 row, -
    images=HAIKU_35_IMAGES,
)
CLAUDE_37 = replace(
    _OLD, name="anthropic-3.7",
    tools=ToolPrompt(313, 315, 271, 273, band=1),  # 1 row of October 2025; 1 less in 3 of May
    thinking=ThinkingRule(enabled=28),  # 6 of 7 rows; the seventh, of 2026, has 29
)
CLAUDE_4 = replace(
    _OLD, name="anthropic-4", tools=ToolPrompt(313, 315, 271, 273),  # official; rows 28 of 29, 3 of 3, -, 8 of 8
)
CLAUDE_45 = _OLD
CLAUDE_45_OPUS = replace(_OLD, name="anthropic-4.5-opus", thinking=replace(_OLD.thinking, kept=True))  # official
CLAUDE_46 = replace(
    _OLD, name="anthropic-4.6", tools=ToolPrompt(497, 589, 289, 591),  # official; rows 26 of 26, 3 of 3, -, -
    documents=replace(DOCUMENTS, citations=472),  # 2 rows
    thinking=ThinkingRule(  # enabled 3 rows; adaptive 2 rows alone, 1 with a system prompt, 6 with tools
        enabled=28, adaptive=17, adaptive_system=1, kept=True,  # official
        adaptive_tags=(f"<{NAMESPACE}thinking>\n", f"\n</{NAMESPACE}thinking>\n\n"),  # 4 rows
    ),
    schema=80,  # 3 rows
)
CLAUDE_47 = replace(
    _OLD, name="anthropic-4.7", turn=4, reply=6,  # 1,351 texts; 3 rows
    tools=ToolPrompt(675, 804, 675, 804, band=15),  # official
    images=HIGH_IMAGES, documents=NEW_DOCUMENTS, definitions=NEW_DEFINITIONS,
    thinking=replace(CLAUDE_46.thinking, enabled=0, adaptive=0, adaptive_system=0, band=4),  # 1 row of adaptive
    schema=_NEW.schema, search_rate=_NEW.search_rate,
)
CLAUDE_48 = replace(_NEW, name="anthropic-4.8", tools=ToolPrompt(290, 410, 290, 410))  # official; 12 rows of auto
CLAUDE_5_SONNET = _NEW
CLAUDE_5_OPUS = replace(_NEW, name="anthropic-5-opus", tools=ToolPrompt(286, 406, 286, 406, band=5))  # official
CLAUDE_5_FABLE = replace(_NEW, name="anthropic-5-fable", tools=ToolPrompt(290, 410, 290, 410))  # 3 rows of auto
# No page gives the tool prompts of the 5.5 models. This is the middle of the newer ones, with their spread as the band.
CLAUDE_55 = replace(_NEW, name="anthropic-5.5", tools=ToolPrompt(290, 410, 290, 410, band=70))
CLAUDE_LATER = replace(CLAUDE_55, name="anthropic-later")

# ---------------------------------------------------------------- models

_END = r"(?:[-@:](?!\d{1,2}(?!\d)).*)?"
"""A date, `latest` or another suffix, but not a further version number."""


def _row(lines: str, version: str, rules: AnthropicRules, tokenizer: str, *, inferred: bool = False) -> Family:
    """Models named `claude-<line>-<version>` or `claude-<version>-<line>`, with dots or dashes in the version."""
    either = rf"claude-(?:(?:{lines})-(?:{version})|(?:{version})-(?:{lines})){_END}"
    return _plain(either, rules, tokenizer, inferred=inferred)


def _plain(pattern: str, rules: AnthropicRules, tokenizer: str, *, inferred: bool = False) -> Family:
    name = rules.name.replace("anthropic", "claude", 1)
    return Family(name, "anthropic", re.compile(pattern, re.DOTALL), tokenizer, "anthropic", rules, inferred)


V3, V47, V48 = "claude-v3", "claude-v4.7", "claude-v4.8"
_ANY = "opus|sonnet|haiku|fable|mythos"

FAMILIES: tuple[Family, ...] = (
    _plain(rf"claude-(?:instant-)?v?[12](?:[.:-]\d)?{_END}|claude-instant{_END}", CLAUDE_2, "claude"),
    _plain(r"claude-(?:3[.-]5-sonnet|sonnet-3[.-]5)[-@]20240620.*", CLAUDE_35_JUNE, V3),
    _row("sonnet", r"3[.-]5", CLAUDE_35_OCTOBER, V3),
    _row("haiku", r"3[.-]5", CLAUDE_35_HAIKU, V3),
    _row("sonnet", r"3[.-]7", CLAUDE_37, V3),
    _row("opus", "3", CLAUDE_3_OPUS, V3),
    _row("sonnet", "3", CLAUDE_3_SONNET, V3),
    _row("haiku", "3", CLAUDE_3_HAIKU, V3),
    _row("opus|sonnet", "4(?:[.-][01])?", CLAUDE_4, V3),
    _row("sonnet|haiku", r"4[.-]5", CLAUDE_45, V3),
    _row("opus", r"4[.-]5", CLAUDE_45_OPUS, V3),
    _row("opus|sonnet", r"4[.-]6", CLAUDE_46, V3),
    _row("opus", r"4[.-]7", CLAUDE_47, V47),
    _row("opus", r"4[.-]8", CLAUDE_48, V48),
    _row("sonnet", "5(?:[.-]0)?", CLAUDE_5_SONNET, V48),
    _row("opus", "5(?:[.-]0)?", CLAUDE_5_OPUS, V48),
    _row("fable|mythos", "5(?:[.-]0)?", CLAUDE_5_FABLE, V48),
    _plain(r"claude-mythos-preview", CLAUDE_5_FABLE, V48),
    _row("opus|sonnet|haiku", r"5[.-]5", CLAUDE_55, V48),
    _row("fable|mythos", r"5[.-][12]", CLAUDE_55, V48),
    # Names that are in no list: the nearest generation by their number, or the newest.
    _row(_ANY, r"3(?:[.-]\d)?", CLAUDE_3_HAIKU, V3, inferred=True),
    _row(_ANY, r"4(?:[.-][0-6])?", CLAUDE_45, V3, inferred=True),
    _row(_ANY, r"4[.-]7", CLAUDE_47, V47, inferred=True),
    _plain(rf"claude-(?:[a-z]+-)?[5-9](?:[.-].*)?|claude-(?:{_ANY})", CLAUDE_LATER, V48, inferred=True),
)
