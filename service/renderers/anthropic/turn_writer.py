"""Writing a conversation into the turns of Claude's template.

Calls, their results and the text after them stand in one assistant turn. A result opens no turn of the user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from service.families.anthropic_rules import AnthropicRules
from service.renderers.anthropic.media import write_document, write_image, write_search_result
from service.renderers.anthropic.thinking import hidden_thinking_tokens
from service.renderers.anthropic.tools import (
    CALLS_CLOSE,
    CALLS_OPEN,
    RESULTS_CLOSE,
    RESULTS_OPEN,
    format_calls,
    format_definition,
    format_references,
    to_json,
)
from service.renderers.anthropic.turn import LastKind, Turn
from service.renderers.base import RenderingBuilder
from service.types import (
    Document,
    Media,
    Message,
    Part,
    SearchResult,
    Text,
    Thinking,
    Tool,
    ToolAddition,
    ToolCall,
    ToolReference,
    ToolResult,
    Unknown,
)

TOOL_ADDITION = 32
"""Tokens that a tool addition costs beside the definition (8 of 8 recorded requests, Opus 4.8 and Fable 5)."""

_ROLES: Mapping[str, Literal["system", "user", "assistant"]] = {
    "system": "system", "developer": "system", "assistant": "assistant",
}


@dataclass(slots=True)
class TurnWriter:
    """Writes messages into turns. What is not text is added to the builder at once.

    `tools` are the declared tools by name, `names` the name of the called tool by call id. `enabled` says that the
    request has `thinking: enabled`. `additions` counts the tool additions that were written.
    """

    rules: AnthropicRules
    builder: RenderingBuilder
    tools: Mapping[str, Tool]
    enabled: bool = False
    turns: list[Turn] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    additions: int = 0

    def write_message(self, message: Message, *, keep_thinking: bool) -> None:
        """Write one message. Neighbouring blocks of one kind are written together."""
        role = _ROLES.get(message.role, "user")
        parts = message.parts
        if len(parts) == 1 and type(parts[0]) is Text:  # most messages
            turn = self._get_turn(role)
            if not turn.is_empty:
                turn.write("\n\n")
            turn.write(parts[0].text)
            turn.last = "text"
            return
        before: LastKind = ""
        kept = [part for part in parts if keep_thinking or not isinstance(part, Thinking)]
        for kind, run in groupby(kept, key=_kind):
            self._write_group(kind, list(run), role, before)
            before = self.turns[-1].last if self.turns else ""
        if not kept:
            self._get_turn(role)

    def _get_turn(self, role: Literal["system", "user", "assistant"]) -> Turn:
        if not self.turns or self.turns[-1].role != role:
            self.turns.append(Turn(role))
        return self.turns[-1]

    def _write_group(
        self, kind: LastKind, parts: Sequence[Part], role: Literal["system", "user", "assistant"], before: LastKind
    ) -> None:
        if kind == "call":
            self._write_calls([part for part in parts if isinstance(part, ToolCall)], before)
        elif kind == "result":
            self._write_results([part for part in parts if isinstance(part, ToolResult)])
        elif kind == "thinking":
            self._write_thinking([part for part in parts if isinstance(part, Thinking)])
        elif kind == "text":
            self._write_texts(parts, self._get_turn(role), before)
        else:
            for part in parts:
                self._write_block(part, self._get_turn(role))

    # ------------------------------------------------------------ text, media and the rest

    def _write_texts(self, parts: Sequence[Part], turn: Turn, before: LastKind) -> None:
        """Text blocks of one message are joined without a separator. A blank line stands before the text of another
        message, and before a text after calls."""
        if before == "image":
            self.builder.add_cost("media", self.rules.images.after, "after_image")
        elif not turn.is_empty and before not in ("document", "thinking", "other"):
            turn.write("\n\n")
        for part in parts:
            turn.write(self._format_part(part))
        turn.last = "text"

    def _format_part(self, part: Part) -> str:
        """The text of a text block. A block of an unknown kind is written as the JSON that was sent."""
        if isinstance(part, Text):
            return part.text
        if isinstance(part, Unknown):
            self.builder.add_uncounted(part.path, part.kind, "no rule is known for it: counted from its text")
            return to_json(part.value)
        if isinstance(part, ToolReference):
            tool = self.tools.get(part.name)
            return format_references((tool,)) if tool else part.name
        return ""

    def _write_block(self, part: Part, turn: Turn) -> None:
        if turn.last == "image":
            self.builder.add_cost("media", self.rules.images.after, "after_image")
        if isinstance(part, ToolAddition):
            self.additions += 1
            definitions = "".join(format_definition(tool) for tool in part.tools)
            turn.write(f"<functions>{definitions}\n</functions>")
            self.builder.add_cost("tools", TOOL_ADDITION, "tool_addition")
            turn.last = "other"
        else:
            turn.last = self._write_media(part, turn)

    def _write_media(self, part: Part, turn: Turn) -> LastKind:
        """Write an image, document or search result. Returns the kind of what was written."""
        if isinstance(part, Media) and part.kind == "image":
            turn.add_break("media")
            write_image(self.builder, self.rules, part)
            return "image"
        if isinstance(part, (Media, Document)):
            turn.write("<")  # the markup begins and ends in brackets, which merge with the text beside them
            turn.add_break("media")
            write_document(self.builder, self.rules, part)
            turn.write(">")
            return "document"
        if isinstance(part, SearchResult):
            turn.add_break("media")
            write_search_result(self.builder, self.rules, part)
        return "other"

    # ------------------------------------------------------------ thinking

    def _write_thinking(self, parts: Sequence[Thinking]) -> None:
        turn = self._get_turn("assistant")
        if turn.last in ("text", "call", "result"):
            turn.write("\n\n")
        for part in parts:
            hidden = hidden_thinking_tokens(part, self.rules.layout)
            if hidden:
                self.builder.add_cost("messages", hidden, "hidden_thinking")
                self.builder.add_uncounted(
                    part.path, "thinking", "its text is not shown: counted by its length", hidden
                )
            self._write_thought(turn, "" if hidden else part.text)
        if self.rules.thinking.band:
            self.builder.add_doubt(-self.rules.thinking.band, self.rules.thinking.band, "thinking_block")
        turn.last = "thinking"

    def _write_thought(self, turn: Turn, text: str) -> None:
        if self.rules.layout == "turns":
            turn.add_break("tag")
            self.builder.add_cost("messages", 2, "thinking_tags")
            self.builder.add_text("messages", text)
            turn.write("\n\n")
            return
        tags = self.rules.thinking.enabled_tags if self.enabled else self.rules.thinking.adaptive_tags
        turn.write(tags[0] + text + tags[1])

    # ------------------------------------------------------------ calls and results

    def _write_tag(self, turn: Turn, text: str) -> None:
        """An outer tag. It is text in the document layout, else a special token."""
        if self.rules.layout == "document":
            turn.write(text)
        else:
            turn.add_break("tag")
            self.builder.add_cost("messages", 1, "call_tag")

    def _write_calls(self, calls: Sequence[ToolCall], before: LastKind) -> None:
        turn = self._get_turn("assistant")
        self.names.update((call.call_id, call.name) for call in calls if call.call_id)
        if turn.is_empty:
            turn.opens_with_call = True
            turn.write("\n\n" if self.rules.layout == "document" else "")
        elif turn.last != "thinking":
            turn.write(self.rules.call_joint if before == "text" else "\n\n")
        self._write_tag(turn, CALLS_OPEN)
        turn.write(format_calls(calls))
        self._write_tag(turn, CALLS_CLOSE)
        turn.last = "call"

    def _write_results(self, results: Sequence[ToolResult]) -> None:
        turn = self._get_turn("assistant")
        turn.opens_with_call = turn.opens_with_call or turn.is_empty
        turn.write("\n\n")
        self._write_tag(turn, RESULTS_OPEN)
        if len(results) == 1:
            if results[0].is_error:
                turn.write("\n<error>")
            self._write_answer(results[0], turn)
            if results[0].is_error:
                turn.write("</error>\n")
        else:
            self._write_answers(results, turn)
        self._write_tag(turn, RESULTS_CLOSE)
        turn.last = "result"

    def _write_answers(self, results: Sequence[ToolResult], turn: Turn) -> None:
        """Several results of one message, each with the name of its tool (14 of 14 recorded requests)."""
        turn.write("\n")
        for result in results:
            name = result.name or self.names.get(result.call_id, "")
            tag = "error" if result.is_error else "output"
            turn.write(f"<result>\n<name>{name}</name>\n<{tag}>")
            self._write_answer(result, turn)
            turn.write(f"</{tag}>\n</result>\n")

    def _write_answer(self, result: ToolResult, turn: Turn) -> None:
        """What one tool answered: texts without a separator, references together, files on lines of their own."""
        references = [part for part in result.parts if isinstance(part, ToolReference)]
        found = [tool for part in references if (tool := self.tools.get(part.name))]
        if found:
            turn.write(format_references(found))
        for part in result.parts:
            if isinstance(part, ToolReference):
                if not found:
                    turn.write(part.name)
            elif isinstance(part, Media):
                turn.write("\n")
                if self._write_media(part, turn) == "image":
                    self.builder.add_cost("media", self.rules.images.in_result, "image_in_result")
                turn.write("\n")
            elif isinstance(part, (Document, SearchResult)):
                self._write_media(part, turn)
            elif isinstance(part, Unknown) and part.kind == "web_search_result":
                self._add_search_hit(part)
            else:
                turn.write(self._format_part(part))
        if result.value is not None:
            turn.write(result.value if isinstance(result.value, str) else to_json(result.value))

    def _add_search_hit(self, part: Unknown) -> None:
        """A web search result. Its page is encrypted, so that only its length is known."""
        value = part.value if isinstance(part.value, dict) else {}
        content = value.get("encrypted_content")
        tokens = round(self.rules.search_rate * (len(content) if isinstance(content, str) else 0) * 3 / 4)
        self.builder.add_cost("messages", tokens, "web_search_result")
        self.builder.add_uncounted(part.path, part.kind, "its page is encrypted: counted by its length", tokens)


def _kind(part: Part) -> LastKind:
    if isinstance(part, ToolCall):
        return "call"
    if isinstance(part, ToolResult):
        return "result"
    if isinstance(part, Thinking):
        return "thinking"
    if isinstance(part, (Text, Unknown, ToolReference)):
        return "text"
    if isinstance(part, Media) and part.kind == "image":
        return "image"
    if isinstance(part, (Media, Document)):
        return "document"
    return "other"
