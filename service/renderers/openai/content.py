"""What Chat Completions and the Responses API write alike: the content of messages, arguments of calls, reasoning."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from service.families.openai_rules import OpenAIRules
from service.renderers.base import RenderingBuilder
from service.renderers.openai.media import MediaWriter
from service.types import (
    Document,
    Json,
    Media,
    Part,
    SearchResult,
    Section,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    Unknown,
)

TOKEN_IDS = "token_ids"
"""`Unknown.kind` of a text that is given as a list of token ids. It costs one token an id."""

HIDDEN_UNTIL = 880
"""Characters of encrypted reasoning that hold no reasoning."""

STORED_REASONING = 200
"""Tokens assumed for reasoning that only an id points to."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a message holds: its joined `text`, and the number of `files` that stand in messages of their own.

    `bare` says that it holds nothing but such files. Then there is no message for the rest.
    """

    text: str
    files: int
    bare: bool


@dataclass(slots=True)
class ContentWriter:
    """Writes the parts of messages into `builder`.

    `sealed_first` says that reasoning is billed by its encrypted content and not by the summary beside it (Responses).
    """

    builder: RenderingBuilder
    rules: OpenAIRules
    media_writer: MediaWriter
    sealed_first: bool = False

    def content(self, parts: Iterable[Part], section: Section = "messages", *, in_tool_loop: bool = False) -> Content:
        """Add what is not text (media, encrypted reasoning, unknown blocks), and return the text.

        The texts of all parts are joined, also those with a picture between them. `in_tool_loop` says that the parts
        stand in the running tool loop, where reasoning is billed.
        """
        texts: list[str] = []
        files, others = 0, 0
        for part in parts:
            if isinstance(part, Media):
                own = self.media_writer.add(part)
                files, others = files + own, others + (not own)
            elif isinstance(part, Thinking):
                if in_tool_loop:
                    self.thinking(part)
            elif isinstance(part, Text) and part.thought and not in_tool_loop:
                continue
            else:
                texts.append(self._text(part, section))
                others += 1
        return Content("".join(texts), files, bool(files) and not others)

    def _text(self, part: Part, section: Section) -> str:
        if isinstance(part, Text):
            return part.text
        if isinstance(part, Document):
            return self._write_titled((part.title, part.context), part.parts)
        if isinstance(part, SearchResult):
            return self._write_titled((part.title, part.source), part.parts)
        if isinstance(part, ToolReference):
            return part.name
        if isinstance(part, ToolResult):
            return self.format_result(part)
        if isinstance(part, Unknown):
            self.add_unknown(part, section)
        return ""

    def _write_titled(self, heads: Iterable[str | None], parts: Iterable[Part]) -> str:
        text = self.content(parts).text
        return "\n".join([*(head for head in heads if head), text])

    def add_unknown(self, part: Unknown, section: Section = "messages") -> None:
        """Add a block of an unknown type. It is counted from its JSON text and listed as uncounted."""
        if part.kind == TOKEN_IDS and isinstance(part.value, list):
            self.builder.add_cost(section, len(part.value), TOKEN_IDS)
            return
        text = to_compact_json(part.value)
        self.builder.add_text(section, text)
        self.builder.add_uncounted(part.path, part.kind, "counted from its JSON text", max(1, len(text) // 4))

    def format_result(self, result: ToolResult) -> str:
        """The text of a tool's answer. A structured answer becomes compact JSON."""
        text = self.content(result.parts).text
        return text if result.value is None else text + to_compact_json(result.value)

    # ------------------------------------------------------------ reasoning

    def thinking(self, part: Thinking) -> None:
        """Add reasoning of the running tool loop. Earlier reasoning is not billed (36 of 36 recorded requests)."""
        if part.text and not (self.sealed_first and part.signature):
            self.builder.add_text("messages", part.text)
            self.builder.add_doubt(-len(part.text) // 4, len(part.text) // 4, "reasoning given as text")
        elif part.signature:
            self.add_sealed("reasoning", part.signature, part.path)
        else:
            self.builder.add_cost("messages", STORED_REASONING, "stored_reasoning")
            self.builder.add_uncounted(part.path, "reasoning", "only an id points to it", STORED_REASONING)

    def add_sealed(self, kind: str, blob: str, path: str) -> None:
        """Add encrypted content. It is estimated from its length and listed as uncounted."""
        tokens = estimate_sealed_tokens(len(blob))
        self.builder.add_cost("messages", tokens, "sealed_content")
        self.builder.add_uncounted(path, kind, "encrypted: estimated from its length", tokens)
        self.builder.add_doubt(-(tokens * 2 // 5), tokens * 2 // 5 + 16, "encrypted content")


def estimate_sealed_tokens(characters: int) -> int:
    """Tokens inside `encrypted_content` of that many base64 characters.

    Fitted on 25 recorded requests of gpt-5 to gpt-5.6 (2025 and 2026) with 1,036 to 9,572 characters. The error is at
    most a third. Billed were 24 to 37 tokens for 1,060 characters, 183 for 1,930, 316 for 2,920, 875 for 5,580 and
    1,818 for 9,570.
    """
    inside = max(0, characters - HIDDEN_UNTIL)
    dense = min(inside, 8_700)
    return 8 + round(0.15 * dense + 6.2e-6 * dense * dense + 0.26 * (inside - dense))


# ---------------------------------------------------------------- JSON texts


def to_compact_json(value: Json) -> str:
    """JSON without blanks. Characters beyond ASCII are not escaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def reprint_arguments(arguments: Json, raw: str | None) -> str:
    """Arguments of a call as the provider prints them again: as compact JSON. Text that is no JSON stays as sent."""
    if raw is None:
        return to_compact_json(arguments)
    try:
        return to_compact_json(json.loads(raw))
    except (ValueError, RecursionError):
        return raw
