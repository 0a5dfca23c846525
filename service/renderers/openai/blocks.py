"""The tools section and the hosted tools of a request to OpenAI."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from service.families.openai_rules import OpenAIRules
from service.renderers.base import RenderingBuilder
from service.renderers.openai.content import compact
from service.renderers.openai.tools import ToolDrawer, render_namespace
from service.types import Tool, ToolChoice

DRAWN = frozenset({"function", "custom"})
"""Kinds of tools that are drawn from the caller's definition; the others run at the provider."""

PARAGRAPH = 75
"""A paragraph on how to call tools that stands in the full GPT-5 tools section. Measured on 29 recorded requests of
gpt-5, gpt-5-mini and gpt-5.4-mini, 2025 and 2026, with nothing left over."""


def chat_tools(functions: Iterable[Tool], rules: OpenAIRules, builder: RenderingBuilder) -> str:
    """The tools section of Chat Completions ("" without functions), without GPT-5's paragraph, which is a cost."""
    drawn = draw_functions(functions, builder)
    if not drawn:
        return ""
    if rules.layout == "namespace":
        return "# Tools\n\n## functions\n\n" + render_namespace(drawn)
    builder.cost("tools", PARAGRAPH, "tools_paragraph")
    head = "# Tools\n\n## Namespace: functions\n\n### Target channel: commentary\n\n### Tool definitions\n"
    return head + "\n\n".join(drawn)


def responses_tools(functions: Iterable[Tool], rules: OpenAIRules, builder: RenderingBuilder) -> str:
    """The tools section of the Responses API, which leaves out headings (namespace) or paragraph and channel."""
    drawn = draw_functions(functions, builder)
    if not drawn:
        return ""
    if rules.layout == "namespace":
        return render_namespace(drawn)
    return "# Tools\n\n## Namespace: functions\n\n### Tool definitions\n" + "\n\n".join(drawn)


def draw_functions(functions: Iterable[Tool], builder: RenderingBuilder) -> list[str]:
    drawer = ToolDrawer()
    drawn = [drawer.draw(tool) for tool in functions]
    if drawer.unsure:
        builder.doubt(-(drawer.unsure // 8) - 1, drawer.unsure // 4 + 8, "parts of tools whose form was never recorded")
    return drawn


def visible(tools: Iterable[Tool]) -> list[Tool]:
    """The tools drawn from their definition. Deferred ones are not shown until something loads them."""
    return [tool for tool in tools if tool.kind in DRAWN and not tool.deferred]


def named_choice(choice: ToolChoice, functions: list[Tool]) -> str | None:
    """The function that a call is forced to: the named one, or the only one where some call is required."""
    if choice.mode == "named":
        return choice.name
    if choice.mode == "required" and len(functions) == 1:
        return functions[0].name
    return None


# ---------------------------------------------------------------- hosted tools


@dataclass(frozen=True, slots=True)
class Hosted:
    """What a hosted tool costs by being declared, and how sure that is. `seen` names the evidence, "" for none."""

    gpt4: int
    gpt5: int
    seen: str = ""


HOSTED: Mapping[str, Hosted] = {
    # one recorded request each unless said otherwise; the others bound it from requests in which the tool ran
    "web_search": Hosted(294, 4_294, "gpt-4.1 February 2026 (ran once), gpt-5.2-chat April 2026 (exact)"),
    "web_search_preview": Hosted(294, 4_294, "as web_search"),
    "image_generation": Hosted(345, 345, "gpt-5 October 2025 (exact)"),
    "tool_search": Hosted(381, 381, "gpt-5.6-sol August 2026 (exact)"),
    "code_interpreter": Hosted(650, 650, "gpt-5 September 2025, at most 692"),
    "file_search": Hosted(400, 400, "gpt-4o December 2025, at most 423"),
    "computer": Hosted(500, 500),
    "shell": Hosted(500, 500),
    "apply_patch": Hosted(500, 500),
    "mcp": Hosted(1_200, 1_200, "o4-mini October 2025: 907 to 1,365 for three servers' lists"),
}
UNKNOWN_HOSTED = Hosted(500, 500)

_SPELLED = {"computer_use_preview": "computer", "computer-use-preview": "computer", "local_shell": "shell"}


def hosted_cost(tool: Tool, rules: OpenAIRules, builder: RenderingBuilder, *, loaded: bool = False) -> None:
    """Add what declaring a hosted tool costs; what it brings back while it runs is billed too and cannot be known.
    `loaded`: tools were already added to the conversation, so that tool_search costs nothing."""
    kind = tool.kind.split("_20")[0]
    row = HOSTED.get(_SPELLED.get(kind, kind), UNKNOWN_HOSTED)
    if kind == "tool_search" and loaded:
        return
    tokens = row.gpt4 if rules.hosted == "gpt4" else row.gpt5
    text = "" if row.seen else compact(dict(tool.raw))
    builder.text("tools", text)
    builder.cost("tools", tokens, "hosted_tool")
    spread = tokens // 4 if row.seen else tokens
    builder.doubt(-spread, spread, "hosted tools were recorded once or never")
    builder.miss(tool.path, tool.kind, "declared at an assumed cost; what it brings back is billed too", tokens)
