"""Contents of Google's wire: messages and their parts, whatever shape they came in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from service.dialects.fields import as_object, as_text, each, join, optional_text, read_media_data
from service.dialects.google.fields import camel, duration, enum_name, field, number
from service.dialects.known_fields import CONTENT, GOOGLE_CALL, GOOGLE_RESPONSE, need, need_unless_alone, unknown_fields
from service.types import Json, Media, Message, Part, Role, Text, Thinking, ToolCall, ToolResult, Unknown

RESOLUTIONS = (
    "MEDIA_RESOLUTION_UNSPECIFIED", "MEDIA_RESOLUTION_LOW", "MEDIA_RESOLUTION_MEDIUM", "MEDIA_RESOLUTION_HIGH",
    "MEDIA_RESOLUTION_ULTRA_HIGH",
)

_ROLES: Mapping[str, Role] = {
    "user": "user", "model": "assistant", "assistant": "assistant", "function": "tool", "tool": "tool",
    "system": "system", "developer": "developer",
}

_SILENT = frozenset({
    "text", "thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata", "audioTranscription",
    "mediaProcessing", "speechMetadata", "documentMetadata", "spreadsheetMetadata", "audioMetadata",
    "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
    "toolCall", "toolResponse",
})
"""Fields of a part that are read, or known to say nothing that is billed."""


# ---------------------------------------------------------------- contents


def read_contents(value: Json, path: str) -> tuple[Message, ...]:
    """The messages. A string or loose parts are one message of the user, as the SDKs make of them."""
    if value is None:
        return ()
    if isinstance(value, (str, dict)):
        return tuple(_messages([(value, path)]))
    return tuple(_messages(each(value, path)))


def _messages(items: Any) -> Iterator[Message]:
    loose: list[Part] = []
    start = ""
    for item, at in items:
        if isinstance(item, str) or (isinstance(item, dict) and item and CONTENT.isdisjoint(item)):
            start = start or at
            loose += _part(item, at)
            continue
        if loose:
            yield Message("user", tuple(loose), path=start)
            loose, start = [], ""
        yield _message(as_object(item, at), at)
    if loose:
        yield Message("user", tuple(loose), path=start)


def _message(content: Mapping[str, Json], path: str) -> Message:
    role = optional_text(content.get("role"), join(path, "role"))
    if any(unknown_fields(content, CONTENT, path)):  # a role alone is an empty turn; with `text` it is another format
        need(content, "parts", path, "they hold what the content says")
    parts = read_parts(content.get("parts"), join(path, "parts"))
    return Message(_ROLES.get(role.lower(), "user"), parts, role_given=bool(role), path=path)


def read_system(value: Json, path: str) -> tuple[tuple[Part, ...], bool]:
    """(parts, whether a role was given) of a system instruction: a content, parts or a string."""
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
        return tuple(_part(value, path))
    return tuple(part for item, at in each(value, path) for part in _part(item, at))


def _part(value: Json, path: str) -> Iterator[Part]:
    """What one part of the wire holds: usually one part, a signature being one more."""
    if isinstance(value, str):
        yield Text(value, path)
        return
    part = as_object(value, path)
    if len(part) == 1 and isinstance(part.get("text"), str):
        yield Text(part["text"], path)  # nearly every part is this one
        return
    signature = _signature(part, path)
    if part.get("text") is not None:
        yield Text(as_text(part["text"], join(path, "text")), path, thought=part.get("thought") is True)
    yield from _files(part, path)
    call = _call(part, path, signature)
    if call is not None:
        yield call
    elif signature is not None:
        yield Thinking(signature=signature, path=path)
    yield from _results(part, path)
    for key, item in part.items():
        if item is not None and camel(key) not in _SILENT:
            yield Unknown(key if len(key) <= 64 else "part", {key: item}, join(path, key))


def _signature(part: Mapping[str, Json], path: str) -> str | None:
    value, at = field(part, path, "thoughtSignature")
    return None if value is None else as_text(value, at)


def _call(part: Mapping[str, Json], path: str, signature: str | None) -> ToolCall | None:
    value, at = field(part, path, "functionCall")
    if value is not None:
        call = as_object(value, at)
        need_unless_alone(call, "args", GOOGLE_CALL, at, "they hold the arguments of the call")
        name, call_id = _text(call, at, "name"), _text(call, at, "id")
        return ToolCall(name, call.get("args"), call_id=call_id, signature=signature, path=path)
    value, at = field(part, path, "executableCode")
    if value is not None:
        code = {key: item for key, item in as_object(value, at).items() if key != "id"}
        return ToolCall("", code, hosted="codeExecution", signature=signature, path=path)
    value, at = field(part, path, "toolCall")
    if value is None:
        return None
    call = as_object(value, at)
    name, call_id = _kind_of_tool(call, at), _text(call, at, "id")
    return ToolCall(name, call.get("args"), call_id=call_id, hosted="serverTool", signature=signature, path=path)


def _results(part: Mapping[str, Json], path: str) -> Iterator[ToolResult]:
    value, at = field(part, path, "functionResponse")
    if value is not None:
        answer = as_object(value, at)
        need_unless_alone(answer, "response", GOOGLE_RESPONSE, at, "it holds what the function answered")
        files = tuple(
            file for item, place in each(answer.get("parts"), join(at, "parts"))
            for file in _files(as_object(item, place), place)
        )
        yield ToolResult(_text(answer, at, "id"), _text(answer, at, "name"), files, answer.get("response"), path=path)
    value, at = field(part, path, "codeExecutionResult")
    if value is not None:
        said = {key: item for key, item in as_object(value, at).items() if key != "id"}
        yield ToolResult("", "", (), said, hosted="codeExecution", path=path)
    value, at = field(part, path, "toolResponse")
    if value is not None:
        answer = as_object(value, at)
        name, call_id = _kind_of_tool(answer, at), _text(answer, at, "id")
        yield ToolResult(call_id, name, (), answer.get("response"), hosted="serverTool", path=path)


def _text(body: Mapping[str, Json], path: str, name: str) -> str:
    return optional_text(body.get(name), join(path, name))


def _kind_of_tool(body: Mapping[str, Json], path: str) -> str:
    value, _ = field(body, path, "toolType")
    return value if isinstance(value, str) else ""


# ---------------------------------------------------------------- files


def _files(part: Mapping[str, Json], path: str) -> Iterator[Media]:
    value, at = field(part, path, "inlineData")
    if value is not None:
        blob = as_object(value, at)
        yield _media(part, path, blob, at, read_media_data(blob.get("data"), join(at, "data")))
    value, at = field(part, path, "fileData")
    if value is not None:
        blob = as_object(value, at)
        uri, uri_path = field(blob, at, "fileUri")
        yield _media(part, path, blob, at, {"reference": optional_text(uri, uri_path)})


def _media(part: Mapping[str, Json], path: str, blob: Mapping[str, Json], at: str, facts: Mapping[str, Any]) -> Media:
    mime_value, mime_path = field(blob, at, "mimeType")
    name, name_path = field(blob, at, "displayName")
    mime = optional_text(mime_value, mime_path)
    fps, clip = _cut(part, path)
    return Media(
        _kind(mime), mime, path=at, detail=_resolution(part, path), filename=optional_text(name, name_path) or None,
        clip=clip, fps=fps, **facts,
    )


def _kind(mime: str) -> Literal["image", "document", "audio", "video", "file"]:
    kind, _, rest = mime.lower().partition("/")
    if kind == "image":
        return "image"
    if kind in ("audio", "video"):
        return "audio" if kind == "audio" else "video"
    return "document" if rest.startswith("pdf") else "file"


def _resolution(part: Mapping[str, Json], path: str) -> str | None:
    """The media resolution of a part: its level, or `num_tokens:N` where it names the tokens itself."""
    value, at = field(part, path, "mediaResolution")
    if not isinstance(value, dict):
        return enum_name(value, RESOLUTIONS, at) or None
    tokens, tokens_at = field(value, at, "numTokens")
    wanted = number(tokens, tokens_at)
    if wanted:
        return f"num_tokens:{round(wanted)}"
    return enum_name(value.get("level"), RESOLUTIONS, join(at, "level")) or None


def _cut(part: Mapping[str, Json], path: str) -> tuple[float | None, tuple[float, float | None] | None]:
    """(frames a second, the part of the recording or document that is used)."""
    for name, first, last in (
        ("videoMetadata", "startOffset", "endOffset"), ("audioMetadata", "startOffset", "endOffset"),
        ("documentMetadata", "startPage", "endPage"),
    ):
        value, at = field(part, path, name)
        if value is None:
            continue
        facts = as_object(value, at)
        start, end = (duration(*field(facts, at, edge)) for edge in (first, last))
        fps = number(*field(facts, at, "fps")) or None
        if start is None and end is None:
            return fps, None
        return fps, (start or 0.0, end)
    return None, None
