"""Reading a body of the Chat Completions API."""

from __future__ import annotations

from collections.abc import Mapping

from service.dialects.fields import as_object, as_text, each, join, optional_text
from service.dialects.known_fields import (
    CHAT,
    CHAT_MESSAGE,
    FUNCTION,
    require_field,
    require_unless_alone,
    unknown_fields,
    unknown_in_each,
    unknown_in_texts,
)
from service.dialects.openai.content import read_content
from service.dialects.openai.input_items import decode_arguments, read_role
from service.dialects.openai.tools import read_function, read_output, read_tool_choice, read_tools
from service.errors import InvalidRequest
from service.types import Json, Message, Part, Prompt, Text, ToolCall, ToolResult, Unknown


def read_chat(value: Json, path: str) -> Prompt:
    """A body of POST /v1/chat/completions. Raises InvalidRequest naming the culprit by its JSON path."""
    body = as_object(value, path)
    at = join(path, "messages")
    if body.get("messages") is None:
        raise InvalidRequest(f"{at} is missing: a chat request holds messages.", field=at)
    said = [*each(body["messages"], at)]
    legacy = each(body.get("functions"), join(path, "functions"))
    functions = tuple(read_function(as_object(item, where), where) for item, where in legacy)
    choice, choice_path = body.get("tool_choice"), join(path, "tool_choice")
    if choice is None:
        choice, choice_path = body.get("function_call"), join(path, "function_call")
    return Prompt(
        tuple(_read_message(item, where) for item, where in said),
        tools=(*read_tools(body.get("tools"), join(path, "tools")), *functions),
        tool_choice=read_tool_choice(choice, choice_path, body.get("parallel_tool_calls")),
        output=read_output(body.get("response_format"), join(path, "response_format")),
        thinking="enabled" if body.get("reasoning_effort") not in (None, "none") else None,
        dialect="openai.chat",
        options=_read_options(body, path),
        warnings=(
            *unknown_fields(body, CHAT, path), *unknown_in_each(said, CHAT_MESSAGE), *unknown_in_texts(said),
        ),
    )


_INSTEAD_OF_CONTENT = frozenset({"tool_calls", "function_call", "refusal", "audio"})
"""Fields of an assistant message. Its content may be absent where it has one of these."""


def _read_message(value: Json, path: str) -> Message:
    message = as_object(value, path)
    role = read_role(message.get("role"), join(path, "role"))
    if role != "assistant" or _INSTEAD_OF_CONTENT.isdisjoint(message):
        require_field(message, "content", path, "it holds what the message says")
    content = read_content(message.get("content"), join(path, "content"))
    if role == "tool":
        name = optional_text(message.get("name"), join(path, "name"))
        call_id = optional_text(message.get("tool_call_id"), join(path, "tool_call_id"))
        return Message(role, (ToolResult(call_id, name, content, path=path),), path=path)
    parts: list[Part] = list(content)
    refusal = optional_text(message.get("refusal"), join(path, "refusal"))
    if refusal:
        parts.append(Text(refusal, join(path, "refusal")))
    if message.get("audio") is not None and role == "assistant":
        parts.append(Unknown("audio", message["audio"], join(path, "audio")))
    for call, at in each(message.get("tool_calls"), join(path, "tool_calls")):
        parts.append(_read_call(as_object(call, at), at))
    if message.get("function_call") is not None:
        at = join(path, "function_call")
        parts.append(_read_call({"function": as_object(message["function_call"], at)}, at))
    name = optional_text(message.get("name"), join(path, "name"))
    return Message(role, tuple(parts), name or None, path=path)


def _read_call(call: dict[str, Json], path: str) -> ToolCall:
    """A call of a function, or of a free-form tool, whose input is text."""
    call_id = optional_text(call.get("id"), join(path, "id"))
    custom = call.get("custom")
    if isinstance(custom, dict):
        text = optional_text(custom.get("input"), join(path, "custom.input"))
        return ToolCall(as_text(custom.get("name"), join(path, "custom.name")), text, text, call_id, path=path)
    function = as_object(call.get("function"), join(path, "function"))
    require_unless_alone(function, "arguments", FUNCTION, join(path, "function"), "it holds the arguments of the call")
    arguments, raw = decode_arguments(function.get("arguments"))
    name = optional_text(function.get("name"), join(path, "function.name"))
    return ToolCall(name, arguments, raw, call_id, path=path)


def _read_options(body: Mapping[str, Json], path: str) -> dict[str, Json]:
    options: dict[str, Json] = {}
    prediction = body.get("prediction")
    if isinstance(prediction, dict):
        parts = read_content(prediction.get("content"), join(path, "prediction.content"))
        options["prediction"] = "".join(part.text for part in parts if isinstance(part, Text))
    if body.get("web_search_options") is not None:
        options["web_search_options"] = True
    return options
