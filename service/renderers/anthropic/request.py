"""Rendering a prompt as Claude's template writes it: texts and fixed costs. No token is counted here.

The prompt is rebuilt as running text, so that merges across its parts are counted as the provider counts them. Only
hidden prompts, whose text is not known, are constants. They stand in `families.anthropic`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Protocol

from service.families.anthropic_rules import AnthropicRules
from service.families.base import Family
from service.renderers.anthropic.thinking import find_kept_thinking
from service.renderers.anthropic.tools import to_json, write_tools
from service.renderers.anthropic.turn import Turn
from service.renderers.anthropic.turn_writer import TurnWriter
from service.renderers.base import RenderingBuilder
from service.types import (
    Document,
    Edge,
    Media,
    Message,
    Part,
    Prompt,
    Rendering,
    SearchResult,
    Text,
    ToolResult,
    Unknown,
)

BILLING_HEADER = "x-anthropic-billing-header"
"""Start of a system block of Claude Code that is dropped before rendering. With it a request costs 1 token less in all
(6 of 6 recorded requests)."""

ASSISTANT_FIRST = 12
"""Tokens more where the first message is the assistant's (1 recorded request, Sonnet 4.5)."""

TASK_BUDGET = 33
"""Tokens of output_config.task_budget beside its number (2 recorded requests, Opus 4.7)."""

COMPACTION = 95
"""Tokens around the summary that a compaction block puts in place of all before it (1 recorded request, Sonnet 4.6)."""

CITATIONS_BAND = 10
"""Tokens of doubt in both directions. How citations cut a text into chunks was measured on three texts only."""

RESULT_REPLY = 2
"""Tokens after a turn that ends in a tool result, in the turns layout (15 of 15 recorded requests)."""

MCP_SERVER = 100
"""Tokens assumed for the tools of an MCP server, which only the provider lists. The tool prompt is added to it."""


class Model(Protocol):
    """What is needed of a catalog model."""

    @property
    def model_id(self) -> str: ...
    @property
    def family(self) -> Family: ...


def render(prompt: Prompt, model: Model) -> Rendering:
    """The rendering of a prompt in any dialect for a Claude model."""
    rules: AnthropicRules = model.family.rules
    builder = RenderingBuilder(f"{rules.name}/messages")
    system, messages = _split_system(builder, prompt)
    writer = _write_conversation(builder, rules, prompt, messages)
    has_tools = _write_tools(builder, rules, prompt, writer)
    has_system = _write_system(builder, rules, prompt, system, has_tools=has_tools)
    _write_options(builder, rules, prompt, has_tools=has_tools, has_system=has_system)
    return builder.build()


# ---------------------------------------------------------------- any dialect -> Claude's shape


