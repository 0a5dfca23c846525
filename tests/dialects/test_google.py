from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from service.dialects.google.endpoints import answer
from service.dialects.google.errors import WIRE
from service.dialects.google.request import read_generate_content
from service.dialects.readers import READERS
from service.errors import InvalidRequest, MethodNotAllowed, RateLimited, ServiceError, TooLarge, UnknownModel
from service.types import Media, TokenCount, ToolChoice
from tests.dialects.google_bodies import PNG, one_turn, texts
from tests.support.live import LiveServer
from tests.support.web import client_of, make_app

FOX = "The quick brown fox jumps over the lazy dog."

# ---------------------------------------------------------------- whole bodies


CAMEL = {
    "contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]}],
    "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
    "tools": [
        {"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]}, {"urlContext": {}},
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
    "generationConfig": {
        "responseMimeType": "application/json", "responseJsonSchema": {"type": "object"},
        "mediaResolution": "MEDIA_RESOLUTION_LOW", "thinkingConfig": {"thinkingBudget": -1},
    },
    "cachedContent": "cachedContents/x",
}
SNAKE = {
    "contents": [{"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": PNG}}]}],
    "system_instruction": {"role": "user", "parts": [{"text": "Be brief."}]},
    "tools": [
        {"function_declarations": [{"name": "f", "parameters_json_schema": {"type": "object"}}]}, {"url_context": {}},
    ],
    "tool_config": {"function_calling_config": {"mode": 2, "allowed_function_names": ["f"]}},
    "generation_config": {
        "response_mime_type": "application/json", "response_json_schema": {"type": "object"},
        "media_resolution": 1, "thinking_config": {"thinking_budget": -1},
    },
    "cached_content": "cachedContents/x",
}


def test_both_spellings_and_numbers_for_enums_read_the_same() -> None:
    camel, snake = read_generate_content(CAMEL), read_generate_content(SNAKE)
    for name in ("system_role_given", "tool_choice", "output", "thinking", "options", "dialect"):
        assert getattr(camel, name) == getattr(snake, name), name
    assert texts(camel.system) == texts(snake.system) == ["Be brief."]
    assert [(tool.name, tool.kind, tool.parameters) for tool in camel.tools] == [
        (tool.name, tool.kind, tool.parameters) for tool in snake.tools
    ] == [("f", "function", {"type": "object"}), ("urlContext", "urlContext", None)]
    assert camel.tool_choice == ToolChoice("named", "f", allowed=("f",))
    assert camel.options == {"media_resolution": "MEDIA_RESOLUTION_LOW", "cached_content": "cachedContents/x"}
    assert camel.thinking == "adaptive"
    images = [message.parts[0] for prompt in (camel, snake) for message in prompt.messages]
    assert all(isinstance(image, Media) and image.data == base64.b64decode(PNG) for image in images)


def test_a_whole_request_may_stand_under_its_own_name() -> None:
    inner = {**CAMEL, "model": "models/gemini-2.5-flash"}
    wrapped = read_generate_content({"generateContentRequest": inner, "contents": [{"parts": [{"text": "ignored"}]}]})
    plain = read_generate_content(CAMEL)
    assert (texts(wrapped.system), wrapped.output, wrapped.options) == (["Be brief."], plain.output, plain.options)
    assert len(wrapped.messages) == len(plain.messages)
    assert read_generate_content({"generate_content_request": inner}).options == plain.options


def test_the_argument_of_the_sdks_is_understood() -> None:
    config = {"system_instruction": "Be brief.", "tools": CAMEL["tools"], "response_schema": {"type": "OBJECT"}}
    prompt = read_generate_content({"contents": "Hi", "config": config})
    assert texts(prompt.system) == ["Be brief."]
    assert [tool.name for tool in prompt.tools] == ["f", "urlContext"]
    assert prompt.output is not None
    assert prompt.output.schema_form == "google"


def test_declarations_of_both_forms() -> None:
    tools = [{"functionDeclarations": [
        {"name": "a", "parameters": {"type": "OBJECT"}, "response": {"type": "STRING"}},
        {"name": "b", "parametersJsonSchema": {"type": "object"}, "parameters": {"type": "OBJECT"}},
        {"name": "c", "description": None, "parameters": None},
    ]}]
    read = read_generate_content({"tools": tools}).tools
    assert [(tool.name, tool.schema_form) for tool in read] == [("a", "google"), ("b", "json"), ("c", "google")]
    assert read[0].response == {"type": "STRING"}
    assert read[2].parameters is None


