"""Content blocks of Anthropic's wire: what may stand in a message, a system prompt or a tool result.

Every block type of the Messages API and its betas (SDK 2.14.0) has a row in `_BLOCKS`; other types become `Unknown`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from service.dialects.anthropic.media import cites, read_media
from service.dialects.anthropic.tools import read_tool
from service.dialects.fields import Object, as_list, as_object, as_text, join, optional_text, wrong_type
from service.dialects.known_fields import TOOL_RESULT, TOOL_USE, need, need_unless_alone
from service.errors import InvalidRequest
from service.types import (
    Document,
    Json,
    Media,
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


@dataclass(slots=True)
class Conversation:
    """What later blocks refer back to: declared tools by name, and the name that each call id belongs to."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


def read_blocks(value: Json, path: str, seen: Conversation) -> tuple[Part, ...]:
    """The parts of a content field: a string, a list of blocks and strings, one block, or nothing.

    Raises InvalidRequest naming the block's JSON path.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        return (Text(value, path),)
    if isinstance(value, dict):
        return _block(value, path, seen)
    if not isinstance(value, list):
        raise wrong_type(path, "a string or an array", value)
    parts: list[Part] = []
    for i, item in enumerate(value):
        at = f"{path}[{i}]"
        parts += (Text(item, at),) if isinstance(item, str) else _block(as_object(item, at), at, seen)
    return tuple(parts)


def _block(block: Object, path: str, seen: Conversation) -> tuple[Part, ...]:
    kind = block.get("type")
    if kind is None and isinstance(block.get("text"), str):
        kind = "text"
    kind = as_text(kind, join(path, "type"))
    read = _BLOCKS.get(kind)
    if read is None:
        return (Unknown(kind, dict(block), path),)
    return read(block, path, seen)


# ---------------------------------------------------------------- text, thinking


def _text(block: Object, path: str, _: Conversation) -> tuple[Part, ...]:
    """`citations` of a text block repeat what was cited: they are not billed."""
    need(block, "text", path, "a block of text holds it")
    return (Text(optional_text(block["text"], join(path, "text")), path),)


def _thinking(block: Object, path: str, _: Conversation) -> tuple[Part, ...]:
    text = optional_text(block.get("thinking"), join(path, "thinking"))
    return (Thinking(text, optional_text(block.get("signature"), join(path, "signature")) or None, path=path),)


def _redacted(block: Object, path: str, _: Conversation) -> tuple[Part, ...]:
    return (Thinking("", optional_text(block.get("data"), join(path, "data")) or None, redacted=True, path=path),)


def _compaction(block: Object, path: str, _: Conversation) -> tuple[Part, ...]:
    """A summary in place of all that stands before it; null content is a failed compaction, which does nothing."""
    return () if block.get("content") is None else (Unknown("compaction", dict(block), path),)


def _nothing(block: Object, path: str, _: Conversation) -> tuple[Part, ...]:
    """A block that the provider accepts and does not render."""
    return ()


# ---------------------------------------------------------------- images and documents


def _image(block: Object, path: str, _: Conversation) -> tuple[Part, ...]:
    return (read_media("image", block, path),)


def _document(block: Object, path: str, seen: Conversation) -> tuple[Part, ...]:
    at = join(path, "source")
    source = as_object(block.get("source"), at)
    kind = source.get("type")
    inside: tuple[Text | Media, ...]
    if kind == "text":
        inside = (Text(as_text(source.get("data"), join(at, "data")), join(at, "data")),)
    elif kind == "content":
        parts = read_blocks(source.get("content"), join(at, "content"), seen)
        inside = tuple(part if isinstance(part, (Text, Media)) else _as_text(part) for part in parts)
    else:
        return (read_media("document", block, path),)
    title = optional_text(block.get("title"), join(path, "title")) or None
    context = optional_text(block.get("context"), join(path, "context")) or None
    return (Document(inside, title, context, cites(block), path),)


def _as_text(part: Part) -> Text:
    """A block of a kind that is unusual here, as the text it is written in."""
    if isinstance(part, Unknown):
        return Text(json.dumps(part.value, ensure_ascii=False), part.path)
    raise InvalidRequest(f"{part.path} cannot stand here: text blocks can.", field=part.path)


def _search_result(block: Object, path: str, seen: Conversation) -> tuple[Part, ...]:
    texts = read_blocks(block.get("content"), join(path, "content"), seen)
    return (
        SearchResult(
            optional_text(block.get("source"), join(path, "source")),
            optional_text(block.get("title"), join(path, "title")),
            tuple(part if isinstance(part, Text) else _as_text(part) for part in texts), cites(block), path,
        ),
    )


# ---------------------------------------------------------------- calls and results


def _call(block: Object, path: str, seen: Conversation) -> tuple[Part, ...]:
    """A call of a client tool, or of a tool that the provider or an MCP server ran."""
    name = optional_text(block.get("name"), join(path, "name"))
    call_id = optional_text(block.get("id"), join(path, "id"))
    hosted = {"server_tool_use": name or "server_tool", "mcp_tool_use": "mcp"}.get(block.get("type", ""))
    if call_id:
        seen.names[call_id] = name
    need_unless_alone(block, "input", TOOL_USE, path, "it holds the arguments of the call")
    arguments = block.get("input")
    return (ToolCall(name, {} if arguments is None else arguments, None, call_id, hosted, path=path),)


def _result(block: Object, path: str, seen: Conversation) -> tuple[Part, ...]:
    """`mcp_tool_result` has the shape of `tool_result`."""
    hosted = "mcp" if block.get("type") == "mcp_tool_result" else None
    need_unless_alone(block, "content", TOOL_RESULT, path, "it holds what the tool answered")
    return (_answer(block, path, seen, read_blocks(block.get("content"), join(path, "content"), seen), hosted),)


def _answer(
    block: Object, path: str, seen: Conversation, parts: tuple[Part, ...], hosted: str | None
) -> ToolResult:
    call_id = optional_text(block.get("tool_use_id"), join(path, "tool_use_id"))
    return ToolResult(
        call_id, seen.names.get(call_id, ""), parts, is_error=block.get("is_error") is True, hosted=hosted, path=path
    )


def _hosted_result(block: Object, path: str, seen: Conversation) -> tuple[Part, ...]:
    """What a tool of the provider's brought back: references, a fetched document, or something of its own form."""
    hosted = as_text(block.get("type"), join(path, "type")).removesuffix("_tool_result")
    at = join(path, "content")
    content = block.get("content")
    parts: list[Part] = []
    for i, item in enumerate([] if content is None else content if isinstance(content, list) else [content]):
        where = f"{at}[{i}]" if isinstance(content, list) else at
        if isinstance(item, str):
            parts.append(Text(item, where))
        else:
            parts += _hosted_content(as_object(item, where), where, seen)
    return (_answer(block, path, seen, tuple(parts), hosted),)


