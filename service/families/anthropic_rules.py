"""What differs between generations of Claude, as data: the renderer reads it, `families.anthropic` fills it in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

NAMESPACE = "ant" + "ml:"
"""Prefix of the tags in Claude's own markup. Written in two pieces because some tools that read source code take the
whole string for their own."""


@dataclass(frozen=True, slots=True)
class ToolPrompt:
    """Tokens of the hidden prompt that any tool bring with it, by tool_choice.

    `auto` serves auto and none, `forced` any and a named tool; `auto_single` and `forced_single` the same with parallel
    calls switched off. `band` is how far an unmeasured value may be off, both ways.
    """

    auto: int
    forced: int
    auto_single: int
    forced_single: int
    band: int = 0


@dataclass(frozen=True, slots=True)
class Definition:
    """Tokens of the hidden definition of a tool that the provider defines, and how far they may be off."""

    tokens: int
    band: int = 0


@dataclass(frozen=True, slots=True)
class ImageRule:
    """28 px patches after the aspect-preserving resize into `max_edge` px and `max_patches`.

    `block` is what an image costs beside its patches, `after` what the next block of its turn costs more, `in_result`
    what an image costs more inside a tool result. `even` says that a side of an odd number of patches has one more.
    """

    max_edge: int
    max_patches: int
    block: int = 3
    after: int = 1
    in_result: int = 10
    even: bool = False


@dataclass(frozen=True, slots=True)
class DocumentRule:
    """Tokens of a document block beside its words and page images.

    `wrapper` for any document, `text` more for one that is given as text, `title` around a title (and a context)
    without the two brackets next to it. `citations` is the prompt that citations anywhere bring, `chunk` the marks of
    each stretch that can be cited, `search_result` what stands around a search result's texts.
    """

    wrapper: int = 40
    text: int = 1
    title: int = 5
    citations: int = 470
    chunk: int = 19
    search_result: int = 71


@dataclass(frozen=True, slots=True)
class ThinkingRule:
    """`enabled` is the prompt that `thinking: enabled` adds, `adaptive` that of `adaptive` where there is neither a
    system prompt nor a tool, `adaptive_system` what it adds to a system prompt without tools.

    `kept` says that thinking of earlier turns stays in the prompt. In the document layout a block is text between
    tags: `enabled_tags`, or `adaptive_tags` where thinking is not switched on by `enabled`. `band` is how far the
    tokens of the tags may be off.
    """

    enabled: int = 0
    adaptive: int = 0
    adaptive_system: int = 0
    kept: bool = False
    enabled_tags: tuple[str, str] = ("<thinking>", "\n</thinking>\n\n")
    adaptive_tags: tuple[str, str] = ("<thinking>", "\n</thinking>\n\n")
    band: int = 0


@dataclass(frozen=True, slots=True)
class AnthropicRules:
    """The template of one generation.

    `layout`: "document" is one running text of "\\n\\nHuman:" and "\\n\\nAssistant:" turns (Claude 1 to Opus 4.7);
    "turns" has special tokens around each turn and one for each outer tag of calls and results (Opus 4.8 and later).
    `prefix` tokens stand before the first turn, `turn` opens one and `reply` asks for the answer (in the document
    layout both are part of the text, and only booked as frame). `schema` is the structured-output prompt around the
    schema, `call_joint` stands between a text and the call after it, `deferred` is the prompt that deferred tools
    bring, `search_rate` the tokens of a web search result by encrypted byte.
    """

    name: str
    layout: Literal["document", "turns"]
    prefix: int
    turn: int
    reply: int
    tools: ToolPrompt
    images: ImageRule
    documents: DocumentRule
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    thinking: ThinkingRule = ThinkingRule()
    schema: int = 79
    call_joint: str = "\n\n"
    deferred: int = 0
    search_rate: float = 0.48
