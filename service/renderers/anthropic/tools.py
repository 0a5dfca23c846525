"""Writing tools as Claude's template does: definitions, calls, results, and the cost of their hidden prompts.

The forms were found by rebuilding recorded prompts. All 229 recorded requests with tools are counted exactly by them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from service.families.anthropic_rules import NAMESPACE, AnthropicRules, Definition
from service.renderers.base import RenderingBuilder
from service.types import Json, Tool, ToolCall, ToolChoice

to_json = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
"""JSON with blanks after commas and colons. Characters beyond ASCII are not escaped."""

_to_sorted_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True).encode
"""The same with keys in alphabetical order at every depth. Lists keep their order."""


# ---------------------------------------------------------------- definitions


def format_definition(tool: Tool) -> str:
    """The definition of a tool of the caller. Its fields strict, type, cache_control, defer_loading and examples are
    not written."""
    body: dict[str, Json] = {"description": tool.description} if tool.description else {}
    body["name"] = tool.name
    body["parameters"] = dict(tool.parameters or {})
    return f"\n<function>{_to_sorted_json(body)}</function>"


def format_references(tools: Sequence[Tool]) -> str:
    """The tool references in one result, which become the definitions of their tools."""
    return "\n<functions>" + "".join(format_definition(tool) for tool in tools) + "\n</functions>\n"


def is_callers_tool(tool: Tool) -> bool:
    """Whether the caller defined the tool, and not the provider."""
    return tool.kind == "function"


def tool_prompt_tokens(rules: AnthropicRules, choice: ToolChoice) -> int:
    single = choice.parallel is False
    if choice.mode in ("required", "named"):
        return rules.tools.forced_single if single else rules.tools.forced
    return rules.tools.auto_single if single else rules.tools.auto


def find_definition(rules: AnthropicRules, kind: str) -> Definition | None:
    """The hidden definition of a tool type: its own row, or the row for all versions of the tool. None without either.
    """
    return rules.definitions.get(kind) or rules.definitions.get(kind.rpartition("_")[0])


UNKNOWN_DEFINITION = 600
"""Tokens that a tool type without a row may cost more than its declaration. The known types cost 190 to 2,500."""


def write_tools(
    builder: RenderingBuilder, rules: AnthropicRules, tools: Sequence[Tool], choice: ToolChoice, *, after_result: bool
) -> None:
    """Write the tools of a prompt: the hidden prompt, the definitions in one text, and the hidden definitions.

    `after_result` says that the prompt ends in a tool result. A forced choice then costs one token less (12 of 12
    recorded requests, Sonnet 4 to Sonnet 4.6).
    """
    prompt = tool_prompt_tokens(rules, choice)
    forced = choice.mode in ("required", "named")
    if forced and after_result and rules.layout == "document":
        prompt -= 1
    builder.add_cost("tools", prompt, "tool_prompt")
    if rules.tools.band:
        builder.add_doubt(-rules.tools.band, rules.tools.band, "tool_prompt")
    if choice.mode == "named" and choice.name:
        builder.add_text("tools", f' "{choice.name}"', "inside")
    builder.add_text("tools", "".join(format_definition(tool) for tool in tools if is_callers_tool(tool)), "inside")
    for tool in tools:
        if not is_callers_tool(tool):
            _write_provider_tool(builder, rules, tool)


def _write_provider_tool(builder: RenderingBuilder, rules: AnthropicRules, tool: Tool) -> None:
    """A tool that the provider defines. One whose definition is not known is counted from what was sent."""
    hidden = find_definition(rules, tool.kind)
    if hidden is None:
        builder.add_text("tools", to_json(dict(tool.raw)), "inside")
        builder.add_uncounted(tool.path, "tool", "its definition is not known: counted from its text")
        builder.add_doubt(0, UNKNOWN_DEFINITION, "hidden_definition")
        return
    builder.add_cost("tools", hidden.tokens, "hidden_definition")
    if hidden.band:
        builder.add_doubt(-hidden.band, hidden.band, "hidden_definition")


# ---------------------------------------------------------------- calls and results in the conversation

CALLS_OPEN, CALLS_CLOSE = f"<{NAMESPACE}function_calls>", f"</{NAMESPACE}function_calls>"
RESULTS_OPEN, RESULTS_CLOSE = "<function_results>", "</function_results>"


def format_calls(calls: Sequence[ToolCall]) -> str:
    """The text between the outer tags of the calls of one message. Ids are not written, and strings are not quoted."""
    lines = [""]
    for call in calls:
        lines.append(f'<{NAMESPACE}invoke name="{call.name}">')
        for key, value in _arguments(call).items():
            text = value if isinstance(value, str) else to_json(value)
            lines.append(f'<{NAMESPACE}parameter name="{key}">{text}</{NAMESPACE}parameter>')
        lines.append(f"</{NAMESPACE}invoke>")
    lines.append("")
    return "\n".join(lines)


def _arguments(call: ToolCall) -> Mapping[str, Json]:
    """The arguments by name. Arguments that are no object are called `input`."""
    if isinstance(call.arguments, dict):
        return call.arguments
    if call.arguments is None or call.arguments == "":
        return {}
    return {"input": call.arguments}
