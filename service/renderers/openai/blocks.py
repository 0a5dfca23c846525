"""The tools section and the hosted tools of a request to OpenAI."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from service.families.openai_rules import OpenAIRules
from service.renderers.base import RenderingBuilder
from service.renderers.openai.content import to_compact_json
from service.renderers.openai.tools import FunctionWriter, render_namespace
from service.types import Tool, ToolChoice

FUNCTION_KINDS = frozenset({"function", "custom"})
"""Kinds of tools that are written from the caller's definition. Tools of other kinds run at the provider."""

PARAGRAPH = 75
"""Tokens of a paragraph on how to call tools, in the full tools section of GPT-5. Measured on 29 recorded requests of
gpt-5, gpt-5-mini and gpt-5.4-mini (2025 and 2026): with it all of them are billed exactly."""


def chat_tools(functions: Iterable[Tool], rules: OpenAIRules, builder: RenderingBuilder) -> str:
    """The tools section of Chat Completions, or "" without functions. GPT-5's paragraph is added as a cost."""
    written = write_functions(functions, builder)
    if not written:
        return ""
    if rules.layout == "namespace":
        return "# Tools\n\n## functions\n\n" + render_namespace(written)
    builder.add_cost("tools", PARAGRAPH, "tools_paragraph")
    head = "# Tools\n\n## Namespace: functions\n\n### Target channel: commentary\n\n### Tool definitions\n"
    return head + "\n\n".join(written)


def responses_tools(functions: Iterable[Tool], rules: OpenAIRules, builder: RenderingBuilder) -> str:
    """The tools section of the Responses API. It has no headings (namespace layout), or no paragraph and no channel."""
    written = write_functions(functions, builder)
    if not written:
        return ""
    if rules.layout == "namespace":
        return render_namespace(written)
    return "# Tools\n\n## Namespace: functions\n\n### Tool definitions\n" + "\n\n".join(written)


def write_functions(functions: Iterable[Tool], builder: RenderingBuilder) -> list[str]:
    """Each function as TypeScript. Adds a doubt where the form of some of it is a guess."""
    writer = FunctionWriter()
    written = [writer.write(tool) for tool in functions]
    guessed = writer.guessed_characters
    if guessed:
        builder.add_doubt(-(guessed // 8) - 1, guessed // 4 + 8, "parts of tools whose form was never recorded")
    return written


def visible_functions(tools: Iterable[Tool]) -> list[Tool]:
    """The tools that are written from their definition. Deferred tools are not shown until something loads them."""
    return [tool for tool in tools if tool.kind in FUNCTION_KINDS and not tool.deferred]


def find_forced_function(choice: ToolChoice, functions: list[Tool]) -> str | None:
    """The function that a call is forced to: the named one, or the only one where some call is required."""
    if choice.mode == "named":
        return choice.name
    if choice.mode == "required" and len(functions) == 1:
        return functions[0].name
    return None


# ---------------------------------------------------------------- hosted tools


@dataclass(frozen=True, slots=True)
class HostedCost:
    """Tokens that declaring a hosted tool costs, for models of GPT-4 and of GPT-5. `seen` names the evidence, or is "".
    """

    gpt4: int
    gpt5: int
    seen: str = ""


HOSTED_COSTS: Mapping[str, HostedCost] = {
    # Each from one recorded request. "exact" says that the tool did not run in it; else its results are in the number.
    "web_search": HostedCost(294, 4_294, "gpt-4.1 February 2026 (ran once), gpt-5.2-chat April 2026 (exact)"),
    "web_search_preview": HostedCost(294, 4_294, "as web_search"),
    "image_generation": HostedCost(345, 345, "gpt-5 October 2025 (exact)"),
    "tool_search": HostedCost(381, 381, "gpt-5.6-sol August 2026 (exact)"),
    "code_interpreter": HostedCost(650, 650, "gpt-5 September 2025, at most 692"),
    "file_search": HostedCost(400, 400, "gpt-4o December 2025, at most 423"),
    "computer": HostedCost(500, 500),
    "shell": HostedCost(500, 500),
    "apply_patch": HostedCost(500, 500),
    "mcp": HostedCost(1_200, 1_200, "o4-mini October 2025: 907 to 1,365 for three servers' lists"),
}
UNKNOWN_HOSTED_COST = HostedCost(500, 500)

_HOSTED_ALIASES = {"computer_use_preview": "computer", "computer-use-preview": "computer", "local_shell": "shell"}


def add_hosted_cost(tool: Tool, rules: OpenAIRules, builder: RenderingBuilder, *, loaded: bool = False) -> None:
    """Add what declaring a hosted tool costs. What it brings back while it runs is billed, too, and cannot be known.

    `loaded` says that tools were already added to the conversation, so that tool_search costs nothing.
    """
    kind = tool.kind.split("_20")[0]
    row = HOSTED_COSTS.get(_HOSTED_ALIASES.get(kind, kind), UNKNOWN_HOSTED_COST)
    if kind == "tool_search" and loaded:
        return
    tokens = row.gpt4 if rules.hosted == "gpt4" else row.gpt5
    text = "" if row.seen else to_compact_json(dict(tool.raw))
    builder.add_text("tools", text)
    builder.add_cost("tools", tokens, "hosted_tool")
    spread = tokens // 4 if row.seen else tokens
    builder.add_doubt(-spread, spread, "hosted tools were recorded once or never")
    builder.add_uncounted(
        tool.path, tool.kind, "declared at an assumed cost; what it brings back is billed too", tokens
    )