@pytest.mark.parametrize(
    ("setting", "choice"),
    [
        ({"mode": "AUTO"}, ToolChoice()), ({"mode": "VALIDATED"}, ToolChoice()), ({"mode": 3}, ToolChoice("none")),
        ({"mode": "any"}, ToolChoice("required")),
        ({"mode": "ANY", "allowedFunctionNames": ["a", "b"]}, ToolChoice("required", allowed=("a", "b"))),
        ({}, ToolChoice()), ({"mode": None}, ToolChoice()), ({"mode": 99}, ToolChoice()),
    ],
)
def test_tool_choice(setting: dict[str, Any], choice: ToolChoice) -> None:
    body = {"contents": [], "toolConfig": {"functionCallingConfig": setting}}
    assert read_generate_content(body).tool_choice == choice


@pytest.mark.parametrize(
    ("tools", "names"),
    [(None, []), ([], []), ({}, []), ([{}], []), ({"name": "f"}, ["f"]), ([{"googleSearch": None}], [])],
)
def test_odd_shapes_of_tools(tools: Any, names: list[str]) -> None:
    assert [tool.name for tool in read_generate_content({"contents": [], "tools": tools}).tools] == names


def test_a_reader_is_registered_under_its_dialect() -> None:
    assert READERS["google.generateContent"]({"contents": []}, "request").dialect == "google.generateContent"


# ---------------------------------------------------------------- answers and errors


def test_an_answer_is_split_by_modality() -> None:
    count = TokenCount(
        1_400, "exact", 1_400, 1_400, "gemma3", "x", {"messages": 40, "media": 1_360},
        modalities={"IMAGE": 1_089, "AUDIO": 250, "TEXT": 21},
    )
    assert answer(count) == {"totalTokens": 1_400, "promptTokensDetails": [
        {"modality": "TEXT", "tokenCount": 61}, {"modality": "IMAGE", "tokenCount": 1_089},
        {"modality": "AUDIO", "tokenCount": 250},
    ]}
    assert answer(TokenCount(0, "exact", 0, 0, "gemma3", "x", {})) == {"totalTokens": 0, "promptTokensDetails": []}


@pytest.mark.parametrize(
    ("error", "code", "status", "kinds"),
    [
        (InvalidRequest("Wrong.", field="contents"), 400, "INVALID_ARGUMENT", ["BadRequest", "RequestInfo"]),
        (UnknownModel("Unknown."), 404, "NOT_FOUND", ["BadRequest", "RequestInfo"]),
        (RateLimited("Slow down.", retry_after=1.5), 429, "RESOURCE_EXHAUSTED", ["RetryInfo", "RequestInfo"]),
        (TooLarge("Too large."), 413, "INVALID_ARGUMENT", ["RequestInfo"]),
        (MethodNotAllowed("Wrong method."), 405, "UNIMPLEMENTED", ["RequestInfo"]),
        (ServiceError("?"), 500, "INTERNAL", ["RequestInfo"]),
    ],
)
def test_errors_wear_googles_envelope(error: ServiceError, code: int, status: str, kinds: list[str]) -> None:
    given, body = WIRE.error(error, "r1")
    assert (given, body["error"]["code"], body["error"]["status"]) == (code, code, status)
    assert body["error"]["message"] == error.message
    assert [detail["@type"].rpartition(".")[2] for detail in body["error"]["details"]] == kinds


