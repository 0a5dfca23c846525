"""Reading content blocks of the Messages API: what may stand in a message, a system prompt or a tool result.

Each block type of the API and its betas (SDK 2.14.0) has a row in `_BLOCKS`. Other types become `Unknown`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from service.dialects.anthropic.media import has_citations, read_media
from service.dialects.anthropic.tools import read_tool
from service.dialects.fields import Object, as_list, as_object, as_text, join, optional_text, wrong_type
from service.dialects.known_fields import TOOL_RESULT, TOOL_USE, require_field, require_unless_alone
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
class ToolContext:
    """What later blocks refer to: the declared tools by name, and the name of the called tool by call id."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


def read_blocks(value: Json, path: str, known: ToolContext) -> tuple[Part, ...]:
    """The parts of a content field: a string, a list of blocks and strings, one block, or nothing.

    Raises InvalidRequest naming the block's JSON path.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        return (Text(value, path),)
    if isinstance(value, dict):
        return _read_block(value, path, known)
    if not isinstance(value, list):
        raise wrong_type(path, "a string or an array", value)
    parts: list[Part] = []
    for i, item in enumerate(value):
        at = f"{path}[{i}]"
        parts += (Text(item, at),) if isinstance(item, str) else _read_block(as_object(item, at), at, known)
    return tuple(parts)


def _read_block(block: Object, path: str, known: ToolContext) -> tuple[Part, ...]:
    kind = block.get("type")
    if kind is None and isinstance(block.get("text"), str):
        kind = "text"
    kind = as_text(kind, join(path, "type"))
    read = _BLOCKS.get(kind)
    if read is None:
        return (Unknown(kind, dict(block), path),)
    return read(block, path, known)


# ---------------------------------------------------------------- text, thinking


def _read_text(block: Object, path: str, _: ToolContext) -> tuple[Part, ...]:
    """A text block. Its `citations` repeat what was cited and are not billed."""
    require_field(block, "text", path, "a block of text holds it")
    return (Text(optional_text(block["text"], join(path, "text")), path),)


def _read_thinking(block: Object, path: str, _: ToolContext) -> tuple[Part, ...]:
    text = optional_text(block.get("thinking"), join(path, "thinking"))
    return (Thinking(text, optional_text(block.get("signature"), join(path, "signature")) or None, path=path),)


def _read_redacted_thinking(block: Object, path: str, _: ToolContext) -> tuple[Part, ...]:
    return (Thinking("", optional_text(block.get("data"), join(path, "data")) or None, redacted=True, path=path),)


def _read_compaction(block: Object, path: str, _: ToolContext) -> tuple[Part, ...]:
    """A summary in place of all that stands before it. Null content is a failed compaction, which has no effect."""
    return () if block.get("content") is None else (Unknown("compaction", dict(block), path),)


def _ignore(block: Object, path: str, _: ToolContext) -> tuple[Part, ...]:
    """A block that the provider accepts and does not show to the model."""
    return ()


# ---------------------------------------------------------------- images and documents


def _read_image(block: Object, path: str, _: ToolContext) -> tuple[Part, ...]:
    return (read_media("image", block, path),)


def _read_document(block: Object, path: str, known: ToolContext) -> tuple[Part, ...]:
    at = join(path, "source")
    source = as_object(block.get("source"), at)
    kind = source.get("type")
    inside: tuple[Text | Media, ...]
    if kind == "text":
        inside = (Text(as_text(source.get("data"), join(at, "data")), join(at, "data")),)
    elif kind == "content":
        parts = read_blocks(source.get("content"), join(at, "content"), known)
        inside = tuple(part if isinstance(part, (Text, Media)) else _to_text(part) for part in parts)
    else:
        return (read_media("document", block, path),)
    title = optional_text(block.get("title"), join(path, "title")) or None
    context = optional_text(block.get("context"), join(path, "context")) or None
    return (Document(inside, title, context, has_citations(block), path),)


def _to_text(part: Part) -> Text:
    """A block of an unknown kind as its JSON text. Raises InvalidRequest for a known block that cannot stand here."""
    if isinstance(part, Unknown):
        return Text(json.dumps(part.value, ensure_ascii=False), part.path)
    raise InvalidRequest(f"{part.path} cannot stand here: text blocks can.", field=part.path)


def _read_search_result(block: Object, path: str, known: ToolContext) -> tuple[Part, ...]:
    texts = read_blocks(block.get("content"), join(path, "content"), known)
    return (
        SearchResult(
            optional_text(block.get("source"), join(path, "source")),
            optional_text(block.get("title"), join(path, "title")),
            tuple(part if isinstance(part, Text) else _to_text(part) for part in texts), has_citations(block), path,
        ),
    )


# ---------------------------------------------------------------- calls and results


def _read_call(block: Object, path: str, known: ToolContext) -> tuple[Part, ...]:
    """A call of a client tool, or of a tool that the provider or an MCP server ran."""
    name = optional_text(block.get("name"), join(path, "name"))
    call_id = optional_text(block.get("id"), join(path, "id"))
    hosted = {"server_tool_use": name or "server_tool", "mcp_tool_use": "mcp"}.get(block.get("type", ""))
    if call_id:
        known.names[call_id] = name
    require_unless_alone(block, "input", TOOL_USE, path, "it holds the arguments of the call")
    arguments = block.get("input")
    return (ToolCall(name, {} if arguments is None else arguments, None, call_id, hosted, path=path),)


def _read_result(block: Object, path: str, known: ToolContext) -> tuple[Part, ...]:
    """The result of a client tool or an MCP tool. `mcp_tool_result` has the form of `tool_result`."""
    hosted = "mcp" if block.get("type") == "mcp_tool_result" else None
    require_unless_alone(block, "content", TOOL_RESULT, path, "it holds what the tool answered")
    return (_make_result(block, path, known, read_blocks(block.get("content"), join(path, "content"), known), hosted),)


def _make_result(
    block: Object, path: str, known: ToolContext, parts: tuple[Part, ...], hosted: str | None
) -> ToolResult:
    call_id = optional_text(block.get("tool_use_id"), join(path, "tool_use_id"))
    return ToolResult(
        call_id, known.names.get(call_id, ""), parts, is_error=block.get("is_error") is True, hosted=hosted, path=path
    )


def _read_hosted_result(block: Object, path: str, known: ToolContext) -> tuple[Part, ...]:
    """The result of a tool of the provider: tool references, a fetched document, or something else."""
    hosted = as_text(block.get("type"), join(path, "type")).removesuffix("_tool_result")
    at = join(path, "content")
    content = block.get("content")
    parts: list[Part] = []
    for i, item in enumerate([] if content is None else content if isinstance(content, list) else [content]):
        where = f"{at}[{i}]" if isinstance(content, list) else at
        if isinstance(item, str):
            parts.append(Text(item, where))
        else:
            parts += _read_hosted_content(as_object(item, where), where, known)
    return (_make_result(block, path, known, tuple(parts), hosted),)


def _read_hosted_content(item: Object, path: str, known: ToolContext) -> tuple[Part, ...]:
    kind = optional_text(item.get("type"), join(path, "type")) or "result"
    if kind == "tool_search_tool_search_result":
        return read_blocks(as_list(item.get("tool_references"), join(path, "tool_references")),
                           join(path, "tool_references"), known)
    if kind == "web_fetch_result":
        return read_blocks(item.get("content"), join(path, "content"), known)
    if kind == "text":
        return _read_text(item, path, known)
    return (Unknown(kind, dict(item), path),)


# ---------------------------------------------------------------- tools inside the conversation


def _read_tool_reference(block: Object, path: str, _: ToolContext) -> tuple[Part, ...]:
    return (ToolReference(optional_text(block.get("tool_name"), join(path, "tool_name")), path),)


def _read_tool_addition(block: Object, path: str, known: ToolContext) -> tuple[Part, ...]:
    """A tool added to the conversation: a declared tool by its name, or a definition (beta of September 2026)."""
    at = join(path, "tool")
    tool = as_object(block.get("tool"), at)
    if tool.get("type") == "tool_definition":
        where = join(at, "definition")
        added = read_tool(as_object(tool.get("definition"), where), where)
    else:
        name = optional_text(tool.get("name"), join(at, "name"))
        added = known.tools.get(name) or Tool(name, path=at)
    return (ToolAddition((added,), path),)


def _read_unknown(block: Object, path: str, _: ToolContext) -> tuple[Part, ...]:
    return (Unknown(str(block.get("type")), dict(block), path),)


Reader = Callable[[Object, str, ToolContext], tuple[Part, ...]]

_BLOCKS: Mapping[str, Reader] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "redacted_thinking": _read_redacted_thinking,
    "compaction": _read_compaction,
    "fallback": _ignore,
    "image": _read_image,
    "document": _read_document,
    "search_result": _read_search_result,
    "tool_use": _read_call,
    "server_tool_use": _read_call,
    "mcp_tool_use": _read_call,
    "tool_result": _read_result,
    "mcp_tool_result": _read_result,
    "tool_search_tool_result": _read_hosted_result,
    "web_fetch_tool_result": _read_hosted_result,
    "web_search_tool_result": _read_hosted_result,
    "code_execution_tool_result": _read_hosted_result,
    "bash_code_execution_tool_result": _read_hosted_result,
    "text_editor_code_execution_tool_result": _read_hosted_result,
    "advisor_tool_result": _read_hosted_result,
    "tool_reference": _read_tool_reference,
    "tool_addition": _read_tool_addition,
    "tool_removal": _read_unknown,
    "container_upload": _read_unknown,
    "mcp_tool_listing": _read_unknown,
    "browser_state": _read_unknown,
}
"""Block type -> how it is read. The last four are known by name only, and what is billed for them is not known."""
