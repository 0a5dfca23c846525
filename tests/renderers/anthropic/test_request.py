"""Whole Claude requests: what was billed, what a part adds, and what the answer says it does not know.

`facts.jsonl` holds requests reduced to what is billed (pictures by their size alone) with the input tokens
that Anthropic declared, recorded between 2024 and autumn 2026.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.counting.counter import Counter
from service.counting.features import main_feature
from service.dialects.anthropic.request import read_messages
from service.dialects.readers import READERS as OPENAI
from service.types import (
    FEATURES,
    SECTIONS,
    CountRequest,
    Document,
    Media,
    Message,
    OutputFormat,
    Part,
    Prompt,
    SearchResult,
    Text,
    Thinking,
    Tool,
    ToolAddition,
    ToolCall,
    ToolChoice,
    ToolReference,
    ToolResult,
    Unknown,
)
from tests.renderers.anthropic.prompts import (
    NEW,
    OLD,
    WEATHER,
    body,
    costs,
    count,
    draw,
    loop,
    picture,
    text,
    tokens,
)

FACTS = [
    json.loads(line) for line in (Path(__file__).parent / "facts.jsonl").read_text("utf-8").splitlines()
]


# ---------------------------------------------------------------- what was billed


@pytest.mark.parametrize(
    "fact", FACTS, ids=lambda fact: f"{fact['model']}-{fact['feature']}-{fact['input_tokens']}"
)
def test_billed_requests_count_to_the_token(fact: dict[str, Any]) -> None:
    assert tokens(fact["model"], fact["body"]) == fact["input_tokens"]


def test_the_facts_cover_every_feature_and_generation() -> None:
    assert {fact["feature"] for fact in FACTS} == set(FEATURES)
    rules = {draw(fact["body"], fact["model"]).rules for fact in FACTS}
    assert len(rules) >= 14
    assert len(FACTS) >= 100


def test_facts_are_of_the_feature_they_are_filed_under() -> None:
    """But for a few that were filed by more than the prompt."""
    different = [f for f in FACTS if main_feature(read_messages(f["body"])) != f["feature"]]
    assert len(different) <= 4


# ---------------------------------------------------------------- what a part adds


@pytest.mark.parametrize("model", [OLD, NEW, "claude-opus-4-7", "claude-3-haiku-20240307"])
@pytest.mark.parametrize(
    ("less", "more", "at_least"),
    [
        (body(), body(tools=[WEATHER]), 200),
        (body(), body(system="Be brief."), 2),
        (body(system="Be brief."), body(system=[text("Be brief."), text("Be kind.")]), 3),
        (body(text("Hi")), body(text("Hi"), picture(200, 200)), 64),
        (body(text("Hi")), body(text("Hi"), text(" there")), 1),
        (loop({"content": "1"}), loop({"content": "1 2 3 4 5 6"}), 5),
        (loop({"content": "1"}), loop({"content": [text("1"), picture(100, 100)]}), 16),
        (loop({"content": "1"}), loop({"content": "1"}, {"content": "1"}), 20),
        (loop({"content": "no"}), loop({"content": "no", "is_error": True}), 4),
        (body(), body(output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}}), 60),
        (body(), body(output_config={"task_budget": {"type": "tokens", "total": 20_000}}), 30),
        (body(text("Hi")), body(text("Hi"), {"type": "brand_new_block", "payload": "one two three four"}), 10),
    ],
    ids=["tools", "system", "system-blocks", "image", "second-text", "longer-result", "image-in-result",
         "parallel", "error", "schema", "budget", "unknown-block"],
)
def test_each_part_moves_the_count(model: str, less: Any, more: Any, at_least: int) -> None:
    assert tokens(model, more) - tokens(model, less) >= at_least


def test_a_system_string_is_one_block_and_blocks_are_joined_by_a_blank_line() -> None:
    for model in (OLD, NEW):
        one = tokens(model, body(system="Be brief.\n\nBe kind."))
        assert tokens(model, body(system=[text("Be brief."), text("Be kind.")])) == one
        assert tokens(model, body(system=[text("Be brief.\n\nBe kind.")])) == one


def test_text_blocks_of_a_message_are_one_text_and_messages_of_a_role_are_not() -> None:
    whole = tokens(OLD, body(text("What is 5 + 5?")))
    assert tokens(OLD, body(text("What is "), text("5 + 5?"))) == whole
    apart = {"messages": [{"role": "user", "content": "What is "}, {"role": "user", "content": "5 + 5?"}]}
    assert tokens(OLD, apart) > whole


def test_what_is_not_billed_adds_nothing() -> None:
    extras = {
        "max_tokens": 4096, "stream": True, "temperature": 0.5, "stop_sequences": ["\n"], "metadata": {"user_id": "u"},
        "tools": [], "tool_choice": {"type": "none"}, "thinking": {"type": "disabled"}, "system": "",
        "output_config": {"effort": "low"}, "service_tier": "auto", "speed": "fast", "brand_new_field": {"a": 1},
    }
    marked = {"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}
    for model in (OLD, NEW):
        assert tokens(model, body(marked, **extras)) == tokens(model, body("Hello"))


def test_the_billing_header_of_an_agent_is_dropped() -> None:
    header = text("x-anthropic-billing-header: cc_version=2.1.233")
    with_header = tokens("claude-sonnet-4-6", body(system=[header, text("Be brief.")], tools=[WEATHER]))
    assert with_header == tokens("claude-sonnet-4-6", body(system="Be brief.", tools=[WEATHER])) - 1


def test_a_compaction_block_stands_for_all_before_it() -> None:
    long = {"role": "user", "content": "word " * 5_000}
    summary = {"role": "assistant", "content": [{"type": "compaction", "content": "We talked."}, text("Hi")]}
    failed = {"role": "assistant", "content": [{"type": "compaction", "content": None}, text("Hi")]}
    again = {"role": "user", "content": "And?"}
    assert tokens(OLD, {"messages": [long, summary, again]}) < 200
    assert tokens(OLD, {"messages": [long, failed, again]}) > 5_000


def test_a_prefill_is_counted_and_asks_for_no_reply() -> None:
    for model in (OLD, NEW):
        asked = {"messages": [{"role": "user", "content": "Hi"}]}
        filled = {"messages": [*asked["messages"], {"role": "assistant", "content": "Well"}]}
        assert 0 < tokens(model, filled) - tokens(model, asked) <= 5


def test_schema_keys_keep_their_order_in_output_and_are_sorted_in_tools() -> None:
    one = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "number"}}}
    other = {"properties": {"a": {"type": "number"}, "b": {"type": "string"}}, "type": "object"}
    def tool(schema: Any) -> Any:
        return body(tools=[{"name": "f", "input_schema": schema}])
    drawn = [draw(tool(schema)).segments for schema in (one, other)]
    assert drawn[0] == drawn[1]
    shown = [draw(body(output_format={"type": "json_schema", "schema": schema})).segments for schema in (one, other)]
    assert shown[0] != shown[1]


# ---------------------------------------------------------------- what the answer does not know


def test_files_that_are_not_sent_are_bounded_and_listed() -> None:
    for source in ({"type": "url", "url": "https://a.example/x.png"}, {"type": "file", "file_id": "file_1"}):
        answer = count(OLD, body(text("Hi"), {"type": "image", "source": source}))
        assert [(item.path, item.kind) for item in answer.uncounted] == [("messages[0].content[1]", "image")]
        assert answer.uncounted[0].assumed_tokens == answer.details["media"] == 1_571
        assert answer.method == "estimate"
        assert answer.low <= tokens(OLD, body(text("Hi"), picture(1, 1)))
        assert answer.high >= tokens(OLD, body(text("Hi"), picture(1_092, 1_092)))
        paper = count(OLD, body(text("Hi"), {"type": "document", "source": source}))
        assert paper.details["media"] > 1_570
        assert len(paper.uncounted) == 1


def test_unknown_blocks_and_tools_are_counted_from_their_text_and_listed() -> None:
    request = body(text("Hi"), {"type": "brand_new", "x": 1}, tools=[{"type": "brand_new_20270101", "name": "n"}])
    answer = count(NEW, request)
    assert {(item.path, item.kind) for item in answer.uncounted} == {
        ("messages[0].content[1]", "brand_new"), ("tools[0]", "tool"),
    }


def test_mcp_servers_are_listed_because_only_the_provider_knows_their_tools() -> None:
    servers = [{"type": "url", "url": "https://a.example", "name": "a"}]
    answer = count(OLD, body(mcp_servers=servers))
    assert [(item.path, item.kind) for item in answer.uncounted] == [("mcp_servers[0]", "mcp_server")]
    assert answer.details["tools"] == 596


def test_every_band_holds_its_count() -> None:
    for fact in FACTS:
        answer = count(fact["model"], fact["body"])
        assert answer.low <= fact["input_tokens"] <= answer.high


# ---------------------------------------------------------------- any dialect


def test_an_openai_body_counts_like_the_same_request_in_claudes_own_shape() -> None:
    chat = {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How warm is Oslo?"},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "t0", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}},
                {"id": "t1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}},
            ]},
            {"role": "tool", "tool_call_id": "t0", "content": "4"},
            {"role": "tool", "tool_call_id": "t1", "content": "5"},
        ],
        "tools": [{"type": "function", "function": {
            "name": "get_weather", "description": "Weather of a city", "parameters": WEATHER["input_schema"],
        }}],
    }
    own = loop({"content": "4"}, {"content": "5"}, system="Be brief.")
    for model in (OLD, NEW, "claude-3-haiku-20240307"):
        counter = Counter.in_memory()
        foreign = counter.count(CountRequest(model_ref=model, prompt=OPENAI["openai.chat"](chat, "")))
        assert foreign.input_tokens == tokens(model, own)
        assert foreign.method != "exact"


# ---------------------------------------------------------------- always

WORDS = st.text(alphabet="ab .!?<>\n\"'{}:é漢1", max_size=12)
LEAVES: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, WORDS),
    st.builds(Thinking, WORDS),
    st.builds(lambda value: Unknown("odd", value), st.dictionaries(WORDS, WORDS, max_size=2)),
    st.builds(lambda w, h: Media("image", "image/png", size=(w, h)), st.integers(1, 9_000), st.integers(1, 9_000)),
    st.builds(lambda url: Media("image", "image/png", reference=url), WORDS),
    st.builds(lambda data: Media("document", "application/pdf", data=data), st.binary(max_size=20)),
    st.builds(lambda kind: Media(kind, "x/y", data=b"zz"), st.sampled_from(("audio", "video", "file", "document"))),
    st.builds(lambda words, title: Document((Text(words),), title, citations=True), WORDS, WORDS),
    st.builds(lambda words: SearchResult(words, words, (Text(words),), True), WORDS),
    st.builds(ToolReference, st.sampled_from(("f", "g"))),
    st.builds(lambda name: ToolAddition((Tool(name),)), WORDS),
    st.builds(lambda name, value: ToolCall(name, value, call_id="c"), WORDS,
              st.one_of(st.none(), WORDS, st.integers(), st.dictionaries(WORDS, st.integers(), max_size=2))),
)
PARTS = st.lists(
    LEAVES | st.builds(lambda parts, error: ToolResult("c", "", tuple(parts), is_error=error),
                       st.lists(LEAVES, max_size=3), st.booleans()),
    max_size=4,
)
ROLES = st.sampled_from(("user", "assistant", "system", "developer", "tool"))
PROMPTS = st.builds(
    lambda messages, system, choice, thinking, dialect: Prompt(
        tuple(messages), tuple(system),
        tools=(Tool("f", "d"), Tool("g", deferred=True), Tool("h", kind="bash_20250124")),
        tool_choice=choice, output=OutputFormat("json_schema", schema={"a": 1}), thinking=thinking, dialect=dialect,
        options={"task_budget": 5, "mcp_servers": ["mcp_servers[0]"]},
    ),
    st.lists(st.builds(lambda role, parts: Message(role, tuple(parts)), ROLES, PARTS), max_size=4),
    PARTS,
    st.sampled_from((ToolChoice(), ToolChoice("named", "f", parallel=False), ToolChoice("required"))),
    st.sampled_from(("enabled", "adaptive", "disabled", None)),
    st.sampled_from(("anthropic.messages", "openai.chat", "google.generateContent")),
)


@settings(max_examples=120, deadline=None)
@given(prompt=PROMPTS, model=st.sampled_from((OLD, NEW, "claude-opus-4-7", "claude-2.1", "claude-opus-5-5")))
def test_any_prompt_counts_and_its_details_sum_to_the_total(prompt: Prompt, model: str) -> None:
    answer = Counter.in_memory().count(CountRequest(model_ref=model, prompt=prompt))
    assert sum(answer.details.values()) == answer.input_tokens > 0
    assert set(answer.details) <= set(SECTIONS)
    assert 0 <= answer.low <= answer.input_tokens <= answer.high


def test_the_frame_of_one_message_is_seven_six_or_eleven() -> None:
    for model, frame in ((OLD, 7), (NEW, 6), ("claude-opus-4-7", 11)):
        assert count(model, body("Hello")).details["frame"] == frame


def test_rendering_is_pure() -> None:
    request = loop({"content": "4"}, thinking={"type": "enabled", "budget_tokens": 1024})
    assert draw(request) == draw(request)
    assert costs(draw(request))["thinking"] == 30
