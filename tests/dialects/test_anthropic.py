"""Anthropic's wire: bodies the SDK can send, the culprit's path in every refusal, the answer and the error envelope."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2 as httpx
import pytest

from service.counting.counter import Counter
from service.dialects.anthropic.endpoints import COUNT
from service.dialects.anthropic.errors import WIRE
from service.dialects.anthropic.request import CONTEXT_EDITS, read_messages
from service.dialects.json import read_json
from service.dialects.readers import READERS
from service.errors import (
    InvalidRequest,
    NotFound,
    Overloaded,
    RateLimited,
    ServiceError,
    TokenizerUnavailable,
    TooLarge,
    Unauthorized,
    UnknownModel,
    UnsupportedMedia,
)
from service.types import (
    Document,
    Media,
    SearchResult,
    Text,
    Thinking,
    ToolAddition,
    ToolCall,
    ToolChoice,
    ToolReference,
    ToolResult,
    Unknown,
    Warned,
)
from tests.support.routes import count_routes

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def parts(*content: Any, role: str = "user") -> tuple[Any, ...]:
    return read_messages({"messages": [{"role": role, "content": list(content)}]}).messages[0].parts


# ---------------------------------------------------------------- messages and blocks


def test_strings_blocks_and_single_objects_are_content() -> None:
    for content in ("hi", ["hi"], [{"type": "text", "text": "hi"}], {"type": "text", "text": "hi"}, [{"text": "hi"}]):
        prompt = read_messages({"messages": [{"role": "user", "content": content}]})
        assert [part.text for part in prompt.messages[0].parts if isinstance(part, Text)] == ["hi"]
    assert read_messages({"messages": {"role": "user", "content": "hi"}}).messages[0].role == "user"


def test_legal_emptiness() -> None:
    nothing = {"messages": [{"role": "user", "content": None}, {"role": "assistant", "content": []}], "tools": None,
               "tool_choice": None, "thinking": None, "system": None, "output_config": None, "mcp_servers": []}
    prompt = read_messages(nothing)
    assert [message.parts for message in prompt.messages] == [(), ()]
    assert not prompt.system
    assert not prompt.tools
    assert prompt.output is None
    assert read_messages({"messages": []}).messages == ()


def test_every_block_type_has_its_part() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    paper = {"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "a b"}}
    read = parts(
        {"type": "text", "text": "a", "citations": [{"type": "char_location", "cited_text": "x"}]},
        image, paper,
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a"}, image]}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "a"}],
         "citations": {"enabled": True}},
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "AAAA"},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}, "caller": {"type": "direct"}},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {"type": "mcp_tool_use", "id": "m1", "name": "g", "server_name": "x", "input": {}},
        {"type": "container_upload", "file_id": "file_1"}, {"type": "brand_new"},
        {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
    )
    kinds = [type(part) for part in read]
    assert kinds == [
        Text, Media, Document, Document, Media, Media, SearchResult, Thinking, Thinking, ToolCall, ToolCall, ToolCall,
        Unknown, Unknown,
    ]
    assert read[1].data is not None
    assert read[2].title == "T"
    assert [type(part) for part in read[3].parts] == [Text, Media]
    assert (read[5].reference, read[5].kind) == ("file_1", "document")
    assert read[6].citations
    assert read[8].redacted
    assert [call.hosted for call in read[9:12]] == [None, "web_search", "mcp"]


def test_results_know_the_tool_they_answer() -> None:
    prompt = read_messages({"messages": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "ok", "is_error": True},
            {"type": "tool_result", "tool_use_id": "t2"},
            {"type": "tool_result", "tool_use_id": "t1", "content": [
                {"type": "tool_reference", "tool_name": "g"}, {"type": "browser_state", "tabs": []},
            ]},
        ]},
    ]})
    first, second, third = prompt.messages[1].parts
    assert isinstance(first, ToolResult)
    assert (first.name, first.is_error, first.parts[0]) == ("f", True, Text("ok", "messages[1].content[0].content"))
    assert isinstance(second, ToolResult)
    assert (second.name, second.parts) == ("", ())
    assert isinstance(third, ToolResult)
    assert [type(part) for part in third.parts] == [ToolReference, Unknown]


def test_what_hosted_tools_brought_back() -> None:
    read = parts(
        {"type": "web_search_tool_result", "tool_use_id": "a", "content": [
            {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "AAAA"}]},
        {"type": "web_fetch_tool_result", "tool_use_id": "b", "content": {"type": "web_fetch_result", "url": "u",
            "content": {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}}},
        {"type": "tool_search_tool_result", "tool_use_id": "c", "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "g"}]}},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "d", "content": {
            "type": "bash_code_execution_result", "stdout": "1", "stderr": "", "return_code": 0, "content": []}},
        {"type": "mcp_tool_result", "tool_use_id": "e", "content": [{"type": "text", "text": "x"}], "is_error": False},
        {"type": "web_search_tool_result", "tool_use_id": "f", "content": {
            "type": "web_search_tool_result_error", "error_code": "unavailable"}},
        role="assistant",
    )
    assert [part.hosted for part in read] == [
        "web_search", "web_fetch", "tool_search", "bash_code_execution", "mcp", "web_search",
    ]
    assert [type(part.parts[0]) for part in read] == [Unknown, Document, ToolReference, Unknown, Text, Unknown]


def test_tools_choice_and_switches() -> None:
    prompt = read_messages({
        "messages": [{"role": "system", "content": [
            {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "late"}},
            {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"name": "inline"}}},
            {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "late"}},
        ]}],
        "tools": [
            {"name": "f", "description": "d", "input_schema": {"type": "object"}, "strict": True},
            {"type": "custom", "name": "late", "input_schema": {"type": "object"}, "defer_loading": True},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        ],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}},
                          "task_budget": {"type": "tokens", "total": 9, "remaining": 5}},
        "mcp_servers": [{"type": "url", "url": "https://a.example", "name": "a"}],
        "context_management": {"edits": []},
    })
    assert [(tool.name, tool.kind, tool.deferred) for tool in prompt.tools] == [
        ("f", "function", False), ("late", "function", True), ("web_search", "web_search_20250305", False),
    ]
    assert prompt.tool_choice == ToolChoice("named", "f", parallel=False)
    assert prompt.thinking == "enabled"
    assert prompt.output is not None
    assert prompt.output.schema == {"type": "object"}
    assert prompt.options == {"task_budget": 5, "mcp_servers": ["mcp_servers[0]"]}
    assert prompt.warnings == (Warned(CONTEXT_EDITS, "context_management"),)
    late, inline, removal = prompt.messages[0].parts
    assert isinstance(late, ToolAddition)
    assert late.tools[0].parameters == {"type": "object"}
    assert isinstance(inline, ToolAddition)
    assert inline.tools[0].name == "inline"
    assert isinstance(removal, Unknown)


@pytest.mark.parametrize("data", [PIXEL, PIXEL.rstrip("="), PIXEL.replace("+", "-").replace("/", "_"), PIXEL + "\n"])
def test_base64_in_any_alphabet(data: str) -> None:
    for source in ({"type": "base64", "media_type": "image/png", "data": data},
                   {"type": "url", "url": f"data:image/png;base64,{data}"}):
        (image,) = parts({"type": "image", "source": source})
        assert image.data[:4] == b"\x89PNG"
        assert (image.mime, image.reference) == ("image/png", None)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("request_body", "field"),
    [
        ([], None),
        ({}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [1]}, "messages[0]"),
        ({"messages": [{"content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "narrator", "content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": 5}]}]}, "messages[0].content[0].type"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "messages[0].content[0].type"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": {}}]}]}, "messages[0].content[0].text"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages[0].content[0].source"),
        ({"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64"}}]}]},
         "messages[0].content[0].source"),
        ({"messages": [{"role": "user", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "not base64!"}}]}]},
         "messages[0].content[0].source.data"),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "abcde"}}]}]}]},
         "messages[0].content[0].content[0].source.data"),
        ({"messages": [], "system": 5}, "system"),
        ({"messages": [], "tools": [{"name": "f", "input_schema": []}]}, "tools[0].input_schema"),
        ({"messages": [], "tools": "all"}, "tools"),
        ({"messages": [], "tool_choice": {"type": "maybe"}}, "tool_choice.type"),
        ({"messages": [], "thinking": {"type": "deep"}}, "thinking.type"),
        ({"messages": [], "output_config": {"format": "json"}}, "output_config.format"),
        ({"messages": [], "output_config": {"task_budget": {"total": "9"}}}, "output_config.task_budget.total"),
    ],
)
def test_a_refusal_names_the_culprit_and_repeats_nothing(request_body: Any, field: str | None) -> None:
    with pytest.raises(InvalidRequest) as raised:
        read_messages(request_body)
    assert raised.value.field == field
    assert "not base64!" not in raised.value.message
    assert "narrator" not in raised.value.message


def test_paths_start_where_the_body_stands() -> None:
    with pytest.raises(InvalidRequest) as raised:
        READERS["anthropic.messages"]({"messages": [{"role": "user", "content": 5}]}, "items[3].request")
    assert raised.value.field == "items[3].request.messages[0].content"


def test_text_sources_are_not_base64() -> None:
    (paper,) = parts({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "é — !"}})
    assert paper.parts[0].text == "é — !"


# ---------------------------------------------------------------- the endpoint, as the SDK uses it

COUNTER = Counter.in_memory()


PATHS = {each.path for each in count_routes() if each.route.dialect is WIRE}


def serve(request: httpx.Request) -> httpx.Response:
    """Our endpoint behind the SDK's own transport: what it sends is read, what we answer is parsed."""
    assert request.url.path in PATHS
    try:
        body, warnings = read_json(request.content)
        question = COUNT.read(body, {})
        assert warnings == ()
        return httpx.Response(200, json=COUNT.answer(COUNTER.count(question)))
    except ServiceError as error:
        status, envelope = WIRE.error(error, "req_1")
        return httpx.Response(status, json=envelope)