# ---------------------------------------------------------------- over HTTP


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(make_app()) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "tokens"),
    [
        ("/v1beta/models/gemini-2.5-flash:countTokens", 11), ("/v1/models/gemini-2.5-flash:countTokens", 11),
        ("/v1beta/models/gemini-2.5-flash:countTokens?key=abc&alt=json", 11),
        ("/v1beta/models/google/gemini-2.5-flash:countTokens", 11),
        ("/v1beta1/projects/p/locations/us-central1/publishers/google/models/gemini-2.5-flash:countTokens", 10),
        ("/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-flash:countTokens", 10),
        ("/v1beta1/publishers/google/models/gemini-2.5-flash:countTokens", 10),
        ("/v1/publishers/google/models/gemini-2.5-flash:countTokens", 10),
    ],
)
async def test_the_path_picks_the_platform(client: httpx.AsyncClient, path: str, tokens: int) -> None:
    reply = await client.post(path, json=one_turn({"text": FOX}))
    assert reply.status_code == 200, reply.text
    assert reply.json() == {"totalTokens": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]}
    assert reply.headers["X-Tallystick-Tokenizer"] == "gemma3"


async def test_the_native_platform_does_too(client: httpx.AsyncClient) -> None:
    for platform, tokens in (("vertex", 10), ("gemini-api", 11)):
        body = {"model": "gemini-2.5-flash", "request": one_turn({"text": FOX}), "platform": platform}
        assert (await client.post("/v1/countTokens", json=body)).json()["input_tokens"] == tokens


async def test_refusals_over_http(client: httpx.AsyncClient) -> None:
    path = "/v1beta/models/gemini-2.5-flash:countTokens"
    bad = await client.post(path, json=one_turn({"inlineData": {"mimeType": "image/png", "data": "?"}}))
    assert (bad.status_code, bad.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
    violation = bad.json()["error"]["details"][0]["fieldViolations"][0]
    assert violation["field"] == "contents[0].parts[0].inlineData.data"
    assert (await client.post(path, content=b"{")).json()["error"]["status"] == "INVALID_ARGUMENT"
    for unknown in ("/v1beta/models/palm-9:countTokens", "/v1beta/tunedModels/mine-123:countTokens", "/v1beta/nothing"):
        reply = await client.post(unknown, json=one_turn({"text": "x"}))
        assert (reply.status_code, reply.json()["error"]["status"]) == (404, "NOT_FOUND")


# ---------------------------------------------------------------- the official SDK, by base URL alone


def test_the_official_sdk_counts(live: LiveServer) -> None:
    from google import genai
    from google.genai import errors, types

    client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=live.url))
    count = client.models.count_tokens(model="gemini-2.5-flash", contents=FOX)
    assert count.total_tokens == 11
    parts = ["What is this?", types.Part.from_bytes(data=base64.b64decode(PNG), mime_type="image/png")]
    count = client.models.count_tokens(model="models/gemini-3-flash-preview", contents=parts)
    assert count.total_tokens == 4 + 1_089 + 1
    chat = [types.UserContent("a=5"), types.ModelContent(""), types.UserContent("what is the value of a+10?")]
    assert client.models.count_tokens(model="gemini-2.0-flash", contents=chat).total_tokens == 13
    with pytest.raises(errors.ClientError) as found:
        client.models.count_tokens(model="palm-9", contents="x")
    assert (found.value.code, found.value.status) == (404, "NOT_FOUND")
    client.close()


def test_the_official_sdk_counts_as_vertex(live: LiveServer) -> None:
    from google import genai
    from google.genai import types
    from google.oauth2.credentials import Credentials

    def object_of(name: str) -> types.Schema:
        return types.Schema(type=types.Type.OBJECT, properties={name: types.Schema(type=types.Type.STRING)})

    credentials = Credentials(token="any")  # type: ignore[no-untyped-call]
    client = genai.Client(
        vertexai=True, project="p", location="us-central1", credentials=credentials,
        http_options=types.HttpOptions(base_url=live.url),
    )
    weather = types.FunctionDeclaration(
        name="get_weather", description="Weather of a city.", parameters=object_of("city")
    )
    config = types.CountTokensConfig(
        system_instruction="Be brief.", tools=[types.Tool(function_declarations=[weather])],
        generation_config=types.GenerationConfig(response_schema=object_of("name")),
    )
    plain = client.models.count_tokens(model="gemini-2.5-flash", contents=FOX)
    whole = client.models.count_tokens(model="gemini-2.5-flash", contents=FOX, config=config)
    assert plain.total_tokens == 10
    assert whole.total_tokens == 10 + 3 + (3 + 5 + 2 + 1) + (2 + 1)  # texts, then types and property names
    client.close()
