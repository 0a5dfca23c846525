"""What both OpenAI surfaces draw alike: the content of a message, arguments of a call, hidden reasoning."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from service.families.openai_rules import OpenAIRules
from service.renderers.base import RenderingBuilder
from service.renderers.openai.media import MediaPainter
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
"""`Unknown.kind` of a text given as a list of token ids: it costs as many tokens as it has ids."""

HIDDEN_UNTIL = 880
"""Characters of a sealed reasoning blob that hold no reasoning."""

STORED_REASONING = 200
"""Assumed for reasoning that only an id points to."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a message holds: its joined `text`, and how many `files` of it stand in messages of their own. `bare` says
    that nothing but such files is in it, so that it has no message itself."""

    text: str
    files: int
    bare: bool


@dataclass(slots=True)
class ContentDrawer:
    """Draws the parts of messages into `builder`. `sealed_first` says that reasoning is billed by its sealed blob, not
    by a summary beside it (Responses)."""

    builder: RenderingBuilder
    rules: OpenAIRules
    painter: MediaPainter
    sealed_first: bool = False

    def content(self, parts: Iterable[Part], section: Section = "messages", *, live: bool = False) -> Content:
        """Add what is not text (media, sealed reasoning, unknown blocks) and return the text, which is joined: a
        picture between two texts does not part them. `live`: the parts stand in the running tool loop."""
        texts: list[str] = []
        files, others = 0, 0
        for part in parts:
            if isinstance(part, Media):
                own = self.painter.add(part)
                files, others = files + own, others + (not own)
            elif isinstance(part, Thinking):
                if live:
                    self.thinking(part)
            elif isinstance(part, Text) and part.thought and not live:
                continue
            else:
                texts.append(self._text(part, section))
                others += 1
        return Content("".join(texts), files, bool(files) and not others)

    def _text(self, part: Part, section: Section) -> str:
        if isinstance(part, Text):
            return part.text
        if isinstance(part, Document):
            return self._titled((part.title, part.context), part.parts)
        if isinstance(part, SearchResult):
            return self._titled((part.title, part.source), part.parts)
        if isinstance(part, ToolReference):
            return part.name
        if isinstance(part, ToolResult):
            return self.result_text(part)
        if isinstance(part, Unknown):
            self.unknown(part, section)
        return ""

    def _titled(self, heads: Iterable[str | None], parts: Iterable[Part]) -> str:
        text = self.content(parts).text
        return "\n".join([*(head for head in heads if head), text])

    def unknown(self, part: Unknown, section: Section = "messages") -> None:
        """A block of a type we do not know is counted from its JSON text and listed."""
        if part.kind == TOKEN_IDS and isinstance(part.value, list):
            self.builder.cost(section, len(part.value), TOKEN_IDS)
            return
        text = compact(part.value)
        self.builder.text(section, text)
        self.builder.miss(part.path, part.kind, "counted from its JSON text", max(1, len(text) // 4))

    def result_text(self, result: ToolResult) -> str:
        """The text of a tool's answer; a structured answer as compact JSON."""
        text = self.content(result.parts).text
        return text if result.value is None else text + compact(result.value)

    # ------------------------------------------------------------ reasoning

    def thinking(self, part: Thinking) -> None:
        """Reasoning inside the running tool loop; that of earlier turns is not billed (36 of 36 recorded requests)."""
        if part.text and not (self.sealed_first and part.signature):
            self.builder.text("messages", part.text)
            self.builder.doubt(-len(part.text) // 4, len(part.text) // 4, "reasoning given as text")
        elif part.signature:
            self.sealed("reasoning", part.signature, part.path)
        else:
            self.builder.cost("messages", STORED_REASONING, "stored_reasoning")
            self.builder.miss(part.path, "reasoning", "only an id points to it", STORED_REASONING)

    def sealed(self, kind: str, blob: str, path: str) -> None:
        """Encrypted content, estimated from its length and listed."""
        tokens = sealed_tokens(len(blob))
        self.builder.cost("messages", tokens, "sealed_content")
        self.builder.miss(path, kind, "encrypted: estimated from its length", tokens)
        self.builder.doubt(-(tokens * 2 // 5), tokens * 2 // 5 + 16, "encrypted content")


def sealed_tokens(characters: int) -> int:
    """Tokens inside `encrypted_content` of that many base64 characters.

    Fitted on 25 recorded requests of gpt-5 to gpt-5.6 (2025 and 2026) with blobs of 1,036 to 9,572 characters, which
    it meets within a third: 1,060 holds 24 to 37, 1,930 183, 2,920 316, 5,580 875, 9,570 1,818.
    """
    inside = max(0, characters - HIDDEN_UNTIL)
    dense = min(inside, 8_700)
    return 8 + round(0.15 * dense + 6.2e-6 * dense * dense + 0.26 * (inside - dense))


# ---------------------------------------------------------------- JSON texts


def compact(value: Json) -> str:
    """JSON without blanks, characters beyond ASCII kept."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def reprinted(arguments: Json, raw: str | None) -> str:
    """Arguments of a call as they are printed again: compact JSON; what is no JSON stays as sent."""
    if raw is None:
        return compact(arguments)
    try:
        return compact(json.loads(raw))
    except (ValueError, RecursionError):
        return raw
