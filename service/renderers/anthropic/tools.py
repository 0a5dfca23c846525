"""Tools as Claude's template writes them: definitions, calls, results, and what their hidden prompts cost.

The text forms were found by rebuilding recorded prompts: 229 of 229 requests with tools count to the token.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from service.families.anthropic_rules import NAMESPACE, AnthropicRules, Definition
from service.renderers.base import RenderingBuilder
from service.types import Json, Tool, ToolCall, ToolChoice

dumps = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
"""JSON with ", " and ": ", other scripts as they are."""

_dumps_sorted = json.JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True).encode
"""The same with keys in alphabetical order at every depth; lists keep their order."""


# ---------------------------------------------------------------- definitions


def definition_text(tool: Tool) -> str:
    """A tool of the caller's. strict, type, cache_control, defer_loading and examples are not written."""
    body: dict[str, Json] = {"description": tool.description} if tool.description else {}
    body["name"] = tool.name
    body["parameters"] = dict(tool.parameters or {})
    return f"\n<function>{_dumps_sorted(body)}</function>"


def reference_text(tools: Sequence[Tool]) -> str:
    """What the references in one result become: the definitions of their tools."""
    return "\n<functions>" + "".join(definition_text(tool) for tool in tools) + "\n</functions>\n"


def is_own(tool: Tool) -> bool:
    """Whether the caller defined the tool (and not the provider)."""
    return tool.kind == "function"


def tool_prompt_tokens(rules: AnthropicRules, choice: ToolChoice) -> int:
    single = choice.parallel is False
    if choice.mode in ("required", "named"):
        return rules.tools.forced_single if single else rules.tools.forced
    return rules.tools.auto_single if single else rules.tools.auto


def find_definition(rules: AnthropicRules, kind: str) -> Definition | None:
    """The hidden definition of a tool type: its own row, or the one that serves all versions of the tool."""
    return rules.definitions.get(kind) or rules.definitions.get(kind.rpartition("_")[0])


UNKNOWN_DEFINITION = 600
"""What a tool type without a row may cost more than the text it is declared in; the known ones cost 190 to 2,500."""


def write_tools(
    builder: RenderingBuilder, rules: AnthropicRules, tools: Sequence[Tool], choice: ToolChoice, *, after_result: bool
) -> None:
    """The tools in context: hidden prompt, definitions in one text, hidden definitions.

    `after_result` says that the prompt ends in a tool result: a forced choice then costs one less (12 of 12 rows of
    Sonnet 4 to Sonnet 4.6).
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
    builder.add_text("tools", "".join(definition_text(tool) for tool in tools if is_own(tool)), "inside")
    for tool in tools:
        if not is_own(tool):
            _write_hidden(builder, rules, tool)


def _write_hidden(builder: RenderingBuilder, rules: AnthropicRules, tool: Tool) -> None:
    """A tool that the provider defines; one without a row is counted from what was sent."""
    hidden = find_definition(rules, tool.kind)
    if hidden is None:
        builder.add_text("tools", dumps(dict(tool.raw)), "inside")
        builder.add_uncounted(tool.path, "tool", "its definition is not known: counted from its text")
        builder.add_doubt(0, UNKNOWN_DEFINITION, "hidden_definition")
        return
    builder.add_cost("tools", hidden.tokens, "hidden_definition")
    if hidden.band:
        builder.add_doubt(-hidden.band, hidden.band, "hidden_definition")


# ---------------------------------------------------------------- calls and results in the conversation

CALLS_OPEN, CALLS_CLOSE = f"<{NAMESPACE}function_calls>", f"</{NAMESPACE}function_calls>"
RESULTS_OPEN, RESULTS_CLOSE = "<function_results>", "</function_results>"


def calls_text(calls: Sequence[ToolCall]) -> str:
    """What stands between the outer tags of the calls of one message; ids are not written, strings stand bare."""
    lines = [""]
    for call in calls:
        lines.append(f'<{NAMESPACE}invoke name="{call.name}">')
        for key, value in _arguments(call).items():
            text = value if isinstance(value, str) else dumps(value)
            lines.append(f'<{NAMESPACE}parameter name="{key}">{text}</{NAMESPACE}parameter>')
        lines.append(f"</{NAMESPACE}invoke>")
    lines.append("")
    return "\n".join(lines)


def _arguments(call: ToolCall) -> Mapping[str, Json]:
    """The arguments by name; what is no object stands under one name of its own."""
    if isinstance(call.arguments, dict):
        return call.arguments
    if call.arguments is None or call.arguments == "":
        return {}
    return {"input": call.arguments}
