"""What is missing from a body, and what is in it that its format does not have."""

from __future__ import annotations

from typing import Any

import pytest

from service.dialects.known_fields import MAX_NAMED, UNKNOWN
from service.dialects.readers import READERS
from service.errors import InvalidRequest
from service.types import Prompt


def read(dialect: str, body: Any) -> Prompt:
    return READERS[dialect](body, "")


@pytest.mark.parametrize(("dialect", "body", "field"), [
    ("openai.chat", {"messages": [{"role": "user", "parts": [{"text": "Hello"}]}]}, "messages[0].content"),
    ("openai.chat", {"messages": [{"role": "user", "text": "Hello"}]}, "messages[0].content"),
    ("openai.chat", {"messages": [{"role": "assistant", "text": "Hello"}]}, "messages[0].content"),
    ("openai.chat", {"messages": [{"role": "tool", "tool_call_id": "a", "output": "Hello"}]}, "messages[0].content"),
    ("openai.chat", {"messages": [{"role": "user", "content": [{"type": "text", "content": "Hello"}]}]},
     "messages[0].content[0].text"),
    ("openai.responses", {"input": [{"role": "user", "text": "Hello"}]}, "input[0].content"),
    ("openai.responses", {"input": [{"role": "user", "content": [{"type": "input_text"}]}]},
     "input[0].content[0].text"),
    ("anthropic.messages", {"messages": [{"role": "user", "text": "Hello"}]}, "messages[0].content"),
    ("anthropic.messages", {"messages": [{"role": "user", "parts": []}]}, "messages[0].content"),
    ("google.generateContent", {"contents": [{"role": "user", "content": "Hello"}]}, "contents[0].parts"),
    ("anthropic.messages", {"messages": [{"role": "user", "content": [{"type": "text", "content": "Hello"}]}]},
     "messages[0].content[0].text"),
    ("anthropic.messages", {"messages": [], "system": [{"type": "text"}]}, "system[0].text"),
    ("anthropic.messages", {"messages": [{"role": "assistant", "content": [
        {"type": "tool_use", "id": "a", "name": "f", "arguments": {"city": "Paris"}}]}]},
     "messages[0].content[0].input"),
    ("anthropic.messages", {"messages": [{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", "text": "Sunny"}]}]}, "messages[0].content[0].content"),
    ("openai.chat", {"messages": [{"role": "assistant", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "args": "{}"}}]}]},
     "messages[0].tool_calls[0].function.arguments"),
    ("openai.responses", {"input": [{"type": "function_call", "call_id": "a", "name": "f", "args": "{}"}]},
     "input[0].arguments"),
    ("openai.responses", {"input": [{"type": "function_call_output", "call_id": "a", "content": "Sunny"}]},
     "input[0].output"),
    ("google.generateContent", {"contents": [{"role": "model", "parts": [
        {"functionCall": {"name": "f", "arguments": {"city": "Paris"}}}]}]}, "contents[0].parts[0].functionCall.args"),
    ("google.generateContent", {"contents": [{"role": "user", "parts": [
        {"functionResponse": {"name": "f", "result": {"sky": "blue"}}}]}]},
     "contents[0].parts[0].functionResponse.response"),
])
def test_a_message_without_what_it_says_is_refused_and_not_counted_as_empty(
    dialect: str, body: Any, field: str
) -> None:
    with pytest.raises(InvalidRequest, match="is missing") as refused:
        read(dialect, body)
    assert refused.value.field == field


@pytest.mark.parametrize(("dialect", "body"), [
    ("openai.chat", {"messages": [{"role": "user", "content": None}, {"role": "assistant", "content": None}]}),
    ("openai.chat", {"messages": [{"role": "assistant", "tool_calls": []}, {"role": "assistant", "refusal": "No."}]}),
    ("openai.chat", {"messages": [], "stream": True, "seed": 3, "stop": ["x"], "metadata": {"a": "b"}, "extra": 7}),
    ("openai.responses", {"input": "Hello", "store": False, "include": ["x"], "metadata": {"a": "b"}}),
    ("openai.responses", {"input": [{"role": "user", "content": "Hi"}, {"type": "reasoning", "x": "y"}]}),
    ("anthropic.messages", {"messages": [{"role": "user", "content": ""}], "max_tokens": 5, "stop_sequences": ["x"]}),
    ("google.generateContent", {"contents": [{"role": "model"}], "system_instruction": "Hi", "safety_settings": [{}]}),
    ("google.generateContent", {"contents": [{"text": "Hi"}, "there"], "generationConfig": {"topK": 3}}),
    ("google.generateContent", {"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f"}}]}]}),
    ("anthropic.messages", {"messages": [{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a"},
        {"type": "text", "text": "Hi", "cache_control": {"type": "x"}}]}]}),
    ("openai.responses", {"input": [{"type": "function_call", "call_id": "a", "name": "f", "id": "b"}]}),
])
def test_what_a_format_has_gives_no_warning(dialect: str, body: Any) -> None:
    assert read(dialect, body).warnings == ()


@pytest.mark.parametrize(("dialect", "body", "paths"), [
    ("openai.chat", {"messages": [{"role": "user", "content": "Hi", "parts": ["there"]}], "instructions": "Be brief."},
     ["instructions", "messages[0].parts"]),
    ("openai.responses", {"input": [{"role": "user", "content": "Hi", "parts": ["x"]}], "system": "Be brief."},
     ["system", "input[0].parts"]),
    ("anthropic.messages", {"messages": [{"role": "user", "content": "Hi", "name": "Ann"}], "instructions": "Brief!"},
     ["instructions", "messages[0].name"]),
    ("openai.chat", {"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "foo": "bar"}]}]},
     ["messages[0].content[0].foo"]),
    ("google.generateContent", {"contents": [{"role": "user", "parts": "Hi", "content": "x"}], "messages": [{"a": 1}]},
     ["messages", "contents[0].content"]),
])
def test_what_a_format_does_not_have_is_named_in_a_warning(dialect: str, body: Any, paths: list[str]) -> None:
    warnings = read(dialect, body).warnings
    assert [warning.path for warning in warnings] == paths
    assert {warning.code for warning in warnings} == {UNKNOWN}


def test_a_long_conversation_does_not_make_a_long_list_of_warnings() -> None:
    messages = [{"role": "user", "content": "Hi", "timestamp": "12:00"}] * 1_000
    assert len(read("openai.chat", {"messages": messages}).warnings) == MAX_NAMED
