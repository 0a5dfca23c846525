from __future__ import annotations

import base64
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.dialects.openai.endpoints import COUNT
from service.dialects.openai.errors import WIRE
from service.dialects.readers import READERS
from service.errors import InvalidRequest, RateLimited, ServiceError, TooLarge, Unauthorized, UnknownModel
from service.types import (
    Json,
    Media,
    OutputFormat,
    Prompt,
    Text,
    Thinking,
    ToolAddition,
    ToolCall,
    ToolChoice,
    ToolResult,
    Unknown,
)
from tests.support.web import client_of, make_app


def read(body: Json, dialect: str = "openai.chat", path: str = "") -> Prompt:
    return READERS[dialect](body, path)


def one(part: Json) -> Any:
    """What a single content part reads as."""
    return read({"messages": [{"role": "user", "content": [part]}]}).messages[0].parts[0]


def item(value: Json) -> Any:
    """What a single Responses item holds."""
    return read({"input": [value]}, "openai.responses").messages[0].parts[0]


# ---------------------------------------------------------------- content


def test_content_is_null_a_string_parts_or_one_part() -> None:
    for content, texts in [
        (None, []), ("Hi", ["Hi"]), ({"type": "text", "text": "Hi"}, ["Hi"]), (["Hi"], ["Hi"]),
        ([{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}], ["a", "b"]),
    ]:
        message = read({"messages": {"role": "user", "content": content}}).messages[0]
        assert [part.text for part in message.parts if isinstance(part, Text)] == texts


PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
PDF = base64.b64encode(b"%PDF-1.4").decode()
TWO_PAGES = {"_media": {"pages": 2}}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "low"}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "low"},
        {"type": "image_url", "image_url": f"data:image/png;charset=x;base64,{PIXEL.rstrip('=')}", "detail": "low"},
    ],
)
def test_images_by_data_url(part: Json) -> None:
    media = one(part)
    assert (media.kind, media.mime, media.data, media.detail) == (
        "image", "image/png", b"\x89PNG\r\n\x1a\n", "low",
    )
    assert media.reference is None


def test_images_by_url_id_or_description() -> None:
    assert one({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}).reference.startswith("https://")
    assert one({"type": "input_image", "file_id": "file-1"}).reference == "file-1"
    assert one({"type": "input_image", "image_url": {"_media": {"width": 3, "height": 4}}}).size == (3, 4)
    assert one({"type": "image_url", "image_url": {"url": {"_media": {"width": 3, "height": 4}}}}).size == (3, 4)


@pytest.mark.parametrize(
    ("part", "kind", "mime"),
    [
        ({"type": "file", "file": {"file_data": PDF}}, "document", "application/pdf"),
        ({"type": "input_file", "filename": "a.csv", "file_data": "YSxi"}, "file", "text/csv"),
        ({"type": "input_file", "file_data": "data:text/plain;base64,YSxi"}, "file", "text/plain"),
        ({"type": "input_file", "file_data": "data:text/plain,a%20b"}, "file", "text/plain"),
        ({"type": "input_file", "file_url": "https://example.com/x"}, "document", "application/pdf"),
        ({"type": "input_file", "file_id": "file-1", "filename": "notes.txt"}, "file", "text/plain"),
        ({"type": "input_file", "filename": "a.pdf", "file_data": TWO_PAGES}, "document", "application/pdf"),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, "audio", "audio/wav"),
        ({"type": "input_audio", "input_audio": {"data": {"_media": {"seconds": 2}}}}, "audio", "audio/*"),
        ({"type": "video_url", "video_url": {"url": "https://example.com/v"}}, "video", "video/*"),
    ],
)
def test_files_and_recordings(part: Json, kind: str, mime: str) -> None:
    media = one(part)
    assert isinstance(media, Media)
    assert (media.kind, media.mime) == (kind, mime)


def test_an_unknown_part_is_kept_with_its_path() -> None:
    part = {"type": "hologram", "x": 1}
    assert one(part) == Unknown("hologram", part, "messages[0].content[0]")


# ---------------------------------------------------------------- chat