def _split_system(builder: RenderingBuilder, prompt: Prompt) -> tuple[list[Part], list[Message]]:
    """The parts of the system prompt, and the messages that are rendered.

    In another dialect the leading system messages are the system prompt, and neighbouring tool messages are one
    message. A compaction block stands for all that was before it.
    """
    system, messages = list(prompt.system), list(prompt.messages)
    if prompt.dialect != "anthropic.messages":
        leading = next((i for i, m in enumerate(messages) if m.role not in ("system", "developer")), len(messages))
        system += [part for message in messages[:leading] for part in message.parts]
        messages = list(_join_tool_messages(messages[leading:]))
    for i in range(len(messages) - 1, -1, -1):
        parts = messages[i].parts
        if len(parts) == 1 and type(parts[0]) is Text:  # most messages
            continue
        for k, part in enumerate(parts):
            if not isinstance(part, Unknown) or part.kind != "compaction":
                continue
            content = part.value.get("content") if isinstance(part.value, dict) else None
            if isinstance(content, str):
                builder.add_cost("messages", COMPACTION, "compaction")
                builder.add_doubt(-COMPACTION // 2, COMPACTION // 2, "compaction")
                rest = replace(messages[i], parts=parts[k + 1 :])
                summary = Text(content, part.path)
                return system, [Message("user", (summary,)), *([rest] if rest.parts else []), *messages[i + 1 :]]
    return system, messages


def _join_tool_messages(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages, with neighbouring tool messages as one message of the user."""
    for is_tool, run in groupby(messages, key=lambda message: message.role == "tool"):
        if is_tool:
            yield Message("user", tuple(part for message in run for part in message.parts))
        else:
            yield from run


# ---------------------------------------------------------------- the conversation


def _write_conversation(
    builder: RenderingBuilder, rules: AnthropicRules, prompt: Prompt, messages: Sequence[Message]
) -> TurnWriter:
    declared = {tool.name: tool for tool in prompt.tools}
    writer = TurnWriter(rules, builder, declared, enabled=prompt.thinking == "enabled")
    for message, kept in zip(messages, find_kept_thinking(prompt, rules, messages), strict=True):
        writer.write_message(message, keep_thinking=kept)
    builder.add_cost("frame", rules.prefix, "prefix")
    if writer.turns and writer.turns[0].role == "assistant":
        builder.add_cost("frame", ASSISTANT_FIRST, "assistant_first")
        builder.add_doubt(-ASSISTANT_FIRST, ASSISTANT_FIRST, "assistant_first")
    if rules.layout == "document":
        _write_document_layout(builder, rules, writer.turns)
    else:
        _write_turns_layout(builder, rules, writer.turns)
    return writer


def _write_document_layout(builder: RenderingBuilder, rules: AnthropicRules, turns: Sequence[Turn]) -> None:
    """One text, which only media interrupt. One leading space of a turn is free, since the template writes one itself.
    """
    pieces: list[list[str]] = [[]]
    for turn in turns:
        pieces[-1].append("\n\nAssistant:" if turn.role == "assistant" else "\n\nHuman:")
        texts = turn.join_texts()
        bare = turn.opens_with_call or (turn.breaks and not texts[0]) or (texts[0][:1] == " " and texts[0][1:2] != " ")
        if not bare:
            pieces[-1].append(" ")
        pieces[-1].append(texts[0])
        pieces += [[text] for text in texts[1:]]
    open_end = bool(turns) and turns[-1].role == "assistant"
    in_result = bool(turns) and turns[-1].ends_in_result
    if in_result:
        pieces[-1].append("\n\n")
    elif not open_end:
        pieces[-1].append("\n\nAssistant:")
    for run in pieces[:-1]:
        builder.add_text("messages", "".join(run), "end")
    builder.add_text("messages", "".join(pieces[-1]), "end" if open_end and not in_result else "inside")
    booked = rules.turn * len(turns) + (0 if open_end else rules.reply)
    builder.add_cost("frame", booked, "turns")
    builder.add_cost("messages", -booked, "turns")  # they are part of the text


def _write_turns_layout(builder: RenderingBuilder, rules: AnthropicRules, turns: Sequence[Turn]) -> None:
    """Each turn by itself, and each text between two special tokens by itself."""
    for turn in turns:
        builder.add_cost("frame", rules.turn, "turns")
        for text, (left, right) in zip(turn.join_texts(), pairwise(["start", *turn.breaks, "stop"]), strict=True):
            edge: Edge = "inside" if right == "tag" else "end" if left == "tag" else "open"
            builder.add_text("messages", text, edge)
    if turns and turns[-1].ends_in_result:
        builder.add_cost("frame", RESULT_REPLY, "reply_after_result")
    elif not turns or turns[-1].role != "assistant":
        builder.add_cost("frame", rules.reply, "reply")


# ---------------------------------------------------------------- tools, system prompt, options


def _write_tools(builder: RenderingBuilder, rules: AnthropicRules, prompt: Prompt, writer: TurnWriter) -> bool:
    """Write the tools of the prompt, and return whether there are any. Deferred tools come with the result that names
    them."""
    tools = [tool for tool in prompt.tools if not tool.deferred]
    if tools:
        after_result = bool(writer.turns) and writer.turns[-1].ends_in_result
        write_tools(builder, rules, tools, prompt.tool_choice, after_result=after_result)
        if len(tools) < len(prompt.tools) or writer.additions:
            builder.add_cost("tools", rules.deferred, "deferred_tools")
    servers = prompt.options.get("mcp_servers")
    if isinstance(servers, list):
        for i, path in enumerate(servers):
            assumed = MCP_SERVER + (0 if tools or i else rules.tools.auto)
            builder.add_cost("tools", assumed, "mcp_server")
            builder.add_uncounted(str(path), "mcp_server", "its tools are listed by the provider", assumed)
    return bool(tools)


def _write_system(
    builder: RenderingBuilder, rules: AnthropicRules, prompt: Prompt, parts: Sequence[Part], *, has_tools: bool
) -> bool:
    texts = [text for part in parts if (text := _format_system_part(builder, part))]
    kept = [text for text in texts if not text.startswith(BILLING_HEADER)]
    if len(kept) < len(texts):
        builder.add_cost("system", -1, "billing_header")
    if not kept:
        return False
    system = "\n\n".join(kept)
    if rules.layout == "turns":
        builder.add_text("system", "\n" + system)
        if any(tool.kind.startswith("tool_search") for tool in prompt.tools):
            builder.add_cost("system", -1, "after_tool_search")  # 6 rows: the hidden definition ends in a line break
    elif has_tools:
        builder.add_text("system", system.rstrip())
        builder.add_cost("system", 1, "system_after_tools")
    else:
        builder.add_text("system", system)
    return True


def _format_system_part(builder: RenderingBuilder, part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    kind = type(part).__name__.lower()
    builder.add_uncounted(part.path, kind, "it cannot stand in a system prompt: counted from its text")
    return to_json(part.value) if isinstance(part, Unknown) else ""


def _write_options(
    builder: RenderingBuilder, rules: AnthropicRules, prompt: Prompt, *, has_tools: bool, has_system: bool
) -> None:
    """Add what thinking, structured output, a task budget and citations cost.

    One token stands between each two of: tools, thinking prompt, system prompt, schema prompt.
    """
    enabled = prompt.thinking == "enabled" and rules.thinking.enabled > 0
    if enabled:
        builder.add_cost("frame", rules.thinking.enabled + has_tools, "thinking")
    elif prompt.thinking == "adaptive" and not has_tools:
        adaptive = rules.thinking.adaptive_system if has_system else rules.thinking.adaptive
        builder.add_cost("frame", adaptive, "adaptive_thinking")
    if prompt.output is not None and prompt.output.schema is not None:
        schema = json.dumps(prompt.output.schema, ensure_ascii=False, indent=2)
        builder.add_text("schema", f"\n{schema}\n", "inside")
        builder.add_cost("schema", rules.schema + (has_tools or has_system or enabled), "structured_output")
    budget = prompt.options.get("task_budget")
    if isinstance(budget, int):
        builder.add_text("frame", str(budget))
        builder.add_cost("frame", TASK_BUDGET + (rules.layout == "turns"), "task_budget")
        builder.add_doubt(-8, 8, "task_budget")
    if any(type(part) is not Text and _has_citations(part) for message in prompt.messages for part in message.parts):
        builder.add_cost("frame", rules.documents.citations, "citations")
        builder.add_doubt(-CITATIONS_BAND, CITATIONS_BAND, "citations")


def _has_citations(part: Part) -> bool:
    if isinstance(part, ToolResult):
        return any(_has_citations(inner) for inner in part.parts)
    return isinstance(part, (Document, Media, SearchResult)) and part.citations
