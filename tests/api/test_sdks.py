"""Official SDKs at a live server by base URL alone (google-genai: tests/dialects), and a coding agent's burst."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import zlib
from typing import Any

import anthropic
import httpx
import openai
import pytest

from tests.support.live import HTTP, LiveServer

WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Name of a city"},
        "unit": {"type": "string", "enum": ["c", "f"]},
    },
    "required": ["city"],
}


def png(width: int, height: int) -> str:
    """Base64 of a white picture that any decoder takes."""
    rows = b"".join(b"\0" + b"\xff" * 3 * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


# ---------------------------------------------------------------- the SDKs


@pytest.fixture
def claude(live: LiveServer) -> Any:
    with anthropic.Anthropic(api_key="any", base_url=live.url, max_retries=0) as client:
        yield client


@pytest.fixture
def gpt(live: LiveServer) -> Any:
    with openai.OpenAI(api_key="any", base_url=f"{live.url}/v1", max_retries=0) as client:
        yield client


def test_anthropic_counts_messages(claude: Any) -> None:
    answer = claude.messages.count_tokens(
        model="claude-sonnet-4-5", system="You are a scientist",
        messages=[{"role": "user", "content": "Hello, Claude"}],
    )
    assert answer.input_tokens == 14  # the example of Anthropic's documentation, as billed


def test_anthropic_counts_tools_images_and_results(claude: Any) -> None:
    tools = [{"name": "get_weather", "description": "The weather.", "input_schema": WEATHER}]
    turns: list[Any] = [
        {"role": "user", "content": "How is the weather in Busan?"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t", "name": "get_weather", "input": {"city": "Busan"}},
        ]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "21 degrees"}]},
    ]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png(100, 100)}}
    counted = [
        claude.messages.count_tokens(model="claude-sonnet-4-5", messages=turns[:1]).input_tokens,
        claude.messages.count_tokens(model="claude-sonnet-4-5", messages=turns[:1], tools=tools).input_tokens,
        claude.messages.count_tokens(model="claude-sonnet-4-5", messages=turns, tools=tools).input_tokens,
        claude.messages.count_tokens(
            model="claude-sonnet-4-5", tools=tools,
            messages=[*turns, {"role": "user", "content": [image, {"type": "text", "text": "And here?"}]}],
        ).input_tokens,
    ]
    assert counted == sorted(set(counted))
    assert counted[1] - counted[0] > 496  # the tool prompt of the 4.5 generation alone


def test_anthropic_beta_counts_too(claude: Any) -> None:
    answer = claude.beta.messages.count_tokens(
        model="claude-opus-4-8", betas=["token-counting-2024-11-01", "context-1m-2025-08-07"],
        messages=[{"role": "user", "content": "Hello, Claude"}],
    )
    assert answer.input_tokens == 13  # ctok 1.3.0, frame included


def test_anthropic_raises_its_own_errors(claude: Any) -> None:
    with pytest.raises(anthropic.NotFoundError, match="not known"):
        claude.messages.count_tokens(model="no-such-model", messages=[{"role": "user", "content": "hi"}])
    broken = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "%%%"}}
    with pytest.raises(anthropic.BadRequestError, match=r"messages\[0\]\.content\[0\]\.source\.data"):
        claude.messages.count_tokens(model="claude-sonnet-4-5", messages=[{"role": "user", "content": [broken]}])


def test_openai_counts_input(gpt: Any) -> None:
    plain = gpt.responses.input_tokens.count(model="gpt-4o", input="Hello, world!")
    assert (plain.object, plain.input_tokens) == ("response.input_tokens", 11)
    with_system = gpt.responses.input_tokens.count(model="gpt-4o", instructions="Be brief.", input="Hello, world!")
    assert with_system.input_tokens == 11 + 4 + 3
    tool = {"type": "function", "name": "get_weather", "parameters": WEATHER, "strict": False}
    with_tool = gpt.responses.input_tokens.count(model="gpt-4o", input="Hello, world!", tools=[tool])
    assert with_tool.input_tokens > plain.input_tokens + 20
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{png(100, 100)}", "detail": "auto"}
    with_image = gpt.responses.input_tokens.count(model="gpt-4o", input=[{"role": "user", "content": [image]}])
    assert with_image.input_tokens == 255 + 4 + 3


def test_openai_raises_its_own_errors(gpt: Any) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        gpt.responses.input_tokens.count(model="no-such-model", input="hi")
    assert caught.value.body["param"] == "model"
    with pytest.raises(openai.BadRequestError):
        gpt.responses.input_tokens.count(model="gpt-4o", input=[{"role": "user", "content": 7}])


def test_google_takes_a_whole_request_by_raw_http(live: LiveServer) -> None:
    request = {
        "model": "models/gemini-2.5-flash",
        "contents": [{"role": "user", "parts": [{"text": "Hello, world!"}]}],
        "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
    }
    path = "/v1beta/models/gemini-2.5-flash:countTokens"
    answer = HTTP.post(live.url + path, params={"key": "any"}, json={"generateContentRequest": request})
    assert (answer.status_code, answer.json()["totalTokens"]) == (200, 5 + 4)


# ---------------------------------------------------------------- what every part costs


def count(live: LiveServer, model: str, dialect: str, request: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"model": model, "dialect": dialect, "request": request, **more}
    answer = HTTP.post(f"{live.url}/v1/countTokens", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert sum(found["details"].values()) == found["input_tokens"]
    assert found["error_band"]["low"] <= found["input_tokens"] <= found["error_band"]["high"]
    return found


SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "How is the weather in Busan?"}
CHAT_CALL = {
    "role": "assistant", "content": None,
    "tool_calls": [
        {"id": "t", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Busan"}'}},
    ],
}
CHAT_RESULT = {"role": "tool", "tool_call_id": "t", "content": "21 degrees"}
CHAT_TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": WEATHER}}]
MODELS = [
    "gpt-4o", "gpt-5.4", "o3", "claude-sonnet-4-5", "claude-opus-4-8", "gemini-2.5-flash", "gemini-3-flash-preview",
    "phi-4",
]


@pytest.mark.parametrize("model", MODELS)
def test_every_part_of_a_chat_body_moves_the_count_of_every_model(live: LiveServer, model: str) -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(100, 100)}"}}
    bodies: list[dict[str, Any]] = [
        {"messages": [USER]},
        {"messages": [SYSTEM, USER]},
        {"messages": [SYSTEM, USER], "tools": CHAT_TOOLS},
        {"messages": [SYSTEM, USER, CHAT_CALL, CHAT_RESULT], "tools": CHAT_TOOLS},
        {"messages": [
            SYSTEM, USER, CHAT_CALL, CHAT_RESULT,
            {"role": "user", "content": [image, {"type": "text", "text": "And here?"}]},
        ], "tools": CHAT_TOOLS},
    ]
    counted = [count(live, model, "openai.chat", body)["input_tokens"] for body in bodies]
    assert counted == sorted(set(counted)), counted


@pytest.mark.parametrize("model", MODELS)
def test_a_conversation_costs_the_same_in_any_dialect(live: LiveServer, model: str) -> None:
    """Where no dialect adds anything of its own: plain text turns and a system prompt."""
    texts = ["What is a token?", "A piece of a word.", "Who decides which?"]
    chat = {"messages": [
        {"role": "system", "content": "Be brief."},
        *({"role": role, "content": text} for role, text in zip(("user", "assistant", "user"), texts, strict=True)),
    ]}
    claude = {"system": "Be brief.", "messages": chat["messages"][1:]}
    gemini = {
        "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": role, "parts": [{"text": text}]}
            for role, text in zip(("user", "model", "user"), texts, strict=True)
        ],
    }
    counted = {
        dialect: count(live, model, dialect, body)["input_tokens"]
        for dialect, body in {
            "openai.chat": chat, "anthropic.messages": claude, "google.generateContent": gemini,
            "openai.responses": {"instructions": "Be brief.", "input": chat["messages"][1:]},
        }.items()
    }
    assert len(set(counted.values())) == 1, counted


@pytest.mark.parametrize(
    ("model", "dialect", "request_body"),
    [
        ("gpt-4o", "openai.chat", {"messages": [{"role": "assistant", "content": None, "tool_calls": None}]}),
        ("gpt-4o", "openai.chat", {"messages": []}),
        ("gpt-4o", "openai.responses", {"input": []}),
        ("claude-sonnet-4-5", "anthropic.messages", {"messages": []}),
        ("claude-sonnet-4-5", "anthropic.messages", {"messages": [{"role": "system", "content": "Be brief."}]}),
        ("claude-sonnet-4-5", "anthropic.messages",
         {"messages": {"role": "user", "content": {"type": "text", "text": "a"}}}),
        ("claude-sonnet-4-5", "anthropic.messages",
         {"messages": [{"role": "user", "content": [{"type": "novel", "x": 1}]}]}),
        ("gemini-2.5-flash", "google.generateContent", {"contents": []}),
        ("gemini-2.5-flash", "google.generateContent", {"contents": {"parts": {"text": "a"}}}),
    ],
)
def test_legal_emptiness_and_odd_shapes_count(live: LiveServer, model: str, dialect: str, request_body: Any) -> None:
    assert count(live, model, dialect, request_body)["input_tokens"] >= 0


@pytest.mark.parametrize("encode", [
    lambda data: data, lambda data: data.rstrip("="), lambda data: data.replace("+", "-").replace("/", "_"),
    lambda data: data.replace("+", "-").replace("/", "_").rstrip("="),
])
def test_both_alphabets_of_base64_count_the_same(live: LiveServer, encode: Any) -> None:
    parts = [{"inlineData": {"mimeType": "image/png", "data": encode(png(57, 33))}}]
    body = {"contents": [{"role": "user", "parts": parts}]}
    assert count(live, "gemini-3-flash-preview", "google.generateContent", body)["details"]["media"] > 1_000


def test_a_remote_picture_is_assumed_not_fetched(live: LiveServer) -> None:
    image = {"type": "image_url", "image_url": {"url": "http://169.254.169.254/latest/meta-data"}}
    answer = count(live, "gpt-4o", "openai.chat", {"messages": [{"role": "user", "content": [image]}]})
    assert answer["method"] == "estimate"
    assert answer["uncounted"][0]["path"] == "request.messages[0].content[0]"
    assert answer["uncounted"][0]["assumed_tokens"] == answer["details"]["media"] > 0


# ---------------------------------------------------------------- a coding agent


async def test_a_burst_of_fifty_large_counts(live: LiveServer) -> None:
    """An editor starts: fifty bodies of 200 KB that differ in their last message, all at once, twice."""
    shared = [
        {"role": ("user", "assistant")[i % 2], "content": f"{i}: " + "def f(x):\n    return x + 1\n" * 75}
        for i in range(100)
    ]
    bodies = [
        json.dumps({"model": "claude-sonnet-4-5", "messages": [*shared, {"role": "user", "content": f"file {i}"}]})
        for i in range(50)
    ]
    assert min(map(len, bodies)) > 200_000
    async with httpx.AsyncClient(base_url=live.url, timeout=120) as client:
        async def ask(body: str) -> int:
            headers = {"anthropic-beta": "a,b", "x-api-key": "any"}
            answer = await client.post("/v1/messages/count_tokens?beta=true", content=body, headers=headers)
            assert answer.status_code == 200, answer.text
            return int(answer.json()["input_tokens"])

        first = await asyncio.gather(*map(ask, bodies))
        again = await asyncio.gather(*map(ask, bodies))
    assert first == again
    assert len(set(first)) == 1  # a number of one or two digits is one token