def test_tool_calls_and_results() -> None:
    prompt = read({"messages": [
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
            {"id": "b", "type": "custom", "custom": {"name": "g", "input": "raw text"}},
        ]},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "red"}]},
        {"role": "assistant", "function_call": {"name": "h", "arguments": "not json"}},
        {"role": "function", "name": "h", "content": "blue"},
    ]})
    assert prompt.messages[0].parts == (
        ToolCall("f", {"x": 1}, '{"x": 1}', "a", path="messages[0].tool_calls[0]"),
        ToolCall("g", "raw text", "raw text", "b", path="messages[0].tool_calls[1]"),
    )
    assert prompt.messages[1].role == prompt.messages[3].role == "tool"
    assert isinstance(prompt.messages[3].parts[0], ToolResult)
    assert prompt.messages[2].parts[0].arguments == "not json"  # type: ignore[union-attr]


@pytest.mark.parametrize(("levels", "decoded"), [(90, True), (150, False), (900, False), (100_000, False)])
def test_arguments_nested_too_deeply_stay_a_text(levels: int, decoded: bool) -> None:
    raw = '{"a":' * levels + "1" + "}" * levels
    prompt = read({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": raw}}]}]})
    call = prompt.messages[0].parts[0]
    assert isinstance(call, ToolCall)
    assert call.raw_arguments == raw
    assert (call.arguments == raw) is not decoded


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        (None, ToolChoice()), ("auto", ToolChoice()), ("none", ToolChoice("none")),
        ("required", ToolChoice("required")), ("made up", ToolChoice()),
        ({"type": "allowed_tools", "mode": ["required"], "tools": []}, ToolChoice()),
        ({"type": "function", "function": {"name": "f"}}, ToolChoice("named", "f")),
        ({"type": "function", "name": "f"}, ToolChoice("named", "f")),
        ({"type": "custom", "custom": {"name": "f"}}, ToolChoice("named", "f")),
        ({"type": "web_search_preview"}, ToolChoice("named")),
        ({"name": "f"}, ToolChoice("named", "f")),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"function": {"name": "f"}}]}},
            ToolChoice("required", allowed=("f",)),
        ),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"name": "f"}]}, ToolChoice("auto", allowed=("f",))),
    ],
)
def test_tool_choice(choice: Json, wanted: ToolChoice) -> None:
    assert read({"messages": [], "tool_choice": choice}).tool_choice == wanted


def test_tools_of_every_kind() -> None:
    nested = {"type": "function", "function": {"name": "a", "parameters": {"type": "object"}, "strict": True}}
    flat = {"type": "function", "name": "b", "defer_loading": True}
    custom = {"type": "custom", "name": "c", "format": {"type": "text"}}
    space = {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "d"}]}
    declared = [nested, flat, custom, space, {"type": "mcp"}]
    tools = read({"messages": [], "tools": declared, "functions": [{"name": "e"}]}).tools
    assert [(tool.name, tool.kind, tool.deferred) for tool in tools] == [
        ("a", "function", False), ("b", "function", True), ("c", "custom", False), ("d", "function", False),
        ("mcp", "mcp", False), ("e", "function", False),
    ]
    assert tools[0].strict is True


@pytest.mark.parametrize("dialect", ["openai.chat", "openai.responses"])
def test_output_formats(dialect: str) -> None:
    def output(form: Json) -> OutputFormat | None:
        body = {"messages": [], "response_format": form} if dialect == "openai.chat" else {"text": {"format": form}}
        return read(body, dialect).output

    inner = {"name": "x", "description": "d", "schema": {"type": "object"}, "strict": True}
    wanted = OutputFormat("json_schema", "x", "d", {"type": "object"}, strict=True)
    assert output({"type": "json_schema", "json_schema": inner}) == wanted
    assert output({"type": "json_schema", **inner}) == wanted
    assert output({"type": "json_object"}) == OutputFormat("json_object")
    assert output({"type": "text"}) is None
    assert output(None) is None


# ---------------------------------------------------------------- responses


