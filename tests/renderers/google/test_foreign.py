"""Bodies of other dialects counted for Gemini."""

from __future__ import annotations

from typing import Any

import pytest

from service.types import (
    Document,
    Message,
    OutputFormat,
    Prompt,
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
from tests.renderers.google.prompts import details_of, rendered, user

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def foreign(*messages: Message, **rest: Any) -> Prompt:
    return Prompt(messages, dialect="openai.chat", **rest)


def said(text: str) -> Message:
    return Message("user", (Text(text),))


def answered(call_id: str, text: str, **rest: Any) -> Message:
    return Message("tool", (ToolResult(call_id, "", (Text(text),), **rest),))


@pytest.mark.parametrize("platform", ["gemini-api", "vertex"])
@pytest.mark.parametrize("model", ["gemini-2.0-flash", "gemini-2.5-flash", "gemini-3-pro-preview", "gemini-3.5-flash"])
def test_a_conversation_costs_the_same_in_another_dialect(model: str, platform: str) -> None:
    prompt = foreign(
        Message("system", (Text("Be brief."),)),
        said("Weather in Rome?"),
        Message("assistant", (ToolCall("get_weather", {"city": "Rome"}, '{"city": "Rome"}', "c1"),)),
        answered("c1", "clear"),
        tools=(Tool("get_weather", "Weather of a city.", PARAMETERS),),
    )
    native = {
        "contents": [
            user("Weather in Rome?"),
            {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": {"city": "Rome"}}}]},
            user({"functionResponse": {"name": "get_weather", "response": {"output": "clear"}}}),
        ],
        "systemInstruction": user("Be brief."),
        "tools": [{"functionDeclarations": [
            {"name": "get_weather", "description": "Weather of a city.", "parameters": PARAMETERS},
        ]}],
    }
    assert details_of(rendered(prompt, model, platform)) == details_of(rendered(native, model, platform))


def test_a_system_prompt_apart_from_the_messages_has_a_role_too() -> None:
    prompt = Prompt((said("Hi"),), system=(Text("Be brief."),), dialect="anthropic.messages")
    assert details_of(rendered(prompt, "gemini-2.5-flash")) == {"system": 3, "messages": 1, "frame": 2}


def test_results_that_come_one_by_one_are_one_turn() -> None:
    results = [answered(f"c{i}", "x") for i in range(3)]
    assert details_of(rendered(foreign(*results), "gemini-2.5-flash"))["frame"] == 1
    assert details_of(rendered(foreign(*results, said("go"), *results), "gemini-2.5-flash"))["frame"] == 3


def test_a_result_takes_the_name_of_its_call_and_says_when_it_failed() -> None:
    call = Message("assistant", (ToolCall("fetch", {}, "{}", "c1"),))
    rendering = rendered(foreign(call, answered("c1", "boom", is_error=True)), "gemini-2.5-flash")
    assert [segment.text for segment in rendering.segments] == [
        "print(default_api.fetch())", '{"fetch_response": {"error": "boom"}}',
    ]


def test_arguments_that_are_no_json_are_counted_as_sent() -> None:
    call = Message("assistant", (ToolCall("fetch", None, "{broken", "c1"),))
    rendering = rendered(foreign(call), "gemini-2.5-flash")
    assert rendering.segments[0].text == 'print(default_api.fetch(arguments = "{broken"))'


def test_every_part_of_other_wires_is_counted() -> None:
    parts = (
        Document((Text("body"),), title="Title", context="Context"),
        SearchResult("https://a.example", "Found", (Text("line"),)),
        Thinking("hm", "c2ln"),
        ToolReference("late_tool"),
        Unknown("audio_note", {"pitch": 1}, "messages[0].content[5]"),
        ToolAddition((Tool("late_tool", "Comes late."),)),
    )
    rendering = rendered(foreign(Message("user", parts)), "gemini-2.5-flash")
    texts = [segment.text for segment in rendering.segments]
    assert texts[:9] == [
        "Title", "Context", "body", "Found", "https://a.example", "line", "hm", "late_tool", '{"pitch":1}',
    ]
    assert texts[9].startswith("def late_tool(")
    assert [item.kind for item in rendering.uncounted] == ["audio_note"]


def test_another_providers_hosted_tool_is_counted_from_its_definition() -> None:
    raw = {"type": "web_search_20250305", "name": "web_search"}
    prompt = foreign(said("Hi"), tools=(Tool("web_search", kind="web_search_20250305", raw=raw),))
    rendering = rendered(prompt, "gemini-2.5-flash")
    assert rendering.segments[-1].text == '{"type":"web_search_20250305","name":"web_search"}'
    assert rendering.uncounted[0].kind == "web_search_20250305"


def test_signatures_of_another_provider_are_no_hidden_thoughts() -> None:
    thinking = Message("assistant", (Thinking("", "A" * 4_000),))
    assert details_of(rendered(foreign(said("Hi"), thinking), "gemini-3.5-flash")) == {"messages": 1, "frame": 2}


def test_a_foreign_schema_is_free_where_googles_is() -> None:
    prompt = foreign(said("Hi"), output=OutputFormat("json_schema", schema={"type": "object"}))
    assert details_of(rendered(prompt, "gemini-3.5-flash")) == {"messages": 1, "frame": 1}
