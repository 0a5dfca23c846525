"""The turns of a Claude conversation: what is one text, what stands between, what thinking stays."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from service.renderers.anthropic.thinking import hidden_thinking_tokens
from service.renderers.anthropic.tools import CALLS_CLOSE, CALLS_OPEN, RESULTS_CLOSE, RESULTS_OPEN
from service.types import Thinking
from tests.renderers.anthropic.prompts import NEW, OLD, WEATHER, body, costs, draw, loop, text, tokens

ASKED = {"role": "user", "content": "How warm is Oslo?"}


def written(request: Any, model: str = OLD) -> list[str]:
    """The texts of section messages."""
    return [s.text for s in draw(request, model).segments if s.spans[0][0] == "messages"]


# ---------------------------------------------------------------- one running text (Claude 1 to Opus 4.7)


def test_the_document_layout_is_one_text_of_turns() -> None:
    talk = {"messages": [ASKED, {"role": "assistant", "content": "Four."}, {"role": "user", "content": " Thanks"}]}
    assert written(talk) == ["\n\nHuman: How warm is Oslo?\n\nAssistant: Four.\n\nHuman: Thanks\n\nAssistant:"]
    assert written(talk, "claude-opus-4-7") == written(talk)


def test_calls_and_results_stand_in_one_assistant_turn() -> None:
    (script,) = written(loop({"content": "4"}, before=(text("Let me look."),)))
    _, _, turn = script.partition("\n\nAssistant: ")
    opening, _, rest = turn.partition(CALLS_OPEN)
    calls, _, results = rest.partition(CALLS_CLOSE)
    assert opening == "Let me look.\n\n"
    assert '"get_weather"' in calls
    assert ">Oslo<" in calls
    assert results == f"\n\n{RESULTS_OPEN}4{RESULTS_CLOSE}\n\n"
    assert script.count("Assistant:") == 1


def test_older_claudes_put_a_call_on_the_line_of_its_text() -> None:
    request = loop({"content": "4"}, before=(text("Let me look."),))
    assert f"Let me look. {CALLS_OPEN}" in written(request, "claude-3-5-haiku-20241022")[0]


def test_several_results_tell_whose_they_are() -> None:
    (script,) = written(loop({"content": "4"}, {"content": "no", "is_error": True}))
    assert "<result>\n<name>get_weather</name>\n<output>4</output>\n</result>" in script
    assert "<result>\n<name>get_weather</name>\n<error>no</error>\n</result>" in script


def test_a_text_behind_the_results_opens_a_turn_of_the_users() -> None:
    request = loop({"content": "4"})
    request["messages"][2]["content"].append(text("Is that cold?"))
    assert written(request)[0].endswith("\n\nHuman: Is that cold?\n\nAssistant:")


def test_a_forced_choice_after_a_result_costs_one_less() -> None:
    forced: dict[str, Any] = {"tool_choice": {"type": "any"}}
    assert costs(draw(loop({"content": "4"}, **forced)))["tool_prompt"] == 587
    assert costs(draw(body(tools=[WEATHER], **forced)))["tool_prompt"] == 588
    assert costs(draw(loop({"content": "4"}, **forced), NEW))["tool_prompt"] == 474


# ---------------------------------------------------------------- turns between special tokens (Opus 4.8 and later)


def test_the_turns_layout_counts_each_turn_and_each_stretch_by_itself() -> None:
    rendering = draw(loop({"content": "4"}, before=(text("Let me look."),)), NEW)
    texts = [(s.text, s.edge) for s in rendering.segments if s.spans[0][0] == "messages"]
    assert texts[0] == ("How warm is Oslo?", "open")
    assert texts[1] == ("Let me look.\n\n", "inside")
    assert texts[3:] == [("\n\n", "inside"), ("4", "inside")]
    assert costs(rendering)["call_tag"] == 4
    assert costs(rendering)["reply_after_result"] == 2


def test_a_system_message_in_between_is_an_ordinary_turn() -> None:
    talk = {"messages": [ASKED, {"role": "system", "content": "Be brief."}, {"role": "system", "content": "Be kind."}]}
    assert written(talk, NEW) == ["How warm is Oslo?", "Be brief.\n\nBe kind."]
    assert costs(draw(talk, NEW))["turns"] == 4


def test_added_and_deferred_tools() -> None:
    late = {**WEATHER, "name": "late_tool", "defer_loading": True}
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    request = body(tools=[late, search])
    assert costs(draw(request, "claude-opus-4-8"))["deferred_tools"] == 93
    assert not [s for s in draw(request, "claude-opus-4-8").segments if s.spans[0][0] == "tools"]
    added = {"role": "system", "content": [
        {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "late_tool"}},
    ]}
    request["messages"].append(added)
    assert '"late_tool"' in written(request, "claude-opus-4-8")[1]
    assert costs(draw(request, "claude-opus-4-8"))["tool_addition"] == 32


def test_a_reference_in_a_result_brings_the_definition() -> None:
    late = {**WEATHER, "name": "late_tool", "defer_loading": True}
    found = {"content": [{"type": "tool_reference", "tool_name": "late_tool"}]}
    request = loop(found, tools=[WEATHER, late])
    assert '"name": "late_tool"' in written(request)[0]
    unknown = loop({"content": [{"type": "tool_reference", "tool_name": "nowhere"}]})
    assert "nowhere" in written(unknown)[0]


# ---------------------------------------------------------------- thinking

THOUGHT = {"type": "thinking", "thinking": "The user wants the weather.", "signature": "c2ln"}
ON: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def finished(model: str, **fields: Any) -> str:
    """A conversation whose thinking belongs to an earlier turn."""
    talk = {"messages": [ASKED, {"role": "assistant", "content": [THOUGHT, text("Four.")]}, ASKED], **fields}
    return "".join(written(talk, model))


@pytest.mark.parametrize("model", ["claude-sonnet-4-20250514", OLD, "claude-haiku-4-5"])
def test_older_models_forget_thinking_of_earlier_turns(model: str) -> None:
    assert THOUGHT["thinking"] not in finished(model, **ON)


@pytest.mark.parametrize("model", ["claude-opus-4-5", "claude-sonnet-4-6", NEW, "claude-opus-5-5"])
def test_newer_models_keep_it(model: str) -> None:
    assert THOUGHT["thinking"] in finished(model, thinking={"type": "adaptive"})


def test_none_keeps_it_where_thinking_is_switched_off() -> None:
    for model in (OLD, NEW, "claude-sonnet-4-6"):
        assert THOUGHT["thinking"] not in finished(model, thinking={"type": "disabled"})


def test_a_running_tool_loop_keeps_it_everywhere() -> None:
    for model in (OLD, NEW, "claude-sonnet-4-6", "claude-opus-4-1"):
        shown = written(loop({"content": "4"}, before=(THOUGHT,), **ON), model)
        assert any(THOUGHT["thinking"] in words for words in shown)


def sealed(length: int) -> str:
    """A signature whose cipher text holds `length` bytes of thinking."""
    cipher = bytes([42]) + _varint(length + 16) + bytes(length + 16)
    return base64.b64encode(bytes([18]) + _varint(len(cipher)) + cipher + b"\x18\x01").decode()


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def test_hidden_thinking_is_as_long_as_its_signature_says() -> None:
    assert hidden_thinking_tokens(Thinking("", sealed(450)), "document") == 100
    assert hidden_thinking_tokens(Thinking("short summary", sealed(450)), "document") == 100
    assert hidden_thinking_tokens(Thinking("x" * 450, sealed(450)), "document") == 0
    assert hidden_thinking_tokens(Thinking("x" * 449, sealed(450)), "document") == 0
    assert hidden_thinking_tokens(Thinking("", sealed(450), redacted=True), "turns") == 141


@pytest.mark.parametrize("signature", [None, "", "sig_abc", "!!", "AAAA", "Ev4B", "//////////8=", "é"])
def test_signatures_of_another_form_hide_nothing(signature: str | None) -> None:
    assert hidden_thinking_tokens(Thinking("shown", signature), "document") == 0


def test_hidden_thinking_is_listed() -> None:
    hidden = {"type": "redacted_thinking", "data": sealed(450)}
    rendering = draw(loop({"content": "4"}, before=(hidden,), **ON))
    assert [(item.kind, item.assumed_tokens) for item in rendering.uncounted] == [("thinking", 100)]


def test_thinking_switches() -> None:
    assert costs(draw(body(**ON)))["thinking"] == 29
    assert costs(draw(body(tools=[WEATHER], **ON)))["thinking"] == 30
    adaptive = {"thinking": {"type": "adaptive"}}
    assert costs(draw(body(**adaptive), "claude-opus-4-6"))["adaptive_thinking"] == 17
    assert tokens(NEW, body(**adaptive)) == tokens(NEW, body())


# ---------------------------------------------------------------- hosted tools in the conversation


def test_encrypted_search_results_are_counted_by_their_length() -> None:
    hit = {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "A" * 4_000}
    request = body(tools=[{"type": "web_search_20250305", "name": "web_search"}])
    request["messages"].append({"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "a"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [hit, hit]},
    ]})
    rendering = draw(request)
    assert [item.assumed_tokens for item in rendering.uncounted] == [1_440, 1_440]
    assert costs(rendering)["hidden_definition"] == 1_708


def test_searching_for_tools_is_a_call_with_references() -> None:
    late = {**WEATHER, "name": "late_tool", "defer_loading": True}
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    request = body(tools=[late, search])
    request["messages"].append({"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "s", "name": "tool_search_tool_bm25", "input": {"query": "weather"}},
        {"type": "tool_search_tool_result", "tool_use_id": "s", "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "late_tool"}],
        }},
    ]})
    (script,) = written(request)
    assert f'{RESULTS_OPEN}\n<functions>\n<function>' in script
    assert '"late_tool"' in script