def test_items_of_the_running_conversation() -> None:
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    assert item(call) == ToolCall("f", {}, "{}", "a", path="input[0]")
    sampled = item({**call, "id": "fc", "status": "completed"})
    assert sampled == ToolCall("f", {}, "{}", "a", replayed=True, item_id=True, path="input[0]")
    assert item({**call, "arguments": {"x": 1}}).raw_arguments is None
    assert item({"type": "custom_tool_call", "call_id": "a", "name": "f", "input": "x"}).arguments == "x"
    assert item({"type": "function_call_output", "call_id": "a", "output": "red"}).parts[0].text == "red"
    picture = {"type": "input_image", "image_url": "https://example.com/a.png"}
    assert isinstance(item({"type": "function_call_output", "call_id": "a", "output": [picture]}).parts[0], Media)
    summary = [{"type": "summary_text", "text": "hm"}]
    reasoning = item({"type": "reasoning", "summary": summary, "encrypted_content": "x"})
    assert reasoning == Thinking("hm", "x", False, "input[0]")
    assert isinstance(item({"type": "additional_tools", "tools": [{"type": "function", "name": "f"}]}), ToolAddition)


SCREEN = {"type": "computer_screenshot", "file_id": "f"}


@pytest.mark.parametrize(
    ("value", "hosted"),
    [
        ({"type": "web_search_call", "id": "ws", "action": {"query": "x"}}, "web_search_call"),
        ({"type": "mcp_list_tools", "tools": []}, "mcp_list_tools"),
        ({"type": "computer_call_output", "output": SCREEN}, "computer_call_output"),
        ({"type": "tool_search_output", "tools": [{"type": "function", "name": "f"}]}, "tool_search"),
        ({"type": "image_generation_call", "result": PIXEL}, "image_generation_call"),
    ],
)
def test_items_of_the_providers_own_tools(value: Json, hosted: str) -> None:
    assert item(value).hosted == hosted


def test_the_picture_of_an_image_generation_is_not_counted_as_text() -> None:
    assert item({"type": "image_generation_call", "result": PIXEL}).parts[0].data.startswith(b"\x89PNG")


def test_a_string_is_a_user_message_and_instructions_are_the_system_prompt() -> None:
    prompt = read({"input": "Hi", "instructions": "Be brief."}, "openai.responses")
    assert prompt.messages[0].parts == (Text("Hi", "input"),)
    assert prompt.system == (Text("Be brief.", "instructions"),)
    assert read({"input": [], "instructions": ""}, "openai.responses").system == ()


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("dialect", "body", "field"),
    [
        ("openai.chat", [], None),
        ("openai.chat", {}, "messages"),
        ("openai.chat", {"messages": "Hi"}, "messages"),
        ("openai.chat", {"messages": ["Hi"]}, "messages[0]"),
        ("openai.chat", {"messages": [{"content": "Hi"}]}, "messages[0].role"),
        ("openai.chat", {"messages": [{"role": "robot"}]}, "messages[0].role"),
        ("openai.chat", {"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ("openai.chat", {"messages": [{"role": "user", "content": [5]}]}, "messages[0].content[0]"),
        ("openai.chat", {"messages": [{"role": "user", "content": [{"type": ["secret"]}]}]},
         "messages[0].content[0].type"),
        ("openai.responses", {"input": [{"role": "user", "content": [{"type": {}}]}]}, "input[0].content[0].type"),
        ("openai.chat", {"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]},
         "messages[0].content[0].text"),
        ("openai.chat", {"messages": [{"role": "assistant", "tool_calls": [{"function": "f"}]}]},
         "messages[0].tool_calls[0].function"),
        ("openai.chat", {"messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,?secret?"}}]}]},
         "messages[0].content[0].image_url.url"),
        ("openai.chat", {"messages": [], "tools": [{"type": "function", "function": {"parameters": {}}}]},
         "tools[0].function.name"),
        ("openai.chat", {"messages": [], "tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]},
         "tools[0].function.parameters"),
        ("openai.chat", {"messages": [], "tool_choice": 5}, "tool_choice"),
        ("openai.chat", {"messages": [], "response_format": {"type": "json_schema", "json_schema": 5}},
         "response_format.json_schema"),
        ("openai.responses", {"input": 5}, "input"),
        ("openai.responses", {"messages": [{"role": "user", "content": "secret"}]}, "input"),
        ("openai.responses", {"input": [{"type": "function_call"}]}, "input[0].name"),
        ("openai.responses", {"input": [{"type": "message"}]}, "input[0].role"),
        ("openai.responses", {"text": "x"}, "text"),
        ("openai.embeddings", {}, "input"),
        ("openai.embeddings", {"input": 5}, "input"),
        ("openai.embeddings", {"input": ["a", 1.5]}, "input[1]"),
        ("openai.completions", {"prompt": {"secret": 1}}, "prompt"),
    ],
)
def test_a_refusal_names_the_culprit_and_repeats_nothing(dialect: str, body: Json, field: str | None) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(body, dialect)
    assert caught.value.field == field
    assert "secret" not in caught.value.message


