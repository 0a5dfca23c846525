"""Truncating conversations: oldest turns first, never the system prompt, never a call without its results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.dialects.readers import get_reader
from service.errors import InvalidRequest
from service.text.trim_messages import find_droppable_units, trim
from service.types import Prompt, Text, ToolCall, ToolResult


def _words(prompt: Prompt) -> int:
    """A plain count: ten for each message and its characters; what is asked is only which messages go."""
    total = 0
    for message in prompt.messages:
        total += 10
        for part in message.parts:
            total += len(part.text) if isinstance(part, Text) else 20
    return total


def _chat(*messages: dict[str, Any]) -> Prompt:
    return get_reader("openai.chat")({"model": "gpt-4o", "messages": list(messages)}, "request")


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _call(*ids: str) -> dict[str, Any]:
    calls = [{"id": id_, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _result(id_: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": "42"}


def _said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


SYSTEM = {"role": "system", "content": "Be brief."}

PROMPT = _chat(
    SYSTEM,
    _user("one"), _said("first"),
    _user("two"), _call("a", "b"), _result("a"), _result("b"), _said("second"),
    _user("three"), _call("c"), _result("c"), _call("d"), _result("d"), _said("third"),
)


def test_units_are_whole_turns_then_exchanges() -> None:
    assert find_droppable_units(PROMPT.messages) == [(1, 2), (3, 4, 5, 6, 7), (9, 10), (11, 12)]


@pytest.mark.parametrize(("spare", "dropped"), [
    (0, ()), (1, (1, 2)), (28, (1, 2)), (29, (1, 2, 3, 4, 5, 6, 7)), (167, (1, 2, 3, 4, 5, 6, 7)),
    (168, (1, 2, 3, 4, 5, 6, 7, 9, 10)), (228, (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12)),
])
def test_oldest_go_first_and_no_more_than_needed(spare: int, dropped: tuple[int, ...]) -> None:
    whole = _words(PROMPT)
    result = trim(PROMPT, whole - spare, _words)
    assert result.dropped == dropped
    assert result.tokens == _words(result.prompt) <= whole - spare
    assert result.input_tokens == whole
    assert result.prompt.messages[0].role == "system"


def test_what_is_never_dropped_may_be_too_much() -> None:
    with pytest.raises(InvalidRequest) as caught:
        trim(PROMPT, 20, _words)
    assert caught.value.field == "max_tokens"


def test_ids_used_again_in_each_turn_do_not_tie_turns_together() -> None:
    prompt = _chat(_user("1"), _call("x"), _result("x"), _user("2"), _call("x"), _result("x"), _user("3"))
    assert find_droppable_units(prompt.messages) == [(0, 1, 2), (3, 4, 5)]


def test_result_that_comes_a_turn_later_goes_with_its_call() -> None:
    prompt = _chat(_user("1"), _call("x"), _user("2"), _result("x"), _user("3"), _said("4"), _user("5"))
    assert find_droppable_units(prompt.messages) == [(0, 1, 2, 3), (4, 5)]


def test_call_whose_result_is_in_what_stays_is_kept() -> None:
    prompt = _chat(_user("1"), _call("x"), _user("2"), _said("so"), _result("x"))
    assert find_droppable_units(prompt.messages) == []


def test_tool_results_in_a_user_message_do_not_open_a_turn() -> None:
    prompt = get_reader("anthropic.messages")({"model": "claude-opus-4-8", "system": "Be brief.", "messages": [
        _user("one"),
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "42"},
                                     {"type": "text", "text": "and now?"}]},
        _said("done"), _user("two"),
    ]}, "request")
    assert find_droppable_units(prompt.messages) == [(0, 1, 2, 3)]


def test_responses_items_and_gemini_contents() -> None:
    responses = get_reader("openai.responses")({"model": "gpt-5", "input": [
        _user("a"), {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "2", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "x"},
        {"type": "function_call_output", "call_id": "2", "output": "y"}, _user("b"),
    ]}, "request")
    assert find_droppable_units(responses.messages) == [(0, 1, 2, 3, 4)]
    gemini = get_reader("google.generateContent")({"contents": [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        {"role": "model", "parts": [{"text": "b"}]},
        {"role": "user", "parts": [{"text": "c"}]},
    ]}, "request")
    assert find_droppable_units(gemini.messages) == [(0, 1, 2, 3)]


STEPS = st.sampled_from(["user", "said", "call", "calls", "result", "late", "system"])


@settings(max_examples=150)
@given(st.lists(STEPS, max_size=30), st.integers(0, 400))
def test_trimmed_conversations_are_whole(steps: list[str], limit: int) -> None:
    messages: list[dict[str, Any]] = [SYSTEM]
    waiting: list[str] = []
    for number, step in enumerate(steps):
        if step in ("call", "calls"):
            ids = [f"c{number}"] if step == "call" else [f"c{number}", f"d{number}"]
            messages.append(_call(*ids))
            waiting += ids
        elif step in ("result", "late") and waiting:
            messages.append(_result(waiting.pop(0 if step == "late" else -1)))
        elif step == "system":
            messages.append({"role": "developer", "content": "more rules"})
        else:
            messages.append(_user(f"question {number}") if step == "user" else _said(f"answer {number}"))
    prompt = _chat(*messages)
    try:
        result = trim(prompt, limit, _words)
    except InvalidRequest:
        return
    left = result.prompt.messages
    assert _words(result.prompt) == result.tokens <= limit
    assert [m for m in left if m.role in ("system", "developer")] == [
        m for m in prompt.messages if m.role in ("system", "developer")
    ]
    called = {part.call_id for m in left for part in m.parts if isinstance(part, ToolCall)}
    answered = {part.call_id for m in left for part in m.parts if isinstance(part, ToolResult)}
    all_answered = {part.call_id for m in prompt.messages for part in m.parts if isinstance(part, ToolResult)}
    assert answered <= called
    assert {call for call in called if call in all_answered} <= answered
    if prompt.messages[-1].role != "system":
        assert prompt.messages[-1] in left
