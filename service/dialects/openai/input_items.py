"""Reading the input items of the Responses API. Each becomes one message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from service.dialects.fields import as_object, as_text, each, join, optional_text
from service.dialects.json import check_depth
from service.dialects.known_fields import (
    FUNCTION_CALL,
    FUNCTION_OUTPUT,
    RESPONSES_MESSAGE,
    require_field,
    require_unless_alone,
    unknown_in_each,
    unknown_in_texts,
)
from service.dialects.openai.content import read_content
from service.dialects.openai.tools import read_tools
from service.errors import InvalidRequest
from service.types import (
    Json,
    Media,
    Message,
    Part,
    Role,
    Thinking,
    ToolAddition,
    ToolCall,
    ToolResult,
    Unknown,
    Warned,
)

ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "developer", "user": "user", "assistant": "assistant", "tool": "tool",
    "function": "tool",
}

Item = dict[str, Json]

_MESSAGE_TYPES = (None, "", "message")


def read_input(value: Json, path: str) -> tuple[Message, ...]:
    """The messages of `input`, which is null, a string, an item or a list of items."""
    if isinstance(value, str):
        return (Message("user", read_content(value, path), path=path),)
    return tuple(_read_item(item, at) for item, at in each(value, path))


def unknown_messages(value: Json, path: str) -> Iterator[Warned]:
    """Warnings for unknown fields of messages. Items of other types have too many forms to be checked."""
    items = () if isinstance(value, str) else each(value, path)
    messages = ((item, at) for item, at in items if isinstance(item, dict) and item.get("type") in _MESSAGE_TYPES)
    listed = [*messages]
    yield from unknown_in_each(listed, RESPONSES_MESSAGE)
    yield from unknown_in_texts(listed)


def read_role(value: Json, path: str) -> Role:
    role = ROLES.get(as_text(value, path))
    if role is None:
        raise InvalidRequest(f"{path} must be one of {', '.join(ROLES)}.", field=path)
    return role


def _read_item(value: Json, path: str) -> Message:
    if isinstance(value, str):
        return Message("user", read_content(value, path), path=path)
    item = as_object(value, path)
    kind = optional_text(item.get("type"), join(path, "type")) or "message"
    if kind == "message":
        role = read_role(item.get("role"), join(path, "role"))
        require_field(item, "content", path, "it holds what the message says")
        return Message(role, read_content(item.get("content"), join(path, "content")), path=path)
    read = _READERS.get(kind)
    if read is not None:
        return read(item, path)
    if kind.endswith("_output"):
        return _read_tool(_read_tool_result(item, path, hosted=kind), path)
    if kind.endswith(("_call", "_tools", "_request", "_response")):
        return _read_hosted(item, path, kind)
    return Message("assistant", (Unknown(kind, item, path),), path=path)


def _make_assistant_message(part: Part, path: str) -> Message:
    return Message("assistant", (part,), path=path)


def _read_tool(part: Part, path: str) -> Message:
    return Message("tool", (part,), path=path)


# ---------------------------------------------------------------- calls and results


def decode_arguments(value: Json) -> tuple[Json, str | None]:
    """The decoded arguments, and the string as it was sent. A string that is no JSON, or too deep, is not decoded."""
    if not isinstance(value, str):
        return value if value is not None else {}, None
    try:
        decoded = json.loads(value)
        check_depth(decoded)  # the body was checked with the arguments as a string, and renderers are recursive
    except (ValueError, RecursionError, InvalidRequest):
        return value, value
    return decoded, value


def _read_function_call(item: Item, path: str) -> Message:
    require_unless_alone(item, "arguments", FUNCTION_CALL, path, "it holds the arguments of the call")
    arguments, raw = decode_arguments(item.get("arguments"))
    call = ToolCall(
        as_text(item.get("name"), join(path, "name")), arguments, raw, optional_text(item.get("call_id"), path),
        replayed=bool(item.get("id") and item.get("status")), item_id=bool(item.get("id")), path=path,
    )
    return _make_assistant_message(call, path)


def _read_custom_call(item: Item, path: str) -> Message:
    """A call of a free-form tool. Its input is text and not JSON."""
    text = optional_text(item.get("input"), join(path, "input"))
    name = as_text(item.get("name"), join(path, "name"))
    return _make_assistant_message(
        ToolCall(name, text, text, optional_text(item.get("call_id"), path), path=path), path
    )


def _read_function_output(item: Item, path: str) -> Message:
    require_unless_alone(item, "output", FUNCTION_OUTPUT, path, "it holds what the function answered")
    return _read_tool(_read_tool_result(item, path), path)


def _read_tool_result(item: Item, path: str, hosted: str | None = None) -> ToolResult:
    """The result of a call: text, parts, or any JSON for a hosted tool."""
    output, at = item.get("output"), join(path, "output")
    parts: tuple[Part, ...]
    if output is None or isinstance(output, (str, list)) or (isinstance(output, dict) and "type" in output):
        parts = read_content(output, at)
    else:
        parts = (Unknown(hosted or "output", output, at),)
    return ToolResult(optional_text(item.get("call_id"), path), "", parts, hosted=hosted, path=path)


# ---------------------------------------------------------------- the provider's own items

_NOT_SHOWN = frozenset({"id", "type", "status", "call_id", "encrypted_content", "result"})
"""Fields of a hosted item that the model is not shown. The `result` of an image generation is the picture."""


def _read_hosted(item: Item, path: str, kind: str) -> Message:
    shown = {key: value for key, value in item.items() if key not in _NOT_SHOWN and value is not None}
    return _make_assistant_message(ToolCall(kind, shown, hosted=kind, path=path), path)


def _read_generated_image(item: Item, path: str) -> Message:
    """An image that the model made earlier. It is shown to the model again, at a size that only its bytes tell."""
    result = item.get("result")
    picture: Part = Media("image", "image/png", reference="image_generation_call", path=path)
    if isinstance(result, str) and result:
        part = {"type": "input_image", "image_url": f"data:image/png;base64,{result}"}
        picture = read_content([part], join(path, "result"))[0]
    return _read_tool(ToolResult("", "", (picture,), hosted="image_generation_call", path=path), path)


def _read_reasoning(item: Item, path: str) -> Message:
    texts = [
        part.text
        for name in ("summary", "content")
        for part in read_content(item.get(name), join(path, name))
        if hasattr(part, "text")
    ]
    sealed = optional_text(item.get("encrypted_content"), join(path, "encrypted_content"))
    return _make_assistant_message(Thinking("\n".join(texts), sealed or None, not texts, path), path)


def _read_added_tools(item: Item, path: str) -> Message:
    return Message("developer", (ToolAddition(read_tools(item.get("tools"), join(path, "tools")), path),), path=path)


def _read_found_tools(item: Item, path: str) -> Message:
    """Tools that the provider's tool search found. They are tools added later."""
    added = ToolAddition(read_tools(item.get("tools"), join(path, "tools")), path)
    return _read_tool(ToolResult("", "", (added,), hosted="tool_search", path=path), path)


_READERS: Mapping[str, Callable[[Item, str], Message]] = {
    "function_call": _read_function_call,
    "custom_tool_call": _read_custom_call,
    "function_call_output": _read_function_output,
    "custom_tool_call_output": _read_function_output,
    "reasoning": _read_reasoning,
    "additional_tools": _read_added_tools,
    "tool_search_output": _read_found_tools,
    "image_generation_call": _read_generated_image,
}
