"""Reading the contents of a Google request: messages and their parts, in each form that the SDKs accept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from service.dialects.fields import as_object, as_text, each, join, optional_text, read_media_data
from service.dialects.google.fields import as_enum_name, as_number, as_seconds, find_field, to_camel_case
from service.dialects.known_fields import (
    CONTENT,
    GOOGLE_CALL,
    GOOGLE_RESPONSE,
    require_field,
    require_unless_alone,
    unknown_fields,
)
from service.types import Json, Media, Message, Part, Role, Text, Thinking, ToolCall, ToolResult, Unknown

RESOLUTIONS = (
    "MEDIA_RESOLUTION_UNSPECIFIED", "MEDIA_RESOLUTION_LOW", "MEDIA_RESOLUTION_MEDIUM", "MEDIA_RESOLUTION_HIGH",
    "MEDIA_RESOLUTION_ULTRA_HIGH",
)

_ROLES: Mapping[str, Role] = {
    "user": "user", "model": "assistant", "assistant": "assistant", "function": "tool", "tool": "tool",
    "system": "system", "developer": "developer",
}

_KNOWN_FIELDS = frozenset({
    "text", "thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata", "audioTranscription",
    "mediaProcessing", "speechMetadata", "documentMetadata", "spreadsheetMetadata", "audioMetadata",
    "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
    "toolCall", "toolResponse",
})
"""Fields of a part that are read, or that hold nothing billed. Others are listed as unknown."""


# ---------------------------------------------------------------- contents


def read_contents(value: Json, path: str) -> tuple[Message, ...]:
    """The messages. A string, or parts outside a content, are one message of the user, as in the SDKs."""
    if value is None:
        return ()
    if isinstance(value, (str, dict)):
        return tuple(_read_messages([(value, path)]))
    return tuple(_read_messages(each(value, path)))


def _read_messages(items: Any) -> Iterator[Message]:
    loose: list[Part] = []
    start = ""
    for item, at in items:
        if isinstance(item, str) or (isinstance(item, dict) and item and CONTENT.isdisjoint(item)):
            start = start or at
            loose += _read_part(item, at)
            continue
        if loose:
            yield Message("user", tuple(loose), path=start)
            loose, start = [], ""
        yield _read_message(as_object(item, at), at)
    if loose:
        yield Message("user", tuple(loose), path=start)


def _read_message(content: Mapping[str, Json], path: str) -> Message:
    role = optional_text(content.get("role"), join(path, "role"))
    if any(unknown_fields(content, CONTENT, path)):  # a role alone is an empty turn, but with `text` another format
        require_field(content, "parts", path, "they hold what the content says")
    parts = read_parts(content.get("parts"), join(path, "parts"))
    return Message(_ROLES.get(role.lower(), "user"), parts, role_given=bool(role), path=path)


def read_system(value: Json, path: str) -> tuple[tuple[Part, ...], bool]:
    """The parts of a system instruction (a content, parts or a string), and whether its role is given."""
    if value is None:
        return (), False
    messages = read_contents(value, path)
    return tuple(part for message in messages for part in message.parts), any(m.role_given for m in messages)


# ---------------------------------------------------------------- parts


def read_parts(value: Json, path: str) -> tuple[Part, ...]:
    """The parts of a content."""
    if value is None:
        return ()
    if isinstance(value, (str, dict)):
        return tuple(_read_part(value, path))
    return tuple(part for item, at in each(value, path) for part in _read_part(item, at))


def _read_part(value: Json, path: str) -> Iterator[Part]:
    """What one part of the request holds: usually one part. A signature is one more."""
    if isinstance(value, str):
        yield Text(value, path)
        return
    part = as_object(value, path)
    if len(part) == 1 and isinstance(part.get("text"), str):
        yield Text(part["text"], path)  # nearly every part is of this kind
        return
    signature = _find_signature(part, path)
    if part.get("text") is not None:
        yield Text(as_text(part["text"], join(path, "text")), path, thought=part.get("thought") is True)
    yield from _read_files(part, path)
    call = _read_call(part, path, signature)
    if call is not None:
        yield call
    elif signature is not None:
        yield Thinking(signature=signature, path=path)
    yield from _read_results(part, path)
    for key, item in part.items():
        if item is not None and to_camel_case(key) not in _KNOWN_FIELDS:
            yield Unknown(key if len(key) <= 64 else "part", {key: item}, join(path, key))


def _find_signature(part: Mapping[str, Json], path: str) -> str | None:
    value, at = find_field(part, path, "thoughtSignature")
    return None if value is None else as_text(value, at)


def _read_call(part: Mapping[str, Json], path: str, signature: str | None) -> ToolCall | None:
    value, at = find_field(part, path, "functionCall")
    if value is not None:
        call = as_object(value, at)
        require_unless_alone(call, "args", GOOGLE_CALL, at, "they hold the arguments of the call")
        name, call_id = _find_text(call, at, "name"), _find_text(call, at, "id")
        return ToolCall(name, call.get("args"), call_id=call_id, signature=signature, path=path)
    value, at = find_field(part, path, "executableCode")
    if value is not None:
        code = {key: item for key, item in as_object(value, at).items() if key != "id"}
        return ToolCall("", code, hosted="codeExecution", signature=signature, path=path)
    value, at = find_field(part, path, "toolCall")
    if value is None:
        return None
    call = as_object(value, at)
    name, call_id = _find_tool_type(call, at), _find_text(call, at, "id")
    return ToolCall(name, call.get("args"), call_id=call_id, hosted="serverTool", signature=signature, path=path)


def _read_results(part: Mapping[str, Json], path: str) -> Iterator[ToolResult]:
    value, at = find_field(part, path, "functionResponse")
    if value is not None:
        answer = as_object(value, at)
        require_unless_alone(answer, "response", GOOGLE_RESPONSE, at, "it holds what the function answered")
        files = tuple(
            file for item, place in each(answer.get("parts"), join(at, "parts"))
            for file in _read_files(as_object(item, place), place)
        )
        yield ToolResult(
            _find_text(answer, at, "id"), _find_text(answer, at, "name"), files, answer.get("response"), path=path
        )
    value, at = find_field(part, path, "codeExecutionResult")
    if value is not None:
        said = {key: item for key, item in as_object(value, at).items() if key != "id"}
        yield ToolResult("", "", (), said, hosted="codeExecution", path=path)
    value, at = find_field(part, path, "toolResponse")
    if value is not None:
        answer = as_object(value, at)
        name, call_id = _find_tool_type(answer, at), _find_text(answer, at, "id")
        yield ToolResult(call_id, name, (), answer.get("response"), hosted="serverTool", path=path)


def _find_text(body: Mapping[str, Json], path: str, name: str) -> str:
    return optional_text(body.get(name), join(path, name))


def _find_tool_type(body: Mapping[str, Json], path: str) -> str:
    value, _ = find_field(body, path, "toolType")
    return value if isinstance(value, str) else ""


# ---------------------------------------------------------------- files


def _read_files(part: Mapping[str, Json], path: str) -> Iterator[Media]:
    value, at = find_field(part, path, "inlineData")
    if value is not None:
        blob = as_object(value, at)
        yield _read_media(part, path, blob, at, read_media_data(blob.get("data"), join(at, "data")))
    value, at = find_field(part, path, "fileData")
    if value is not None:
        blob = as_object(value, at)
        uri, uri_path = find_field(blob, at, "fileUri")
        yield _read_media(part, path, blob, at, {"reference": optional_text(uri, uri_path)})


def _read_media(
    part: Mapping[str, Json], path: str, blob: Mapping[str, Json], at: str, facts: Mapping[str, Any]
) -> Media:
    mime_value, mime_path = find_field(blob, at, "mimeType")
    name, name_path = find_field(blob, at, "displayName")
    mime = optional_text(mime_value, mime_path)
    fps, clip = _read_clip(part, path)
    return Media(
        _find_kind(mime), mime, path=at, detail=_read_resolution(part, path),
        filename=optional_text(name, name_path) or None,
        clip=clip, fps=fps, **facts,
    )


def _find_kind(mime: str) -> Literal["image", "document", "audio", "video", "file"]:
    kind, _, rest = mime.lower().partition("/")
    if kind == "image":
        return "image"
    if kind in ("audio", "video"):
        return "audio" if kind == "audio" else "video"
    return "document" if rest.startswith("pdf") else "file"


def _read_resolution(part: Mapping[str, Json], path: str) -> str | None:
    """The media resolution of a part: its level, or `num_tokens:N` where it gives a number of tokens."""
    value, at = find_field(part, path, "mediaResolution")
    if not isinstance(value, dict):
        return as_enum_name(value, RESOLUTIONS, at) or None
    tokens, tokens_at = find_field(value, at, "numTokens")
    wanted = as_number(tokens, tokens_at)
    if wanted:
        return f"num_tokens:{round(wanted)}"
    return as_enum_name(value.get("level"), RESOLUTIONS, join(at, "level")) or None


def _read_clip(part: Mapping[str, Json], path: str) -> tuple[float | None, tuple[float, float | None] | None]:
    """Frames a second, and the (start, end) of the recording or document that is used. None where not given."""
    for name, first, last in (
        ("videoMetadata", "startOffset", "endOffset"), ("audioMetadata", "startOffset", "endOffset"),
        ("documentMetadata", "startPage", "endPage"),
    ):
        value, at = find_field(part, path, name)
        if value is None:
            continue
        facts = as_object(value, at)
        start, end = (as_seconds(*find_field(facts, at, edge)) for edge in (first, last))
        fps = as_number(*find_field(facts, at, "fps")) or None
        if start is None and end is None:
            return fps, None
        return fps, (start or 0.0, end)
    return None, None
