"""Anthropic's wire: Messages bodies, the count_tokens endpoint and its beta, Anthropic's errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from service.dialects.anthropic.blocks import Conversation, read_blocks, read_tool
from service.dialects.fields import (
    NULL,
    OBJECT,
    OBJECTS,
    STRING,
    Endpoint,
    Wire,
    any_of,
    as_object,
    as_text,
    each,
    optional_text,
    schema_object,
)
from service.dialects.validation import (
    MESSAGES,
    MESSAGES_MESSAGE,
    join,
    need,
    unknown_fields,
    unknown_in_each,
    unknown_in_texts,
)
from service.errors import InvalidRequest, ServiceError
from service.types import (
    CountRequest,
    Json,
    Message,
    OutputFormat,
    Prompt,
    Role,
    Text,
    TokenCount,
    ToolChoice,
    Warned,
)

DIALECT = "anthropic.messages"

SHORT = frozenset({"model", "messages", "max_tokens", "stream"})
"""Fields of many requests, and of what is new in one: looking for all others takes longer than reading a message."""

# ---------------------------------------------------------------- body -> Prompt


def read_messages(value: Json, path: str = "") -> Prompt:
    """The prompt of a body of POST /v1/messages or its count_tokens. Raises InvalidRequest naming the JSON path.

    Fields that are not billed (max_tokens, metadata, stream, cache_control, ...) are left out, unknown ones with a
    warning.
    """
    body = as_object(value, path)
    at = join(path, "messages")
    if body.get("messages") is None:
        raise InvalidRequest(f"{at} is missing: a Messages request holds messages.", field=at)
    said = [*each(body["messages"], at)]
    if body.keys() <= SHORT:
        seen = Conversation()
        messages = tuple([_message(item, where, seen) for item, where in said])
        return Prompt(messages, dialect=DIALECT, warnings=_unknown_in_messages(said))
    defined = each(body.get("tools"), join(path, "tools"))
    tools = tuple(read_tool(as_object(item, where), where) for item, where in defined)
    seen = Conversation({tool.name: tool for tool in tools})
    return Prompt(
        tuple([_message(item, where, seen) for item, where in said]),
        system=read_blocks(body.get("system"), join(path, "system"), seen),
        tools=tools,
        tool_choice=_tool_choice(body.get("tool_choice"), join(path, "tool_choice")),
        output=_output(body, path),
        thinking=_thinking(body.get("thinking"), join(path, "thinking")),
        dialect=DIALECT,
        options=_options(body, path),
        warnings=(
            *_warnings(body, path), *unknown_fields(body, MESSAGES, path), *_unknown_in_messages(said),
        ),
    )


def _unknown_in_messages(said: Sequence[tuple[Json, str]]) -> tuple[Warned, ...]:
    if all(message.keys() == MESSAGES_MESSAGE and type(message["content"]) is str for message, _ in said):
        return ()
    return (*unknown_in_each(said, MESSAGES_MESSAGE), *unknown_in_texts(said))


_ROLES: Mapping[str, Role] = {
    "user": "user", "assistant": "assistant", "system": "system", "developer": "developer", "tool": "tool",
}


def _message(value: Json, path: str, seen: Conversation) -> Message:
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
    need(message, "content", path, "it holds what the message says")
    return Message(role, read_blocks(content, f"{path}.content", seen), path=path)


_MODES: Mapping[str, Literal["auto", "none", "required", "named"]] = {
    "auto": "auto", "none": "none", "any": "required", "tool": "named",
}


def _tool_choice(value: Json, path: str) -> ToolChoice:
    if value is None:
        return ToolChoice()
    choice = {"type": value} if isinstance(value, str) else as_object(value, path)
    at = join(path, "type")
    mode = _MODES.get(optional_text(choice.get("type"), at) or "auto")
    if mode is None:
        raise InvalidRequest(f"{at} must be auto, any, tool or none.", field=at)
    name = optional_text(choice.get("name"), join(path, "name")) or None
    single = choice.get("disable_parallel_tool_use")
    return ToolChoice(mode, name if mode == "named" else None, None if single is None else not single)


def _output(body: Mapping[str, Json], path: str) -> OutputFormat | None:
    """`output_config.format`, or the beta's `output_format` of 2025."""
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