def test_the_path_of_a_nested_body_is_told_from_the_top() -> None:
    with pytest.raises(InvalidRequest) as caught:
        read({"messages": [{"role": 5}]}, path="items[3].request")
    assert caught.value.field == "items[3].request.messages[0].role"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8)
    | st.sampled_from(["message", "function_call", "reasoning", "input_image", "file", "text", "function", "user"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from([
            "role", "content", "type", "text", "image_url", "url", "file", "file_data", "tools", "function", "name",
            "parameters", "tool_calls", "arguments", "output", "input", "messages", "summary", "format", "_media",
        ]), inner, max_size=4,
    ),
    max_leaves=20,
)


@given(body=st.dictionaries(st.sampled_from(["messages", "input", "tools", "tool_choice", "text", "prompt"]), JSON),
       dialect=st.sampled_from(sorted(name for name in READERS if name.startswith("openai."))))
def test_no_body_raises_anything_but_a_refusal(body: Json, dialect: str) -> None:
    try:
        prompt = read(body, dialect)
    except InvalidRequest:
        return
    assert prompt.dialect == dialect


# ---------------------------------------------------------------- the endpoint


async def test_the_official_sdk_counts_by_base_url_alone() -> None:
    async with client_of(make_app()) as http:
        sdk_http: Any = http
        client = openai.AsyncOpenAI(base_url="http://tallystick/v1", api_key="any", http_client=sdk_http)
        count = client.responses.input_tokens.count
        plain = await count(model="gpt-4.1-mini", input="What is the weather in Paris?")
        assert (plain.object, plain.input_tokens) == ("response.input_tokens", 14)
        function: Any = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True}
        whole = await count(model="gpt-4.1-mini", input="Hi", instructions="Be brief.", tools=[function])
        assert whole.input_tokens > plain.input_tokens
        with pytest.raises(openai.NotFoundError) as unknown:
            await count(model="no-such-model", input="Hi")
        with pytest.raises(openai.BadRequestError) as bad:
            await count(model="gpt-4o", input=5)  # type: ignore[arg-type]
    assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
    assert (bad.value.type, bad.value.param) == ("invalid_request_error", "input")


def test_a_body_without_a_model_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        COUNT.read({"input": "Hi"}, {})
    assert caught.value.field == "model"


@pytest.mark.parametrize(
    ("error", "status", "kind", "code"),
    [
        (InvalidRequest("x", field="input"), 400, "invalid_request_error", None),
        (Unauthorized("x"), 401, "invalid_request_error", "invalid_api_key"),
        (UnknownModel("x"), 404, "invalid_request_error", "model_not_found"),
        (TooLarge("x"), 413, "invalid_request_error", "request_too_large"),
        (RateLimited("x"), 429, "rate_limit_error", "rate_limit_exceeded"),
        (ServiceError("x"), 500, "server_error", None),
    ],
)
def test_the_error_envelope(error: ServiceError, status: int, kind: str, code: str | None) -> None:
    assert WIRE.error(error, "req_1") == (
        status, {"error": {"message": "x", "type": kind, "param": error.field, "code": code}},
    )
