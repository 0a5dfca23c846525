"""Whole OpenAI requests: what was billed, what a part adds, and what the answer says it does not know.

`facts.jsonl` holds requests of ours, reduced to what is billed, with the input tokens that OpenAI declared.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service import catalog
from service.counting.counter import Counter
from service.dialects.readers import READERS
from service.renderers.openai.request import render
from service.types import (
    SECTIONS,
    CountRequest,
    Document,
    Media,
    Message,
    OutputFormat,
    Part,
    Prompt,
    Rendering,
    SearchResult,
    Text,
    Thinking,
    TokenCount,
    Tool,
    ToolAddition,
    ToolCall,
    ToolReference,
    ToolResult,
    Unknown,
)

FACTS = [
    json.loads(line) for line in (Path(__file__).parent / "facts.jsonl").read_text("utf-8").splitlines()
]
COUNTER = Counter.in_memory()


def count(model: str, body: Any, dialect: str = "openai.chat") -> TokenCount:
    return COUNTER.count(CountRequest(model_ref=model, prompt=READERS[dialect](body, "")))


def tokens(model: str, body: Any, dialect: str = "openai.chat") -> int:
    return count(model, body, dialect).input_tokens


def draw(body: Any, model: str = "gpt-4o", dialect: str = "openai.chat") -> Rendering:
    return render(READERS[dialect](body, ""), catalog.resolve(model))


def chat(*contents: Any, **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content} for content in contents], **fields}


WEATHER = {
    "name": "get_weather",
    "description": "Current weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CALL = {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}


# ---------------------------------------------------------------- what was billed


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact['dialect']}-{fact['model']}-{fact['input_tokens']}")
def test_a_recorded_request_counts_what_was_billed(fact: dict[str, Any]) -> None:
    answer = count(fact["model"], fact["request"], fact["dialect"])
    assert answer.input_tokens == fact["input_tokens"]
    assert answer.low <= fact["input_tokens"] <= answer.high
    assert sum(answer.details.values()) == answer.input_tokens


def test_facts_cover_every_rule_set_that_was_recorded() -> None:
    rules = {count(fact["model"], fact["request"], fact["dialect"]).rules for fact in FACTS}
    assert rules == {
        "openai-classic/chat", "openai-classic/responses", "openai-gpt5/chat", "openai-gpt5/responses",
        "openai-o/chat", "openai-o/responses", "openai-plain/completions", "openai-plain/embeddings",
    }


@pytest.mark.parametrize(("model", "first", "more"), [("gpt-4o", 8, 5), ("gpt-5", 7, 5), ("o3", 7, 5)])
def test_each_message_costs_its_frame(model: str, first: int, more: int) -> None:
    assert [tokens(model, chat(*["Hi"] * n)) for n in (1, 2, 10)] == [first, first + more, first + 9 * more]


# ---------------------------------------------------------------- what a part adds


@pytest.mark.parametrize("model", ["gpt-3.5-turbo", "gpt-4o", "o3-mini", "gpt-5", "gpt-5.6-sol", "gpt-6-luna"])
@pytest.mark.parametrize(
    ("added", "section"),
    [
        ({"tools": [{"type": "function", "function": WEATHER}]}, "tools"),
        ({"functions": [WEATHER]}, "tools"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}}, "schema"),
        ({"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]}, "system"),
        ({"messages": [{"role": "user", "content": "Hi"}, {"role": "tool", "tool_call_id": "a", "content": "red"}]},
         "messages"),
        ({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [CALL]}]}, "messages"),
        ({"messages": [{"role": "user", "content": [
            {"type": "text", "text": "Hi"},
            {"type": "image_url", "image_url": {"url": {"_media": {"width": 300, "height": 200}}}}]}]}, "media"),
    ],
)
def test_every_part_moves_the_count_in_its_section(model: str, added: dict[str, Any], section: str) -> None:
    plain, more = count(model, chat("Hi")), count(model, {**chat("Hi"), **added})
    assert more.input_tokens > plain.input_tokens
    assert more.details.get(section, 0) > plain.details.get(section, 0)  # type: ignore[call-overload]


def test_system_text_costs_the_same_as_a_string_as_parts_and_as_instructions() -> None:
    text, user = "You are terse. Réponds en français.", {"role": "user", "content": "Hi"}
    whole = tokens("gpt-4o", {"messages": [{"role": "system", "content": text}, user]})
    parts = [{"type": "text", "text": text[:11]}, {"type": "text", "text": text[11:]}]
    assert tokens("gpt-4o", {"messages": [{"role": "developer", "content": parts}, user]}) == whole
    assert tokens("gpt-4o", {"instructions": text, "input": "Hi"}, "openai.responses") == whole


def test_tools_and_schema_merge_with_the_first_message_only_when_it_is_the_system_prompt() -> None:
    tools = [{"type": "function", "function": WEATHER}]
    system, user = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}

    def sections(messages: list[dict[str, str]]) -> list[list[str]]:
        drawn = draw({"messages": messages, "tools": tools})
        return [[section for section, _ in segment.spans] for segment in drawn.segments]

    assert sections([system, user]) == [["system", "tools"], ["messages"]]
    assert sections([user, system]) == [["tools"], ["messages"], ["system"]]


def test_names_of_messages_are_billed_and_ids_are_not() -> None:
    named = {"messages": [{"role": "user", "name": "primary", "content": "Hi"}]}
    assert tokens("gpt-4o", named) == tokens("gpt-4o", chat("Hi")) + 2  # ":primary"
    history = [{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "a", "content": "red"}]
    renamed = json.loads(json.dumps(history).replace('"a"', '"call_0123456789"'))
    assert tokens("gpt-4o", {"messages": history}) == tokens("gpt-4o", {"messages": renamed})


@pytest.mark.parametrize("field", ["temperature", "seed", "n", "stop", "stream", "user", "metadata", "made_up"])
def test_settings_are_not_billed(field: str) -> None:
    assert tokens("gpt-4o", chat("Hi", **{field: 1})) == tokens("gpt-4o", chat("Hi"))


@pytest.mark.parametrize(
    ("choice", "extra"),
    [
        ("auto", 0), ("none", 0), ("required", 0), (None, 0),
        ({"type": "function", "function": {"name": "get_weather"}}, 9),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"name": "get_weather"}]}}, 0),
    ],
)
def test_a_forced_call_costs_its_name(choice: Any, extra: int) -> None:
    body = chat("Hi", tools=[{"type": "function", "function": WEATHER}])
    assert tokens("gpt-4o", {**body, "tool_choice": choice}) - tokens("gpt-4o", body) == extra
    assert tokens("gpt-5", {**body, "tool_choice": choice}) == tokens("gpt-5", body)


def test_arguments_are_printed_again_in_chat_and_counted_as_sent_in_responses() -> None:
    spaced, tight = '{ "city" :  "Rome" }', '{"city":"Rome"}'

    def in_chat(arguments: str) -> int:
        call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
        return tokens("gpt-4o", {"messages": [{"role": "assistant", "tool_calls": [call]}]})

    def in_responses(arguments: str, model: str) -> int:
        call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": arguments}
        return tokens(model, {"input": [call]}, "openai.responses")

    assert in_chat(spaced) == in_chat(tight)
    assert in_responses(spaced, "gpt-4o") > in_responses(tight, "gpt-4o")
    assert in_responses(spaced, "gpt-5.4") == in_responses(tight, "gpt-5.4")


@pytest.mark.parametrize("dialect", ["openai.chat", "openai.responses"])
def test_legal_emptiness_counts(dialect: str) -> None:
    body: dict[str, Any] = {
        "messages": [{"role": "assistant", "content": None, "tool_calls": None, "refusal": None}], "tools": None,
        "tool_choice": None, "response_format": None, "functions": None,
    }
    if dialect == "openai.responses":
        body = {"input": [{"role": "assistant", "content": None}], "tools": None, "text": None, "instructions": None}
    assert tokens("gpt-4o", body, dialect) == 7
    assert tokens("gpt-4o", {"messages": []}) == 3
    assert tokens("gpt-4o", {}, "openai.responses") == 3


# ---------------------------------------------------------------- reasoning

SEALED = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "g" * 1_930}
TURN = [
    {"role": "user", "content": "Hi"},
    {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "a", "output": "red"},
]


def test_sealed_reasoning_of_a_running_tool_loop_is_estimated_and_listed() -> None:
    with_it = count("gpt-5", {"input": [TURN[0], SEALED, *TURN[1:]]}, "openai.responses")
    without = tokens("gpt-5", {"input": TURN}, "openai.responses")
    assert 120 <= with_it.input_tokens - without <= 240  # 183 were billed for a blob of this length
    assert [(miss.kind, miss.path) for miss in with_it.uncounted] == [("reasoning", "input[1]")]
    assert with_it.method == "estimate"


def test_reasoning_before_the_last_user_turn_is_free_unless_all_turns_are_kept() -> None:
    later = [*TURN, {"role": "user", "content": "Go on"}]
    body = {"input": [later[0], SEALED, *later[1:]]}
    assert tokens("gpt-5", body, "openai.responses") == tokens("gpt-5", {"input": later}, "openai.responses")
    kept = count("gpt-5", {**body, "reasoning": {"context": "all_turns"}}, "openai.responses")
    assert kept.uncounted


# ---------------------------------------------------------------- what cannot be known


@pytest.mark.parametrize(
    ("model", "bound"), [("gpt-4o", 1_445), ("gpt-4o-mini", 48_169), ("gpt-5.4", 3_001), ("gpt-5.6-sol", 36_002)]
)
def test_a_remote_image_counts_its_bound_and_is_listed(model: str, bound: int) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/secret.png"}}
    answer = count(model, chat([image]))
    assert answer.details["media"] == bound
    assert [(miss.path, miss.kind, miss.assumed_tokens) for miss in answer.uncounted] == [
        ("messages[0].content[0]", "image", bound)
    ]
    assert answer.method == "estimate"
    assert "secret" not in repr(answer)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_file", "file_id": "file-1"},
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        {"type": "input_image", "file_id": "file-1"},
        {"type": "input_image", "image_url": "data:image/png;base64,"},
        {"type": "input_file", "filename": "a.bin", "file_data": base64.b64encode(b"\x00\x01\x02").decode()},
    ],
)
def test_media_without_readable_bytes_are_listed(part: dict[str, Any]) -> None:
    answer = count("gpt-5", {"input": [{"role": "user", "content": [part]}]}, "openai.responses")
    assert [miss.path for miss in answer.uncounted] == ["input[0].content[0]"]
    assert answer.details["media"] == answer.uncounted[0].assumed_tokens > 0


def test_an_unknown_part_is_counted_from_its_json_and_listed() -> None:
    part = {"type": "hologram", "words": "alpha beta gamma"}
    answer = count("gpt-4o", chat([part]))
    assert answer.input_tokens == tokens("gpt-4o", chat(json.dumps(part, separators=(",", ":"))))
    assert [miss.kind for miss in answer.uncounted] == ["hologram"]


@pytest.mark.parametrize("field", ["previous_response_id", "conversation", "prompt"])
def test_stored_state_is_listed(field: str) -> None:
    answer = count("gpt-4o", {"input": "Hi", field: "id_1"}, "openai.responses")
    assert [(miss.path, miss.kind) for miss in answer.uncounted] == [(field, "stored_state")]
    assert answer.method == "estimate"


@pytest.mark.parametrize("kind", ["web_search", "code_interpreter", "mcp", "computer_use_preview", "something_new"])
def test_hosted_tools_cost_something_and_are_listed(kind: str) -> None:
    answer = count("gpt-5", {"input": "Hi", "tools": [{"type": kind}]}, "openai.responses")
    assert answer.details["tools"] >= 300
    assert [(miss.path, miss.kind) for miss in answer.uncounted] == [("tools[0]", kind)]


def test_a_replayed_call_says_that_it_may_differ() -> None:
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    sent = count("gpt-4o", {"input": [call]}, "openai.responses")
    replayed = count("gpt-4o", {"input": [{**call, "id": "fc", "status": "completed"}]}, "openai.responses")
    assert replayed.input_tokens == sent.input_tokens + 3
    assert replayed.high >= replayed.input_tokens + 2
    assert replayed.low <= sent.input_tokens


# ---------------------------------------------------------------- plain texts


def test_completions_and_embeddings_have_no_frame_and_take_token_ids() -> None:
    assert tokens("text-embedding-3-small", {"input": ["Hi", "Hi there"]}, "openai.embeddings") == 3
    assert tokens("text-embedding-3-small", {"input": [1, 2, 3]}, "openai.embeddings") == 3
    assert tokens("text-embedding-3-small", {"input": [[1, 2], [3]]}, "openai.embeddings") == 3
    assert tokens("davinci-002", {"prompt": ["Hi", "Hi there"]}, "openai.completions") == 3
    assert tokens("text-embedding-3-small", chat("Hi")) == 1


# ---------------------------------------------------------------- any prompt, from any dialect

TEXTS = st.text(max_size=40)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, TEXTS, thought=st.booleans()),
    st.builds(Thinking, TEXTS, st.none() | TEXTS),
    st.builds(ToolCall, TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=2), st.none() | TEXTS, hosted=st.none() | TEXTS),
    st.builds(ToolResult, TEXTS, TEXTS, st.tuples(st.builds(Text, TEXTS)), hosted=st.none() | TEXTS),
    st.builds(Media, st.sampled_from(["image", "document", "audio", "video", "file"]), TEXTS, st.none() | st.binary()),
    st.builds(Document, st.tuples(st.builds(Text, TEXTS)), st.none() | TEXTS),
    st.builds(SearchResult, TEXTS, TEXTS, st.tuples(st.builds(Text, TEXTS))),
    st.builds(Unknown, TEXTS, st.lists(st.integers(), max_size=3)),
    st.builds(ToolReference, TEXTS),
    st.builds(ToolAddition, st.tuples(st.builds(Tool, TEXTS))),
)
MESSAGES = st.builds(
    Message, st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
    st.lists(PARTS, max_size=4).map(tuple), st.none() | TEXTS,
)
TOOLS = st.builds(Tool, TEXTS, TEXTS, kind=st.sampled_from(["function", "custom", "mcp"]))
PROMPTS = st.builds(
    Prompt, st.lists(MESSAGES, max_size=5).map(tuple), st.lists(st.builds(Text, TEXTS), max_size=2).map(tuple),
    tools=st.lists(TOOLS, max_size=3).map(tuple),
    output=st.none() | st.builds(OutputFormat, st.just("json_schema"), TEXTS, TEXTS, st.just({"type": "object"})),
    dialect=st.sampled_from(["openai.chat", "openai.responses", "anthropic.messages", "google.generateContent"]),
)


@settings(deadline=None)  # the first example loads a vocabulary
@given(prompt=PROMPTS, model=st.sampled_from(["gpt-4o", "gpt-4.1-mini", "o3", "gpt-5.4", "gpt-oss-20b", "davinci-002"]))
def test_any_prompt_counts_and_its_details_sum_to_the_total(prompt: Prompt, model: str) -> None:
    answer = COUNTER.count(CountRequest(model_ref=model, prompt=prompt))
    assert sum(answer.details.values()) == answer.input_tokens >= 0
    assert set(answer.details) <= set(SECTIONS)
    assert answer.low <= answer.input_tokens <= answer.high


def test_a_conversation_from_another_dialect_counts_as_in_chat() -> None:
    """A system prompt apart, a result inside the user's turn: the same request in Anthropic's shape."""
    call = ToolCall("get_weather", {"city": "Rome"})
    foreign = Prompt(
        (
            Message("user", (Text("Weather?"),)),
            Message("assistant", (Text("I look."), call)),
            Message("user", (ToolResult("a", "", (Text("sunny"),)), Text("And now?"))),
        ),
        system=(Text("Be brief."),),
        tools=(Tool("get_weather", "Current weather", WEATHER["parameters"]),),  # type: ignore[arg-type]
        dialect="anthropic.messages",
    )
    own = {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "a", "content": "sunny"},
            {"role": "user", "content": "And now?"},
        ],
        "tools": [{"type": "function", "function": WEATHER}],
    }
    for model in ("gpt-4o", "gpt-5"):
        answer = COUNTER.count(CountRequest(model_ref=model, prompt=foreign))
        assert answer.input_tokens == tokens(model, own)