_THINKING: Mapping[str, Literal["enabled", "adaptive", "disabled"]] = {
    "enabled": "enabled", "adaptive": "adaptive", "disabled": "disabled", "between_tools": "adaptive",
}


def _thinking(value: Json, path: str) -> Literal["enabled", "adaptive", "disabled"] | None:
    if value is None:
        return None
    at = join(path, "type")
    kind = _THINKING.get(as_text(as_object(value, path).get("type"), at))
    if kind is None:
        raise InvalidRequest(f"{at} must be enabled, adaptive or disabled.", field=at)
    return kind


def _options(body: Mapping[str, Json], path: str) -> dict[str, Json]:
    """What only Anthropic bills: `task_budget` in tokens, and the names of the MCP servers whose tools it fetches."""
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
"""Code of the warning that edits were asked for: the count is of the conversation as sent."""


def _warnings(body: Mapping[str, Json], path: str) -> tuple[Warned, ...]:
    return () if body.get("context_management") is None else (Warned(CONTEXT_EDITS, join(path, "context_management")),)


READERS: Mapping[str, Callable[[Json, str], Prompt]] = {DIALECT: read_messages}
"""Dialect name -> reader of a request body; the second argument is the JSON path it stands at."""

# ---------------------------------------------------------------- the count endpoint


def _read_count(body: Json, _: Mapping[str, str]) -> CountRequest:
    model = as_text(as_object(body, "").get("model"), "model")
    return CountRequest(model_ref=model, prompt=read_messages(body))


def _answer_count(count: TokenCount) -> Json:
    """The beta tells the count before context edits as well, wherever edits were asked for."""
    answer: dict[str, Json] = {"input_tokens": count.input_tokens}
    if any(warning.code == CONTEXT_EDITS for warning in count.warnings):
        answer["context_management"] = {"original_input_tokens": count.input_tokens}
    return answer


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        name="anthropic_count_tokens",
        paths=("/v1/messages/count_tokens", "/anthropic/v1/messages/count_tokens"),
        summary="Count the input tokens of an Anthropic Messages request",
        read=_read_count,
        answer=_answer_count,
        example=(
            {
                "model": "claude-sonnet-4-5",
                "system": "You are a scientist",
                "messages": [{"role": "user", "content": "Hello, Claude"}],
            },
            {"input_tokens": 14},
        ),
        request_schema={
            "type": "object",
            "required": ["model", "messages"],
            "properties": {
                "model": {"type": "string"},
                "messages": any_of({"type": "array", "items": OBJECT}, OBJECT),
                "system": any_of(STRING, {"type": "array", "items": any_of(STRING, OBJECT)}, OBJECT, NULL),
                "tools": OBJECTS,
                "tool_choice": any_of(OBJECT, {"enum": [*_MODES]}, NULL),
                "thinking": any_of(schema_object({"type": {"enum": [*_THINKING]}}), NULL),
                "output_config": any_of(OBJECT, NULL),
            },
            "additionalProperties": True,
        },
        response_schema={
            "type": "object",
            "required": ["input_tokens"],
            "properties": {
                "input_tokens": {"type": "integer"},
                "context_management": {
                    "type": "object",
                    "properties": {"original_input_tokens": {"type": "integer"}},
                },
            },
        },
        wire="anthropic",
    ),
)

# ---------------------------------------------------------------- errors

OVERLOADED = 529
"""Anthropic's own status for a service that is too busy; its SDKs retry it like a 503."""

_ERROR_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    OVERLOADED: "overloaded_error",
}


def _error(error: ServiceError, request_id: str) -> tuple[int, Json]:
    status = OVERLOADED if error.code == "overloaded" else error.status
    kind = _ERROR_TYPES.get(status) or ("invalid_request_error" if status < 500 else "api_error")
    return status, {"type": "error", "error": {"type": kind, "message": error.message}, "request_id": request_id}


_ERROR_SCHEMA = schema_object({
    "type": {"const": "error"}, "request_id": STRING,
    "error": schema_object({"type": {"enum": [*_ERROR_TYPES.values(), "api_error"]}, "message": STRING}),
})

WIRE = Wire("anthropic", _error, _ERROR_SCHEMA, busy=(503, OVERLOADED))
