"""Content blocks of Anthropic's wire: what may stand in a message, a system prompt or a tool result.

Every block type of the Messages API and its betas (SDK 2.14.0) has a row in `_BLOCKS`; other types become `Unknown`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from service.dialects.fields import (
    as_list,
    as_object,
    as_text,
    decode_base64,
    optional_text,
    read_media_data,
    split_data_url,
    wrong_type,
)
from service.dialects.validation import TOOL_RESULT, TOOL_USE, join, need, need_unless_alone
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

Object = Mapping[str, Json]


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


def _cites(block: Object) -> bool:
    citations = block.get("citations")
    return isinstance(citations, dict) and citations.get("enabled") is True


def _image(block: Object, path: str, _: Conversation) -> tuple[Part, ...]:
    return (_media("image", block, path),)


def _media(kind: str, block: Object, path: str) -> Media:
    at = join(path, "source")
    source = as_object(block.get("source"), at)
    mime = optional_text(source.get("media_type"), join(at, "media_type")).lower()
    facts: dict[str, Any]
    if source.get("data") is not None:
        facts = read_media_data(source["data"], join(at, "data"))
    else:
        reference, where = _reference(source, at)
        inline = split_data_url(reference)
        mime = inline[0] if inline else mime
        facts = {"data": decode_base64(inline[1], where)} if inline else {"reference": reference}
    if kind == "document":
        facts |= {
            "title": optional_text(block.get("title"), join(path, "title")) or None,
            "context": optional_text(block.get("context"), join(path, "context")) or None,
            "citations": _cites(block),
        }
        mime = mime or "application/pdf"
    return Media("image" if kind == "image" else "document", mime or "image/*", path=path, **facts)


def _reference(source: Object, path: str) -> tuple[str, str]:
    """The URL or file id of a source, which is never fetched, and its path."""
    for key in ("url", "file_id"):
        if source.get(key) is not None:
            return as_text(source[key], join(path, key)), join(path, key)
    raise InvalidRequest(f"{path} needs one of data, url and file_id.", field=path)


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
        return (_media("document", block, path),)
    title = optional_text(block.get("title"), join(path, "title")) or None
    context = optional_text(block.get("context"), join(path, "context")) or None
    return (Document(inside, title, context, _cites(block), path),)


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
            tuple(part if isinstance(part, Text) else _as_text(part) for part in texts), _cites(block), path,
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


def read_tool(item: Object, path: str) -> Tool:
    """A tool definition: the caller's own (`type` absent or custom), or one that the provider defines."""
    kind = optional_text(item.get("type"), join(path, "type"))
    name = optional_text(item.get("name"), join(path, "name"))
    deferred = item.get("defer_loading") is True
    if kind not in ("", "custom", "function"):
        return Tool(name, kind=kind, deferred=deferred, raw=dict(item), path=path)
    at = join(path, "input_schema")
    schema = item.get("input_schema")
    strict = item.get("strict")
    return Tool(
        name, optional_text(item.get("description"), join(path, "description")),
        None if schema is None else as_object(schema, at),
        strict=strict if isinstance(strict, bool) else None, deferred=deferred, raw=dict(item), path=path,
    )


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