def client(base_url: str = "http://test") -> anthropic.Anthropic:
    http_client = httpx.Client(transport=httpx.MockTransport(serve))
    return anthropic.Anthropic(api_key="k", base_url=base_url, http_client=http_client, max_retries=0)


def test_the_official_sdk_counts() -> None:
    for base_url in ("http://test", "http://test/anthropic"):
        answer = client(base_url).messages.count_tokens(
            model="claude-sonnet-4-5", system="You are a scientist",
            messages=[{"role": "user", "content": "Hello, Claude"}],
        )
        assert answer.input_tokens == 14


def test_the_beta_tells_the_count_before_edits() -> None:
    answer = client().beta.messages.count_tokens(
        model="claude-sonnet-5", betas=["context-management-2025-06-27"],
        messages=[{"role": "user", "content": "Hello"}],
        context_management={"edits": [{"type": "clear_tool_uses_20250919"}]},
        tools=[{"name": "f", "input_schema": {"type": "object"}}, {"type": "bash_20250124", "name": "bash"}],
        mcp_servers=[{"type": "url", "url": "https://a.example", "name": "a"}],
        thinking={"type": "adaptive"}, speed="fast", user_profile_id="u",
        output_config={"effort": "low", "task_budget": {"type": "tokens", "total": 20_000}},
    )
    assert answer.context_management is not None
    assert answer.context_management.original_input_tokens == answer.input_tokens > 600


