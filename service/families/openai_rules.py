"""The constants that tell OpenAI's model families apart; the rows are in `service.families.openai`.

All numbers are tokens unless said otherwise. Measured ones were fitted on 1,718 recorded requests of 31 public
repositories (March 2024 to August 2026) by comparing the declared input tokens with the tokens of the texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

FRAME = 4
"""Of any message: opening mark, role, end of head, closing mark. 700 of 702 recorded text requests, both surfaces."""

ToolLayout = Literal["namespace", "sections"]
"""How function definitions are drawn: one TypeScript namespace (before GPT-5), or headed sections (GPT-5)."""

Surface = Literal["chat", "responses", "completions", "embeddings"]


@dataclass(frozen=True, slots=True)
class TileImages:
    """An image is fitted into `fit` px, then its short side brought down to `shortest` px, and cut in 512 px tiles."""

    base: int
    tile: int
    fit: int = 2048
    shortest: int = 768


@dataclass(frozen=True, slots=True)
class Sizing:
    """Limits an image is brought down to before its patches are counted: long side in px, number of patches."""

    side: int
    patches: int


MAX_PATCHES = 30_000
"""Patches after sizing; more are refused (HTTP 400) by the provider, not resized (images guide, September 2026)."""


@dataclass(frozen=True, slots=True)
class PatchImages:
    """An image costs its 32 px patches times `hundredths` / 100, rounded up, and `chat` or `responses` on top.

    `sizing` is by detail; "auto" is always there and serves for the levels that are not. What comes on top was
    measured on 1 to 4 images a model: it never depended on the size.
    """

    hundredths: int
    sizing: Mapping[str, Sizing]
    chat: int = 1
    responses: int = 1
    measured: bool = False


ImageRule = TileImages | PatchImages


@dataclass(frozen=True, slots=True)
class ChatRules:
    """Chat Completions.

    `reply` opens the answer; `assistant_turn` is the channel marker of an assistant turn in the history. `heading`
    stands before a system text that tools or a schema are merged behind; `tools_cost` corrects the drawn tools.
    `call` is one tool call and its result beyond texts and frames, `parallel` a group of calls and all its results
    beyond the two JSON texts. `named` is a forced tool call beyond its name, None where it is free.
    `schema_turn` and `schema_reply`: whether the name of an output schema is said again on assistant turns and on
    the open reply. `file` is an attached PDF beyond its text and the frame of its own message, `file_page` a page of
    it where pages are billed as pictures too. `frame` is a message beyond its text.
    """

    reply: int
    assistant_turn: int
    heading: str
    tools_cost: int
    call: int
    parallel: int
    named: int | None
    schema_reply: bool
    file: int
    file_page: int = 0
    frame: int = FRAME


@dataclass(frozen=True, slots=True)
class ResponsesRules:
    """The Responses API, whose tools and schema are never merged with other text.

    `tools_cost` and `schema_cost` frame those two. A call costs its arguments, twice "functions.NAME" and `call`
    (`sent_call` where the item has no id: the model did not sample it); a group of n parallel calls costs
    `group` + n * `group_call` instead of n * `call`. `replayed` is added to a lone call that has an id and a status.
    `serial_tools` is added when parallel calls are switched off, `added_tools` once for tools added later,
    `found_tools` once for tools that the provider's search brought in. `file` is an attached file beyond its text and
    the frame of its own message.
    """

    reply: int
    assistant_turn: int
    tools_cost: int
    schema_cost: int
    compact_arguments: bool
    call: int
    sent_call: int
    group: int
    group_call: int
    replayed: int
    named: int | None
    serial_tools: int
    added_tools: int
    found_tools: int = 0
    file: int = 0


@dataclass(frozen=True, slots=True)
class OpenAIRules:
    """What a family row carries. `line` names the rule set in answers, from a closed set.

    `plain` families take texts without any frame (legacy completions, embeddings). `preamble` is a fixed system
    message that the template always adds. `hosted` is the key of the column of hosted-tool costs.
    """

    line: Literal["classic", "o", "gpt5", "oss", "plain"]
    layout: ToolLayout
    chat: ChatRules
    responses: ResponsesRules
    images: ImageRule
    hosted: Literal["gpt4", "gpt5"]
    plain: bool = False
    preamble: int = 0
