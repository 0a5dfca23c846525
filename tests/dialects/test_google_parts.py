from __future__ import annotations

import base64
from typing import Any

import pytest

from service.dialects.google.request import read_generate_content
from service.errors import InvalidRequest
from service.types import Media, Text, Thinking, ToolCall, ToolResult, Unknown
from tests.dialects.google_bodies import PNG, one_turn, texts


@pytest.mark.parametrize(
    "contents",
    [
        "Hi", ["Hi"], {"text": "Hi"}, [{"text": "Hi"}], {"role": "user", "parts": "Hi"},
        [{"role": "user", "parts": {"text": "Hi"}}], [{"role": "user", "parts": ["Hi"]}],
        {"role": "USER", "parts": [{"text": "Hi"}]},
    ],
)
def test_strings_objects_and_loose_parts_are_one_message_of_the_user(contents: Any) -> None:
    (message,) = read_generate_content({"contents": contents}).messages
    assert (message.role, message.role_given) == ("user", True)
    assert texts(message.parts) == ["Hi"]


def test_loose_parts_between_messages_keep_their_order() -> None:
    contents = ["a", {"text": "b"}, {"role": "model", "parts": [{"text": "c"}]}, "d"]
    messages = read_generate_content({"contents": contents}).messages
    assert [(message.role, len(message.parts)) for message in messages] == [("user", 2), ("assistant", 1), ("user", 1)]


@pytest.mark.parametrize(
    ("role", "read", "given"),
    [
        ("model", "assistant", True), ("function", "tool", True), ("", "user", False), (None, "user", False),
        ("chef", "user", True),
    ],
)
def test_roles(role: str | None, read: str, given: bool) -> None:
    (message,) = read_generate_content({"contents": [{"role": role, "parts": []}]}).messages
    assert (message.role, message.role_given) == (read, given)
    instruction = {"role": role, "parts": [{"text": "x"}]}
    assert read_generate_content({"systemInstruction": instruction}).system_role_given == given


def test_every_kind_of_part() -> None:
    film = {"fileUri": "gs://b/f.mp4", "mimeType": "video/mp4"}
    answer_file = {"inlineData": {"mimeType": "image/png", "data": PNG}}
    parts = [
        {"text": "Hm.", "thought": True, "thoughtSignature": "AAAA"},
        {"functionCall": {"id": "1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "BBBB"},
        {"functionResponse": {"id": "1", "name": "f", "response": {"ok": 1}, "parts": [answer_file]}},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"toolCall": {"toolType": "FILE_SEARCH", "args": {}}},
        {"toolResponse": {"toolType": "FILE_SEARCH", "response": {"x": 1}}},
        {"fileData": film, "videoMetadata": {"fps": 5, "startOffset": "1.5s"}},
        {"thoughtSignature": "CCCC"}, {}, {"text": None}, {"hologram": {"depth": 1}, "partMetadata": {"a": 1}},
    ]
    (message,) = read_generate_content(one_turn(*parts)).messages
    at = "contents[0].parts"
    image = Media("image", "image/png", base64.b64decode(PNG), path=f"{at}[2].functionResponse.parts[0].inlineData")
    assert message.parts == (
        Text("Hm.", f"{at}[0]", thought=True),
        Thinking(signature="AAAA", path=f"{at}[0]"),
        ToolCall("f", {"a": 1}, call_id="1", signature="BBBB", path=f"{at}[1]"),
        ToolResult("1", "f", (image,), {"ok": 1}, path=f"{at}[2]"),
        ToolCall("", {"language": "PYTHON", "code": "1"}, hosted="codeExecution", path=f"{at}[3]"),
        ToolResult("", "", (), {"outcome": "OUTCOME_OK", "output": "1"}, hosted="codeExecution", path=f"{at}[4]"),
        ToolCall("FILE_SEARCH", {}, hosted="serverTool", path=f"{at}[5]"),
        ToolResult("", "FILE_SEARCH", (), {"x": 1}, hosted="serverTool", path=f"{at}[6]"),
        Media("video", "video/mp4", reference="gs://b/f.mp4", path=f"{at}[7].fileData", clip=(1.5, None), fps=5.0),
        Thinking(signature="CCCC", path=f"{at}[8]"),
        Unknown("hologram", {"hologram": {"depth": 1}}, f"{at}[11].hologram"),
    )


# ---------------------------------------------------------------- refusals


PART = "contents[0].parts[0]"

REFUSED_PARTS: list[tuple[Any, str]] = [
    (3, ""), ({"text": 3}, ".text"), ({"functionCall": "f"}, ".functionCall"),
    ({"inlineData": {"mimeType": "image/png", "data": "###"}}, ".inlineData.data"),
    ({"inline_data": {"mime_type": "image/png"}}, ".inline_data.data"),
    ({"inlineData": {"mimeType": 3, "data": ""}}, ".inlineData.mimeType"),
    ({"inlineData": {"data": {"_media": {"seconds": -1}}}}, ".inlineData.data._media.seconds"),
    ({"functionResponse": {"parts": [{"inlineData": {"data": "#"}}]}}, ".functionResponse.parts[0].inlineData.data"),
    ({"thoughtSignature": 3}, ".thoughtSignature"),
    ({"fileData": {"fileUri": 3}}, ".fileData.fileUri"),
    ({"fileData": {}, "videoMetadata": {"fps": "fast"}}, ".videoMetadata.fps"),
    ({"fileData": {}, "videoMetadata": {"endOffset": "soon"}}, ".videoMetadata.endOffset"),
    ({"fileData": {}, "mediaResolution": {"level": []}}, ".mediaResolution.level"),
]
REFUSED_BODIES: list[tuple[Any, str]] = [
    ([], ""), ({}, "contents"), ({"messages": [{"role": "user", "content": "###"}]}, "contents"),
    ({"generateContentRequest": {"generationConfig": {}}}, "generateContentRequest.contents"),
    ({"contents": 3}, "contents"), ({"contents": [3]}, "contents[0]"),
    ({"contents": [{"role": 3}]}, "contents[0].role"), ({"systemInstruction": 3}, "systemInstruction"),
    ({"tools": "x"}, "tools"), ({"tools": [3]}, "tools[0]"),
    ({"tools": [{"functionDeclarations": [3]}]}, "tools[0].functionDeclarations[0]"),
    ({"tools": [{"function_declarations": [{"parameters": []}]}]}, "tools[0].function_declarations[0].parameters"),
    ({"toolConfig": []}, "toolConfig"), ({"generationConfig": "x"}, "generationConfig"),
    ({"generationConfig": {"responseSchema": "x"}}, "generationConfig.responseSchema"),
    ({"generationConfig": {"mediaResolution": {}}}, "generationConfig.mediaResolution"),
    ({"generateContentRequest": {"contents": [{"parts": 3}]}}, "generateContentRequest.contents[0].parts"),
    ({"cachedContent": 3}, "cachedContent"),
]


@pytest.mark.parametrize(
    ("body", "field"), [*REFUSED_BODIES, *((one_turn(part), PART + path) for part, path in REFUSED_PARTS)]
)
def test_a_refusal_names_the_culprit_and_repeats_nothing(body: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as found:
        read_generate_content(body)
    assert found.value.field == (field or None)
    assert "###" not in found.value.message
    with pytest.raises(InvalidRequest) as nested:
        read_generate_content(body, "request")
    assert nested.value.field == (f"request.{field}" if field else "request")
