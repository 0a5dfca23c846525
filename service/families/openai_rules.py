"""The constants that differ between OpenAI's model families; the rows are in `service.families.openai`.

All numbers are tokens unless said otherwise. Measured numbers were fitted on 1,718 recorded requests of 31 public
repositories (March 2024 to August 2026), by comparing the billed input tokens with the tokens of the texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

FRAME = 4
"""Of any message: opening mark, role, end of head, closing mark (700 of 702 recorded text requests, in Chat Completions
and in the Responses API)."""

ToolLayout = Literal["namespace", "sections"]
"""How function definitions are written: as one TypeScript namespace (before GPT-5), or as sections with headings (GPT-5
and later)."""

Surface = Literal["chat", "responses", "completions", "embeddings"]
"""The API whose rules bill a request."""


@dataclass(frozen=True, slots=True)
class TileImages:
    """An image costs `base`, and `tile` for each tile of 512 px that it is cut into.

    Before it is cut it is fitted into `fit` px, and then its short side is brought down to `shortest` px.
    """

    base: int
    tile: int
    fit: int = 2048
    shortest: int = 768


@dataclass(frozen=True, slots=True)
class Sizing:
    """What an image is brought down to before its patches are counted: px of its long side, number of patches."""

    side: int
    patches: int


MAX_PATCHES = 30_000
"""Patches after resizing. The provider refuses an image with more (HTTP 400) and does not resize it (images guide,
September 2026)."""


@dataclass(frozen=True, slots=True)
class PatchImages:
    """An image costs its patches of 32 px times `hundredths` / 100, rounded up, and a constant."""

    hundredths: int
    sizing: Mapping[str, Sizing]
    """By level of detail. "auto" is always there, and serves for levels that are not."""
    chat: int = 1
    """The constant in Chat Completions. It was measured on 1 to 4 images a model and never depended on the size."""
    responses: int = 1
    """The constant in the Responses API, measured likewise."""
    measured: bool = False
    """Whether the sizing was measured on recorded requests and not only read in the images guide."""


ImageRule = TileImages | PatchImages


@dataclass(frozen=True, slots=True)
class ChatRules:
    """What Chat Completions costs beside the texts."""

    reply: int
    """Opens the answer."""
    assistant_turn: int
    """The channel marker of an assistant turn in the history."""
    heading: str
    """Text in front of a system text that tools or a schema are merged behind."""
    tools_cost: int
    """Corrects the text of all tools."""
    call: int
    """A tool call and its result, beyond their texts and frames."""
    parallel: int
    """Several calls of one turn and all their results, beyond the two JSON texts."""
    named: int | None
    """A forced call, beyond the name of the tool. None where it is free."""
    schema_reply: bool
    """Whether the open answer repeats the name of the output schema, as assistant turns do."""
    file: int
    """An attached PDF, beyond its text and the frame of its own message."""
    file_page: int = 0
    """A page of a PDF, where pages are billed as pictures, too."""
    frame: int = FRAME
    """A message, beyond its text."""


@dataclass(frozen=True, slots=True)
class ResponsesRules:
    """What the Responses API costs beside the texts. Its tools and schema are never merged with other text.

    A call costs its arguments, twice the text "functions.NAME", and `call`. A group of n parallel calls costs `group` +
    n x `group_call` in place of n x `call`.
    """

    reply: int
    """Opens the answer."""
    assistant_turn: int
    """The channel marker of an assistant message."""
    tools_cost: int
    """The frame of the tools."""
    schema_cost: int
    """The frame of the schema."""
    compact_arguments: bool
    """Whether the arguments of a call are printed again as compact JSON, or stand as they were sent."""
    call: int
    sent_call: int
    """In place of `call` where the item has no id, which means that the model did not make the call."""
    group: int
    group_call: int
    replayed: int
    """More for a single call that has an id and a status."""
    named: int | None
    """A forced call, beyond the name of the tool. None where it is free."""
    serial_tools: int
    """More where parallel calls are switched off."""
    added_tools: int
    """More where tools are added later, once."""
    found_tools: int = 0
    """More where the provider's search added tools, once."""
    file: int = 0
    """An attached file, beyond its text and the frame of its own message."""


@dataclass(frozen=True, slots=True)
class OpenAIRules:
    """All rules of a family."""

    line: Literal["classic", "o", "gpt5", "oss", "plain"]
    """Names the rule set in answers and in the accuracy table."""
    layout: ToolLayout
    chat: ChatRules
    responses: ResponsesRules
    images: ImageRule
    hosted: Literal["gpt4", "gpt5"]
    """Which column of the costs of hosted tools applies."""
    plain: bool = False
    """Texts have no frame (legacy completions, embeddings)."""
    preamble: int = 0
    """A fixed system message that the template always adds."""
