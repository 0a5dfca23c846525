"""The constants that differ between generations of Claude; the rows are in `service.families.anthropic`.

All numbers are tokens unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

NAMESPACE = "ant" + "ml:"
"""Prefix of the tags in Claude's own markup. It is written in two pieces, because some tools that read source code take
the whole string for a tag of their own."""


@dataclass(frozen=True, slots=True)
class ToolPrompt:
    """The hidden prompt that comes with any tool, by tool_choice."""

    auto: int
    """For auto and none."""
    forced: int
    """For any and a named tool."""
    auto_single: int
    """For auto and none, with parallel calls switched off."""
    forced_single: int
    """For any and a named tool, with parallel calls switched off."""
    band: int = 0
    """How far a value that was not measured may be off, in both directions."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The hidden definition of a tool that the provider defines. `band` is how far it may be off, in both directions.
    """

    tokens: int
    band: int = 0


@dataclass(frozen=True, slots=True)
class ImageRule:
    """An image costs its patches of 28 px. Before, it is resized into `max_edge` px and `max_patches` patches."""

    max_edge: int
    max_patches: int
    block: int = 3
    """An image block, beside its patches."""
    after: int = 1
    """More for the next block of the same turn."""
    in_result: int = 10
    """More for an image inside a tool result."""
    even: bool = False
    """A side with an odd number of patches has one more."""


@dataclass(frozen=True, slots=True)
class DocumentRule:
    """What a document block costs beside its text and the images of its pages."""

    wrapper: int = 40
    """Any document."""
    text: int = 1
    """More for a document that is given as text."""
    title: int = 5
    """Around a title, or a context, without the two brackets next to it."""
    citations: int = 470
    """The prompt that citations bring, wherever they are used."""
    chunk: int = 19
    """The marks of each piece of text that can be cited."""
    search_result: int = 71
    """Around the texts of a search result."""


@dataclass(frozen=True, slots=True)
class ThinkingRule:
    """What thinking costs, and what of it stays in the prompt."""

    enabled: int = 0
    """The prompt that `thinking: enabled` adds."""
    adaptive: int = 0
    """The prompt that `thinking: adaptive` adds where there is neither a system prompt nor a tool."""
    adaptive_system: int = 0
    """What `thinking: adaptive` adds to a system prompt without tools."""
    kept: bool = False
    """Thinking of earlier turns stays in the prompt."""
    enabled_tags: tuple[str, str] = ("<thinking>", "\n</thinking>\n\n")
    """Tags around the text of a thinking block, in the document layout."""
    adaptive_tags: tuple[str, str] = ("<thinking>", "\n</thinking>\n\n")
    """The same in a request without `thinking: enabled`."""
    band: int = 0
    """How far the tokens of the tags may be off, in both directions."""


@dataclass(frozen=True, slots=True)
class AnthropicRules:
    """The template of one generation."""

    name: str
    layout: Literal["document", "turns"]
    """"document": one running text with turns that begin "\\n\\nHuman:" and "\\n\\nAssistant:" (Claude 1 to Opus 4.7).
    "turns": special tokens around each turn, and one for each outer tag of calls and results (Opus 4.8 and later)."""
    prefix: int
    """In front of the first turn."""
    turn: int
    """Opens a turn. In the document layout it is part of the text, and is only booked under frame."""
    reply: int
    """Asks for the answer. In the document layout it is part of the text, and is only booked under frame."""
    tools: ToolPrompt
    images: ImageRule
    documents: DocumentRule
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    """The hidden definitions of the provider's tools, by tool type."""
    thinking: ThinkingRule = ThinkingRule()
    schema: int = 79
    """The prompt for structured output, around the schema."""
    call_joint: str = "\n\n"
    """Text between a text and the call after it."""
    deferred: int = 0
    """The prompt that deferred tools bring."""
    search_rate: float = 0.48
    """Tokens of a web search result by byte of its encrypted content."""