def test_the_sdk_raises_its_own_errors() -> None:
    narrated: Any = [{"role": "narrator", "content": "x"}]
    with pytest.raises(anthropic.BadRequestError) as refused:
        client().messages.count_tokens(model="claude-sonnet-5", messages=narrated)
    assert refused.value.body == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "messages[0].role must be user, assistant or system."},
        "request_id": "req_1",
    }
    with pytest.raises(anthropic.NotFoundError):
        client().messages.count_tokens(model="no-such-model", messages=[])


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (InvalidRequest("x"), 400, "invalid_request_error"),
        (Unauthorized("x"), 401, "authentication_error"),
        (UnknownModel("x"), 404, "not_found_error"),
        (NotFound("x"), 404, "not_found_error"),
        (TooLarge("x"), 413, "request_too_large"),
        (UnsupportedMedia("x"), 415, "invalid_request_error"),
        (RateLimited("x"), 429, "rate_limit_error"),
        (Overloaded("x"), 529, "overloaded_error"),
        (TokenizerUnavailable("x"), 503, "api_error"),
        (ServiceError("x"), 500, "api_error"),
    ],
)
def test_errors_wear_anthropics_envelope(error: ServiceError, status: int, kind: str) -> None:
    assert WIRE.error(error, "req_1") == (
        status, {"type": "error", "error": {"type": kind, "message": "x"}, "request_id": "req_1"},
    )