def _hosted_content(item: Object, path: str, seen: Conversation) -> tuple[Part, ...]:
    kind = optional_text(item.get("type"), join(path, "type")) or "result"
    if kind == "tool_search_tool_search_result":
        return read_blocks(as_list(item.get("tool_references"), join(path, "tool_references")),
                           join(path, "tool_references"), seen)
    if kind == "web_fetch_result":
        return read_blocks(item.get("content"), join(path, "content"), seen)
    if kind == "text":
        return _text(item, path, seen)
    return (Unknown(kind, dict(item), path),)


# ---------------------------------------------------------------- tools inside the conversation


def _tool_reference(block: Object, path: str, _: Conversation) -> tuple[Part, ...]:
    return (ToolReference(optional_text(block.get("tool_name"), join(path, "tool_name")), path),)


def _tool_addition(block: Object, path: str, seen: Conversation) -> tuple[Part, ...]:
    """A declared tool by name, or a definition in place (beta of September 2026)."""
    at = join(path, "tool")
    tool = as_object(block.get("tool"), at)
    if tool.get("type") == "tool_definition":
        where = join(at, "definition")
        added = read_tool(as_object(tool.get("definition"), where), where)
    else:
        name = optional_text(tool.get("name"), join(at, "name"))
        added = seen.tools.get(name) or Tool(name, path=at)
    return (ToolAddition((added,), path),)


def _unknown(block: Object, path: str, _: Conversation) -> tuple[Part, ...]:
    return (Unknown(str(block.get("type")), dict(block), path),)


Reader = Callable[[Object, str, Conversation], tuple[Part, ...]]

_BLOCKS: Mapping[str, Reader] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "compaction": _compaction,
    "fallback": _nothing,
    "image": _image,
    "document": _document,
    "search_result": _search_result,
    "tool_use": _call,
    "server_tool_use": _call,
    "mcp_tool_use": _call,
    "tool_result": _result,
    "mcp_tool_result": _result,
    "tool_search_tool_result": _hosted_result,
    "web_fetch_tool_result": _hosted_result,
    "web_search_tool_result": _hosted_result,
    "code_execution_tool_result": _hosted_result,
    "bash_code_execution_tool_result": _hosted_result,
    "text_editor_code_execution_tool_result": _hosted_result,
    "advisor_tool_result": _hosted_result,
    "tool_reference": _tool_reference,
    "tool_addition": _tool_addition,
    "tool_removal": _unknown,
    "container_upload": _unknown,
    "mcp_tool_listing": _unknown,
    "browser_state": _unknown,
}
"""How each block type is read. The last four are known by name only: what is billed for them is not."""
