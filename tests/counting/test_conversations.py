"""A known conversation with new messages gets the same count as on the slow path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.counting.conversations import ENTRY_BYTES, MIN_CONVERSATION_BYTES, ConversationCache
from service.counting.counter import Counter
from service.dialects import native
from service.dialects.anthropic import endpoints as anthropic
from service.dialects.endpoints import Endpoint
from service.dialects.google import endpoints as google
from service.dialects.json import read_json
from service.dialects.openai import endpoints as openai
from service.types import CountRequest, Json, TokenCount
from tests.support.web import client_of, make_app

COUNTER = Counter.in_memory()

ENDPOINTS: Mapping[str, Endpoint] = {
    "anthropic": anthropic.COUNT,
    "native": native.COUNT,
    "responses": openai.COUNT,
    "google": google.GEMINI,
}
MODELS = (
    "claude-3-haiku-20240307", "claude-sonnet-4-5", "claude-opus-4-7", "claude-opus-4-8", "gpt-4o", "gpt-5", "gpt-4",
    "gpt-3.5-turbo", "o3", "gemini-2.5-flash",
)

WORDS = st.sampled_from((
    "yes", " no", "\n", "\n\n", " ", "  ", ".", "Human:", "\n\nAssistant:", "<b>", "</function_results>", "naïve",
    "읽기", "e\u0301", "\u0301", "{}", "```\n", "🙂", "\t", "x" * 40, '{"role":"user"', '{"role": "user", "content": "',
))
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map("".join)


def anthropic_turns(draw: st.DrawFn, index: int) -> list[Json]:
    """One question, the calls and results that follow, and the answer."""
    said: list[Json] = [{"role": "user", "content": draw(TEXTS)}]
    for loop in range(draw(st.integers(0, 2))):
        ids = [f"c{index}_{loop}_{i}" for i in range(draw(st.integers(1, 2)))]
        talk = [{"type": "text", "text": draw(TEXTS)}] if draw(st.booleans()) else []
        calls = [{"type": "tool_use", "id": i, "name": "look", "input": {"q": draw(TEXTS)}} for i in ids]
        said.append({"role": "assistant", "content": [*talk, *calls]})
        results = [{"type": "tool_result", "tool_use_id": i, "content": draw(TEXTS)} for i in ids]
        said.append({"role": "user", "content": results})
    said.append({"role": "assistant", "content": draw(TEXTS)})
    return said


def chat_turns(draw: st.DrawFn, index: int) -> list[Json]:
    said: list[Json] = [{"role": "user", "content": draw(TEXTS)}]
    for loop in range(draw(st.integers(0, 2))):
        ids = [f"c{index}_{loop}_{i}" for i in range(draw(st.integers(1, 2)))]
        calls = [
            {"id": i, "type": "function", "function": {"name": "look", "arguments": json.dumps({"q": draw(TEXTS)})}}
            for i in ids
        ]
        said.append({"role": "assistant", "content": draw(st.none() | TEXTS), "tool_calls": calls})
        said += [{"role": "tool", "tool_call_id": i, "content": draw(TEXTS)} for i in ids]
    said.append({"role": "assistant", "content": draw(TEXTS)})
    return said


def responses_turns(draw: st.DrawFn, index: int) -> list[Json]:
    said: list[Json] = [{"role": "user", "content": draw(TEXTS)}]
    for loop in range(draw(st.integers(0, 2))):
        ids = [f"c{index}_{loop}_{i}" for i in range(draw(st.integers(1, 3)))]
        if draw(st.booleans()):
            said.append({"role": "assistant", "content": [{"type": "output_text", "text": draw(TEXTS)}]})
        said += [
            {"type": "function_call", "call_id": i, "name": "look", "arguments": json.dumps({"q": draw(TEXTS)})}
            for i in ids
        ]
        said += [{"type": "function_call_output", "call_id": i, "output": draw(TEXTS)} for i in ids]
    said.append({"role": "assistant", "content": draw(TEXTS)})
    return said


def google_turns(draw: st.DrawFn, index: int) -> list[Json]:
    def content(role: str, parts: list[Json]) -> Json:
        return {"parts": parts, "role": role} if index % 2 else {"role": role, "parts": parts}

    said: list[Json] = [content("user", [{"text": draw(TEXTS)}])]
    for _ in range(draw(st.integers(0, 2))):
        names = ["look", "see"][: draw(st.integers(1, 2))]
        talk = [{"text": draw(TEXTS)}] if draw(st.booleans()) else []
        calls = [{"functionCall": {"name": name, "args": {"q": draw(TEXTS)}}} for name in names]
        said.append(content("model", [*talk, *calls]))
        answers = [{"functionResponse": {"name": name, "response": {"r": draw(TEXTS)}}} for name in names]
        said.append(content("user", answers))
    said.append(content("model", [{"text": draw(TEXTS)}]))
    return said


def question_of(kind: str, text: str) -> Json:
    return {"role": "user", "parts": [{"text": text}]} if kind == "google" else {"role": "user", "content": text}


FILLER = "What stands before is long enough to be worth looking for, and it says nothing. " * 60
SCHEMA: Json = {"type": "object", "properties": {"q": {"type": "string"}}}
FIELDS = {"anthropic": "messages", "native": "messages", "responses": "input", "google": "contents"}
TURNS = {"anthropic": anthropic_turns, "native": chat_turns, "responses": responses_turns, "google": google_turns}


def rest_of(kind: str, draw: st.DrawFn) -> dict[str, Json]:
    """The fields of a body besides its messages."""
    about = draw(TEXTS)
    rest: dict[str, Json] = {"metadata": {"messages": [{"role": "user", "content": "no message"}]}}
    if kind == "anthropic":
        rest["system"] = draw(st.sampled_from((FILLER, [{"type": "text", "text": FILLER}])))
        rest["tools"] = [{"name": "look", "description": about, "input_schema": SCHEMA}]
        rest["thinking"] = draw(st.sampled_from(({"type": "enabled", "budget_tokens": 1024}, {"type": "adaptive"})))
        rest["tool_choice"] = draw(st.sampled_from(({"type": "auto"}, {"type": "any"}, {"type": "none"})))
        rest["context_management"] = {"edits": []}
    elif kind == "native":
        rest["tools"] = [{"type": "function", "function": {"name": "look", "description": about, "parameters": SCHEMA}}]
        rest["tool_choice"] = draw(st.sampled_from(("auto", "none", "required")))
        rest["response_format"] = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    elif kind == "responses":
        rest["instructions"] = FILLER
        rest["tools"] = [{"type": "function", "name": "look", "description": about, "parameters": SCHEMA}]
        rest["tool_choice"] = draw(st.sampled_from(("auto", "none", "required")))
        rest["parallel_tool_calls"] = draw(st.booleans())
        rest["reasoning"] = {"effort": "low"}
        rest["text"] = {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}
    else:
        rest["systemInstruction"] = {"parts": [{"text": FILLER}]}
        rest["tools"] = [{"functionDeclarations": [{"name": "look", "description": about, "parameters": SCHEMA}]}]
        rest["toolConfig"] = {"functionCallingConfig": {"mode": draw(st.sampled_from(("AUTO", "ANY", "NONE")))}}
        rest["generationConfig"] = {"thinkingConfig": {"includeThoughts": True}}
    optional = [name for name in rest if name not in ("system", "systemInstruction", "instructions")]
    left_out = draw(st.sets(st.sampled_from(optional)))
    return {name: value for name, value in rest.items() if name not in left_out}


@st.composite
def conversations(draw: st.DrawFn) -> tuple[str, str, Any, list[Json], list[list[Json]]]:
    """(endpoint, model, function from messages to body, messages of the first body, what each later body adds)."""
    kind, model = draw(st.sampled_from(tuple(ENDPOINTS))), draw(st.sampled_from(MODELS))
    rest, field, turns = rest_of(kind, draw), FIELDS[kind], TURNS[kind]
    first: list[Json] = []
    if kind == "native":
        first.append({"role": draw(st.sampled_from(("system", "developer"))), "content": FILLER})
    names = [*rest, field] if draw(st.booleans()) else [field, *rest]
    separators = draw(st.sampled_from(((",", ":"), (", ", ": "))))
    ascii_only = draw(st.booleans())

    def body(messages: list[Json]) -> bytes:
        fields = {name: messages if name == field else rest[name] for name in names}
        whole = {"model": model, "request": fields} if kind == "native" else {"model": model, **fields}
        return json.dumps(whole, separators=separators, ensure_ascii=ascii_only).encode()

    for i in range(draw(st.integers(1, 3))):
        first += turns(draw, i)
    later = []
    for i in range(3):
        later.append([question_of(kind, draw(TEXTS)), *turns(draw, 10 + i)[1:]])
    return kind, model, body, first, later


class Twin:
    """Counts each body on the fast path, if it has one, and on the slow path."""

    def __init__(self, kind: str, model: str) -> None:
        self.endpoint = ENDPOINTS[kind]
        self.params = {"model": model}
        self.conversation_cache = ConversationCache(COUNTER.count)
        self.found = 0

    def count(self, body: bytes) -> None:
        value, warnings = read_json(body)
        assert not warnings
        request: CountRequest = self.endpoint.read(value, self.params)
        whole = COUNTER.count(request)
        newest = self.conversation_cache.find(b"/", body)
        if newest is None:
            self.conversation_cache.learn(b"/", body, value, request, whole)
            assert read_json(body)[0] == value, "what was decoded is as it was"
            return
        counted = COUNTER.count(newest.request)
        if newest.has_same_notes(counted):
            assert alike(counted) == alike(whole)
            self.found += 1
            self.conversation_cache.learn_newer(b"/", body, newest, counted)


def alike(count: TokenCount) -> Any:
    """Doubts with the same sum are equal."""
    doubts = sum(doubt.low for doubt in count.doubts), sum(doubt.high for doubt in count.doubts)
    return replace(count, doubts=()), doubts, list(count.details.items())


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(conversations())
def test_what_was_counted_before_and_what_is_new_add_up(case: Any) -> None:
    kind, model, body, messages, later = case
    twin = Twin(kind, model)
    for added in later:
        twin.count(body([*messages, added[0]]))
        twin.count(body([*messages, question_of(kind, "Another question.")]))
        messages = [*messages, *added]


def agent(kind: str, model: str, questions: int, tail: bool) -> bytes:
    """The conversation of a coding agent."""
    messages: list[Json] = []
    for i in range(questions):
        messages.append({"role": "user", "content": f"Question {i}: where is it?"})
        if kind == "anthropic":
            call = {"type": "tool_use", "id": f"c{i}", "name": "look", "input": {"q": i}}
            result = {"type": "tool_result", "tool_use_id": f"c{i}", "content": "In the drawer."}
            messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        else:
            call = {"id": f"c{i}", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}
            messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                         {"role": "tool", "tool_call_id": f"c{i}", "content": "In the drawer."}]
        messages.append({"role": "assistant", "content": "It is in the drawer."})
    messages.append({"role": "user", "content": "And then?"})
    schema = {"type": "object", "properties": {"q": {"type": "integer"}}}
    if kind == "anthropic":
        rest = {"system": FILLER, "tools": [{"name": "look", "input_schema": schema}]}
    else:
        messages.insert(0, {"role": "system", "content": FILLER})
        rest = {"tools": [{"type": "function", "function": {"name": "look", "parameters": schema}}]}
    fields = {**rest, "messages": messages} if tail else {"messages": messages, **rest}
    whole = {"model": model, **fields} if kind == "anthropic" else {"model": model, "request": fields}
    return json.dumps(whole).encode()


@pytest.mark.parametrize("tail", [True, False])
@pytest.mark.parametrize(("kind", "model"), [(kind, model) for kind in ("anthropic", "native") for model in MODELS])
def test_conversations_of_agents_are_found_as_they_grow(kind: str, model: str, tail: bool) -> None:
    twin = Twin(kind, model)
    for questions in range(1, 9):
        twin.count(agent(kind, model, questions, tail))
    assert twin.found == 7


async def test_answers_equal_those_of_a_service_that_never_saw_the_conversation() -> None:
    async with client_of(make_app()) as ours:
        for questions in range(1, 30, 4):
            for kind, path in (("anthropic", "/v1/messages/count_tokens"), ("native", "/v1/countTokens")):
                body = agent(kind, "claude-opus-4-8", questions, False)
                async with client_of(make_app()) as fresh:
                    one, other = await ours.post(path, content=body), await fresh.post(path, content=body)
                assert one.status_code == 200, one.text
                assert one.content == other.content
                own = [line for line in one.headers.multi_items() if line[0] != "x-request-id"]
                assert own == [line for line in other.headers.multi_items() if line[0] != "x-request-id"]
        shown = (await ours.get("/metrics")).text
    assert 'tallystick_cache_lookups_total{outcome="hit",tier="conversation"} 14.0' in shown
    assert 'tallystick_cache_lookups_total{outcome="miss",tier="conversation"} 2.0' in shown


@pytest.mark.parametrize(("change", "field"), [
    ({"role": "nobody", "content": "x"}, "messages[41].role"),
    ({"role": "user", "text": "x"}, "messages[41].content"),
])
async def test_an_error_in_a_new_message_names_its_place_in_the_whole_list(
    change: Json, field: str
) -> None:
    body = json.loads(agent("anthropic", "claude-sonnet-4-5", 10, False))
    async with client_of(make_app()) as client:
        assert (await client.post("/v1/messages/count_tokens", json=body)).status_code == 200
        body["messages"].append(change)
        answer = await client.post("/v1/messages/count_tokens", json=body)
    assert answer.status_code == 400
    assert field in answer.json()["error"]["message"]


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-4o"])
@pytest.mark.parametrize("more", [
    [{"role": "user", "content": "And?", "refusal": None}],
    [{"role": "user", "content": "And?"}, {"role": "tool", "content": "x"}],
    [{"role": "user", "content": "And?"}, {"role": "assistant", "content": "x", "tool_calls": []}],
    [{"role": "user", "content": "And?"}, {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}],
    [{"role": "user", "content": "And?"}, {"role": "assistant", "content": [{"type": "refusal", "refusal": "x"}]}],
    [{"role": "user", "content": [{"type": "text", "text": "And?"}, {"type": "image_url", "image_url": "x"}]}],
])
def test_new_messages_may_be_in_another_dialect(model: str, more: list[Json]) -> None:
    twin = Twin("native", model)
    said = [{"role": "user", "content": FILLER}, {"role": "assistant", "content": "Yes."}]
    for added in ([{"role": "user", "content": "And?"}], more):
        twin.count(json.dumps({"model": model, "request": {"messages": [*said, *added]}}).encode())


@pytest.mark.parametrize("model", ["claude-3-haiku-20240307", "claude-sonnet-4-5", "claude-opus-4-8"])
@pytest.mark.parametrize("last", [
    {"role": "tool", "content": "It is here."},
    {"role": "user", "content": "It is here."},
    {"role": "system", "content": "It is here."},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "It is here."}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c", "content": "here"}, {"type": "text", "text": "It is here."},
    ]},
])
def test_a_split_point_is_where_a_turn_ends(model: str, last: Json) -> None:
    twin = Twin("anthropic", model)
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    said = [{"role": "user", "content": FILLER}, {"role": "assistant", "content": [call]}, last]
    for text in ("And?", " And", "1", "\nx", "x"):
        body = {"model": model, "messages": [*said, {"role": "user", "content": text}]}
        twin.count(json.dumps(body).encode())


ASKED = [{"role": "user", "content": FILLER}, {"role": "assistant", "content": "Yes."},
         {"role": "user", "content": "And?"}]
LONGER = [*ASKED[:2], {"role": "user", "content": "And so on and so forth for a very long time?"}]
IN_PARTS = [{"role": "user", "parts": [{"text": FILLER}]}, {"role": "model", "parts": [{"text": "Yes."}]},
            {"role": "user", "parts": [{"text": "And?"}]}]
MORE_PARTS = [*IN_PARTS[:2], {"role": "user", "parts": [{"text": "And so on and so forth for ever?"}]}]
CALLED = [{"type": "tool_use", "id": "c", "name": "look", "input": {"q": 1}}]
ANSWERED = [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]
CALLS = [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
MESSAGES, NATIVE, LITELLM = "/v1/messages/count_tokens", "/v1/countTokens", "/utils/token_counter"
RESPONSES, GEMINI = "/v1/responses/input_tokens", "/v1beta/models/gemini-2.5-flash:countTokens"
CLAUDE, GPT, FLASH = ({"model": name} for name in ("claude-sonnet-4-5", "gpt-4o", "gemini-2.5-flash"))
WRAPPERS = ("request", "generateContentRequest", "generate_content_request")


def nested(levels: int) -> Json:
    value: Json = {}
    for _ in range(levels):
        value = {"a": value}
    return {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": value}]}


def histories() -> Iterator[tuple[str, Json, Json]]:
    """(path, a body that is sent first, a body that is sent after it)."""
    for path, rest, field in ((MESSAGES, CLAUDE, "messages"), (LITELLM, GPT, "messages"), (RESPONSES, GPT, "input")):
        for wrapper in WRAPPERS:  # a list beside the one that is counted
            asked = {**rest, field: ASKED}
            yield path, {**asked, wrapper: {field: ASKED}}, {**asked, wrapper: {field: LONGER}}
    for wrapper in WRAPPERS:
        one, other = ({wrapper: {"contents": IN_PARTS}, "contents": last} for last in (IN_PARTS, MORE_PARTS))
        yield GEMINI, one, other
        yield NATIVE, {**FLASH, "request": one}, {**FLASH, "request": other}
    for model, said in (  # the messages that showed the dialect are no longer there
        (GPT, [{"role": "assistant", "content": CALLED}, {"role": "user", "content": ANSWERED}]),
        (CLAUDE, [{"role": "assistant", "content": None, "tool_calls": CALLS},
                  {"role": "tool", "tool_call_id": "c", "content": "x"}]),
    ):
        yield NATIVE, {**model, "request": {"messages": [*ASKED, *said]}}, {**model, "request": {"messages": ASKED}}
    # a list that is not read, in which something is wrong
    wrong = {"messages": [1, 2, {"role": "user", "content": 5}]}
    yield MESSAGES, {**CLAUDE, "messages": ASKED, "request": wrong}, {**CLAUDE, "messages": ASKED}
    for levels in range(92, 99):
        before, after = {"messages": ASKED}, {"messages": [*ASKED, nested(levels)]}
        yield MESSAGES, {**CLAUDE, **before}, {**CLAUDE, **after}
        yield NATIVE, {**CLAUDE, "request": before}, {**CLAUDE, "request": after}


@pytest.mark.parametrize(("path", "before", "after"), [*histories()])
async def test_what_came_before_changes_no_answer(path: str, before: Json, after: Json) -> None:
    async with client_of(make_app()) as ours, client_of(make_app(cache_bytes=0)) as fresh:
        for body in (before, before, after, after):
            one, other = await ours.post(path, json=body), await fresh.post(path, json=body)
            ids = re.compile(rb'"request_?[iI]d": ?"[^"]*"')
            assert (one.status_code, ids.sub(b"", one.content)) == (other.status_code, ids.sub(b"", other.content))
            assert one.headers.get("x-tallystick-method") == other.headers.get("x-tallystick-method")


@pytest.mark.parametrize("media", ["image/png", "multipart/form-data; boundary=x", "application/octet-stream"])
async def test_a_conversation_in_a_file_is_refused_though_it_is_known(media: str) -> None:
    body = agent("anthropic", "claude-sonnet-4-5", 3, True)
    async with client_of(make_app()) as client:
        for _ in range(2):
            assert (await client.post(MESSAGES, content=body)).status_code == 200
        assert (await client.post(MESSAGES, content=body, headers={"content-type": media})).status_code == 415


async def test_a_path_with_a_question_mark_is_no_query() -> None:
    body = json.dumps({"contents": IN_PARTS}).encode()
    async with client_of(make_app()) as client:
        for _ in range(2):
            assert (await client.post(f"{GEMINI}?Z:countTokens?", content=body)).status_code == 200
        assert (await client.post(f"{GEMINI}%3FZ:countTokens", content=body)).status_code == 404


def test_many_doubts_are_kept_as_one() -> None:
    twin = Twin("responses", "gpt-5")
    said: list[Json] = [{"role": "user", "content": FILLER}]
    for i in range(300):
        said.append({"type": "function_call", "call_id": f"c{i}", "name": "look", "arguments": "{}"})
        said.append({"type": "function_call_output", "call_id": f"c{i}", "output": "here"})
    said.append({"role": "assistant", "content": "Found."})
    for question in ("And?", "And then?"):
        twin.count(json.dumps({"model": "gpt-5", "input": [*said, {"role": "user", "content": question}]}).encode())
    assert twin.found == 1
    assert [len(entry.request.prefix.doubts) for entry in twin.conversation_cache._entries.values()] == [1]


def test_no_text_is_kept() -> None:
    conversation_cache = ConversationCache(COUNTER.count)
    body = agent("anthropic", "claude-sonnet-4-5", 3, True).replace(b"drawer", b"hunter2")
    value, _ = read_json(body)
    request = ENDPOINTS["anthropic"].read(value, {})
    conversation_cache.learn(b"/", body, value, request, COUNTER.count(request))
    assert conversation_cache.find(b"/", body) is not None
    assert "hunter2" not in repr(vars(conversation_cache))


@pytest.mark.parametrize("change", [
    lambda body: body.replace(b'"look"', b'"took"', 1),
    lambda body: body.replace(b"Question 0", b"Question 9", 1),
    lambda body: body.replace(b"claude-sonnet-4-5", b"claude-sonnet-4-0", 1),
    lambda body: body[:-1] + b', "x": 1}',
    lambda body: body[:-1] + b" }",
])
def test_a_changed_byte_outside_the_new_messages_is_another_conversation(change: Any) -> None:
    conversation_cache = ConversationCache(COUNTER.count)
    body = agent("anthropic", "claude-sonnet-4-5", 3, False)
    value, _ = read_json(body)
    request = ENDPOINTS["anthropic"].read(value, {})
    conversation_cache.learn(b"/", body, value, request, COUNTER.count(request))
    assert conversation_cache.find(b"/", body) is not None
    assert conversation_cache.find(b"/other", body) is None
    assert change(body) != body
    assert conversation_cache.find(b"/", change(body)) is None


def test_lists_that_end_elsewhere_are_not_taken_for_messages() -> None:
    """The bytes behind the new messages are the same as before, but they end another list."""
    conversation_cache = ConversationCache(COUNTER.count)
    body = json.dumps({
        "model": "gpt-4o", "messages": [{"role": "user", "content": FILLER}, {"role": "assistant", "content": "Yes."},
                                        {"role": "user", "content": "And?"}],
        "stop": ["a"],
    }).encode()
    outer = json.loads(body)
    whole = json.dumps({"model": "gpt-4o", "request": outer}).encode()
    value, _ = read_json(whole)
    request = native.read(value)
    conversation_cache.learn(b"/", whole, value, request, COUNTER.count(request))
    assert conversation_cache.find(b"/", whole) is not None
    other = whole.replace(b'"And?"}], "stop"', b'"And?"}], "user": ["x"], "stop"')
    assert other != whole
    assert conversation_cache.find(b"/", other) is None


def test_with_a_shared_cache_a_conversation_is_counted_whole_now_and_then() -> None:
    alone, shared = ConversationCache(COUNTER.count), ConversationCache(COUNTER.count, shared=True)
    found = {alone: 0, shared: 0}
    for conversation_cache in found:
        for questions in range(2, 60):
            body = agent("anthropic", "claude-sonnet-4-5", questions, True)
            value, _ = read_json(body)
            newest = conversation_cache.find(b"/", body)
            if newest is None:
                request = ENDPOINTS["anthropic"].read(value, {})
                conversation_cache.learn(b"/", body, value, request, COUNTER.count(request))
            else:
                found[conversation_cache] += 1
                conversation_cache.learn_newer(b"/", body, newest, COUNTER.count(newest.request))
    assert found[alone] == 57
    assert 30 < found[shared] < 55


@pytest.mark.parametrize("most", [0, 3])
def test_the_number_of_entries_is_bounded(most: int) -> None:
    conversation_cache = ConversationCache(COUNTER.count, most * ENTRY_BYTES)
    bodies = [agent("anthropic", "claude-sonnet-4-5", questions, True) for questions in range(1, 8)]
    for body in bodies:
        assert len(body) >= MIN_CONVERSATION_BYTES
        value, _ = read_json(body)
        request = ENDPOINTS["anthropic"].read(value, {})
        conversation_cache.learn(b"/", body, value, request, COUNTER.count(request))
    found = [conversation_cache.find(b"/", body) is not None for body in bodies]
    assert found == [False] * (7 - most) + [True] * most
    assert len(conversation_cache._entries) == len(conversation_cache._places) == len(conversation_cache._tails) == most
