"""Reading a body of the Messages API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from service.dialects.anthropic.blocks import ToolContext, read_blocks
from service.dialects.anthropic.tools import read_tool
from service.dialects.fields import as_object, as_text, each, join, optional_text
from service.dialects.known_fields import (
    MESSAGES,
    MESSAGES_MESSAGE,
    require_field,
    unknown_fields,
    unknown_in_each,
    unknown_in_texts,
)
from service.errors import InvalidRequest
from service.types import Json, Message, OutputFormat, Prompt, Role, Text, ToolChoice, Warned

DIALECT = "anthropic.messages"

SHORT = frozenset({"model", "messages", "max_tokens", "stream"})
"""A request with these fields alone is read on a shorter path, since looking for all other fields takes longer than
reading a message."""

def read_messages(value: Json, path: str = "") -> Prompt:
    """The prompt of a body of POST /v1/messages or its count_tokens. Raises InvalidRequest naming the JSON path.

    Fields that are not billed (max_tokens, metadata, stream, cache_control, ...) are left out. Unknown fields are left
    out with a warning.
    """
    body = as_object(value, path)
    at = join(path, "messages")
    if body.get("messages") is None:
        raise InvalidRequest(f"{at} is missing: a Messages request holds messages.", field=at)
    said = [*each(body["messages"], at)]
    if body.keys() <= SHORT:
        known = ToolContext()
        messages = tuple([_read_message(item, where, known) for item, where in said])
        return Prompt(messages, dialect=DIALECT, warnings=_unknown_in_messages(said))
    defined = each(body.get("tools"), join(path, "tools"))
    tools = tuple(read_tool(as_object(item, where), where) for item, where in defined)
    known = ToolContext({tool.name: tool for tool in tools})
    return Prompt(
        tuple([_read_message(item, where, known) for item, where in said]),
        system=read_blocks(body.get("system"), join(path, "system"), known),
        tools=tools,
        tool_choice=_read_tool_choice(body.get("tool_choice"), join(path, "tool_choice")),
        output=_read_output(body, path),
        thinking=_read_thinking(body.get("thinking"), join(path, "thinking")),
        dialect=DIALECT,
        options=_read_options(body, path),
        warnings=(
            *_warn_of_context_edits(body, path), *unknown_fields(body, MESSAGES, path), *_unknown_in_messages(said),
        ),
    )


def _unknown_in_messages(said: Sequence[tuple[Json, str]]) -> tuple[Warned, ...]:
    if all(message.keys() == MESSAGES_MESSAGE and type(message["content"]) is str for message, _ in said):
        return ()
    return (*unknown_in_each(said, MESSAGES_MESSAGE), *unknown_in_texts(said))


_ROLES: Mapping[str, Role] = {
    "user": "user", "assistant": "assistant", "system": "system", "developer": "developer", "tool": "tool",
}


def _read_message(value: Json, path: str, known: ToolContext) -> Message:
    message = as_object(value, path)
    given = message.get("role")
    role = _ROLES.get(given) if isinstance(given, str) else None
    if role is None:
        at = f"{path}.role"
        as_text(given, at)
        raise InvalidRequest(f"{at} must be user, assistant or system.", field=at)
    content = message.get("content")
    if type(content) is str:  # most are
        return Message(role, (Text(content, f"{path}.content"),), path=path)
    require_field(message, "content", path, "it holds what the message says")
    return Message(role, read_blocks(content, f"{path}.content", known), path=path)


MODES: Mapping[str, Literal["auto", "none", "required", "named"]] = {
    "auto": "auto", "none": "none", "any": "required", "tool": "named",
}


def _read_tool_choice(value: Json, path: str) -> ToolChoice:
    if value is None:
        return ToolChoice()
    choice = {"type": value} if isinstance(value, str) else as_object(value, path)
    at = join(path, "type")
    mode = MODES.get(optional_text(choice.get("type"), at) or "auto")
    if mode is None:
        raise InvalidRequest(f"{at} must be auto, any, tool or none.", field=at)
    name = optional_text(choice.get("name"), join(path, "name")) or None
    single = choice.get("disable_parallel_tool_use")
    return ToolChoice(mode, name if mode == "named" else None, None if single is None else not single)


def _read_output(body: Mapping[str, Json], path: str) -> OutputFormat | None:
    """The output format: `output_config.format`, or `output_format` of the beta of 2025."""
    at = join(path, "output_config")
    config = body.get("output_config")
    form = None if config is None else as_object(config, at).get("format")
    at = join(at, "format")
    if form is None:
        form, at = body.get("output_format"), join(path, "output_format")
    if form is None:
        return None
    fields = as_object(form, at)
    schema = fields.get("schema")
    return OutputFormat("json_schema", optional_text(fields.get("name"), join(at, "name")),
                        schema={} if schema is None else as_object(schema, join(at, "schema")))


THINKING: Mapping[str, Literal["enabled", "adaptive", "disabled"]] = {
    "enabled": "enabled", "adaptive": "adaptive", "disabled": "disabled", "between_tools": "adaptive",
}


def _read_thinking(value: Json, path: str) -> Literal["enabled", "adaptive", "disabled"] | None:
    if value is None:
        return None
    at = join(path, "type")
    kind = THINKING.get(as_text(as_object(value, path).get("type"), at))
    if kind is None:
        raise InvalidRequest(f"{at} must be enabled, adaptive or disabled.", field=at)
    return kind


def _read_options(body: Mapping[str, Json], path: str) -> dict[str, Json]:
    """What only Anthropic bills: `task_budget` in tokens, and the JSON paths of the MCP servers whose tools it fetches.
    """
    options: dict[str, Json] = {}
    config = body.get("output_config")
    budget = config.get("task_budget") if isinstance(config, dict) else None
    if budget is not None:
        at = join(path, "output_config.task_budget")
        fields = as_object(budget, at)
        tokens = fields.get("remaining")
        tokens, at = (fields.get("total"), f"{at}.total") if tokens is None else (tokens, f"{at}.remaining")
        if isinstance(tokens, bool) or not isinstance(tokens, int):
            raise InvalidRequest(f"{at} must be a whole number.", field=at)
        options["task_budget"] = tokens
    at = join(path, "mcp_servers")
    servers = [where for _, where in each(body.get("mcp_servers"), at)]
    if servers:
        options["mcp_servers"] = servers
    return options


CONTEXT_EDITS = "context_edits_not_applied"
"""Code of the warning that context edits were asked for. The count is that of the conversation as it was sent."""


def _warn_of_context_edits(body: Mapping[str, Json], path: str) -> tuple[Warned, ...]:
    return () if body.get("context_management") is None else (Warned(CONTEXT_EDITS, join(path, "context_management")),)
