from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from service import catalog
from service.counting.counter import Counter
from service.dialects.google.request import read_generate_content
from service.families.google import FAMILIES
from service.renderers.google.request import ASSUMED_CACHE, HOSTED_DOUBT
from service.types import CountRequest
from tests.renderers.google.prompts import ask, details_of, locate_tokens, rendered, rendered_for, user

FACTS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("facts.json").read_text("utf-8"))
"""Requests that Google received and the prompt tokens it billed for them, over all platforms and generations."""

EVERY_ROW = [(family, platform) for family in FAMILIES for platform in ("gemini-api", "vertex")]

WEATHER = {
    "name": "get_weather", "description": "Weather of a city.",
    "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]},
}


@pytest.fixture(scope="module")
def counter() -> Counter:
    return Counter.in_memory()


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact['platform']}-{fact['model']}-{fact['tokens']}")
def test_a_recorded_request_costs_what_was_billed(fact: dict[str, Any], counter: Counter) -> None:
    prompt = replace(read_generate_content(fact["request"]), platform=fact["platform"])
    count = counter.count(CountRequest(model_ref=fact["model"], prompt=prompt))
    assert count.input_tokens == fact["tokens"]
    assert sum(count.details.values()) == count.input_tokens
    assert count.low <= fact["tokens"] <= count.high
    if fact["rules"]:  # a moving alias means another model every few months
        assert count.rules == fact["rules"]


def test_the_facts_cover_every_measured_row() -> None:
    measured = {fact["rules"] for fact in FACTS}
    generations = ("2.0", "2.5", "3", "3.5")
    assert {f"gemini-{n}/{platform}" for n in generations for platform in ("gemini-api", "vertex")} <= measured
    assert len(FACTS) > 60


def test_a_count_sums_and_the_gemini_api_is_the_default_platform(counter: Counter) -> None:
    body = ask("Hi", tools=[{"functionDeclarations": [WEATHER]}], systemInstruction="Be brief.")
    count = counter.count(CountRequest(model_ref="google/gemini-2.5-flash", prompt=read_generate_content(body)))
    assert sum(count.details.values()) == count.input_tokens
    assert set(count.details) == {"system", "tools", "messages", "frame"}
    assert count.rules == "gemini-2.5/gemini-api"
    assert catalog.resolve("google/gemini-2.5-flash").family.name == "gemini-2.5"


# ---------------------------------------------------------------- frames and texts


@pytest.mark.parametrize(
    ("model", "platform", "turn"),
    [
        ("gemini-1.5-flash", "gemini-api", 0), ("gemini-2.0-flash", "gemini-api", 0),
        ("gemini-2.0-flash-thinking-exp", "gemini-api", 1), ("gemini-2.5-flash", "gemini-api", 1),
        ("gemini-3-flash-preview", "gemini-api", 1), ("gemini-3.5-flash", "gemini-api", 1),
        ("gemini-2.5-flash", "vertex", 0), ("gemini-3-flash-preview", "vertex", 0), ("gemini-3.5-flash", "vertex", 0),
    ],
)
def test_a_turn_costs_its_frame_where_it_names_a_role(model: str, platform: str, turn: int) -> None:
    bare = locate_tokens({"contents": [{"parts": [{"text": "Hi"}]}]}, model, platform)
    assert locate_tokens({"contents": [user("Hi")]}, model, platform) == bare + turn
    silent = {"contents": [user("Hi")], "systemInstruction": {"parts": [{"text": ""}]}}
    assert locate_tokens(silent, model, platform) == bare + turn
    assert locate_tokens({**silent, "systemInstruction": user("")}, model, platform) == bare + 2 * turn


@pytest.mark.parametrize(
    ("model", "platform", "texts"),
    [
        ("gemini-3.5-flash", "vertex", ["strawberry"]), ("gemini-3.5-flash", "gemini-api", ["straw", "berry"]),
        ("gemini-3-flash-preview", "vertex", ["straw", "berry"]),
    ],
)
def test_texts_of_one_turn_are_joined_on_one_platform_only(model: str, platform: str, texts: list[str]) -> None:
    assert [segment.text for segment in rendered(ask("straw", "berry"), model, platform).segments] == texts
    signed = ask({"text": "straw", "thoughtSignature": "AAAA"}, "berry")
    assert [segment.text for segment in rendered(signed, model, platform).segments] == texts


@pytest.mark.parametrize("body", [{"contents": []}, {"contents": None}, {"contents": [{"parts": []}]}])
def test_legal_emptiness_is_nothing(body: dict[str, Any]) -> None:
    assert locate_tokens(body, "gemini-2.5-flash") == 0


# ---------------------------------------------------------------- everything counts


NINE_PX = {"width": 9, "height": 9}

ADDED: dict[str, tuple[str, dict[str, Any]]] = {
    "system string": ("system", {"systemInstruction": "Answer in verse."}),
    "system parts": ("system", {"systemInstruction": {"parts": [{"text": "Answer"}, {"text": "in verse."}]}}),
    "tools": ("tools", {"tools": [{"functionDeclarations": [WEATHER]}]}),
    "tools as an object": ("tools", {"tools": {"function_declarations": WEATHER}}),
    "result": ("messages", ask("Hi", {"functionResponse": {"name": "get_weather", "response": {"sky": "clear"}}})),
    "call": ("messages", ask("Hi", {"functionCall": {"name": "get_weather", "args": {"city": "Rome"}}})),
    "image": ("media", ask("Hi", {"inlineData": {"mimeType": "image/png", "data": {"_media": NINE_PX}}})),
    "text file": ("messages", ask("Hi", {"inlineData": {"mimeType": "text/plain", "data": "aGVsbG8="}})),
    "shown thought": ("messages", ask("Hi", {"text": "So?", "thought": True})),
    "code": ("messages", ask("Hi", {"executableCode": {"language": "PYTHON", "code": "print(1)"}})),
    "unknown part": ("messages", ask("Hi", {"hologram": {"depth": 3}})),
}


@pytest.mark.parametrize("what", ADDED)
def test_what_is_added_moves_the_count_of_its_section(what: str) -> None:
    section, added = ADDED[what]
    for family, platform in EVERY_ROW:
        before = details_of(rendered_for(family, ask("Hi"), platform))
        after = details_of(rendered_for(family, {**ask("Hi"), **added}, platform))
        assert after.pop(section) > before.pop(section, 0)
        assert {**after, "frame": 0} == {**before, "frame": 0}


def test_settings_that_only_steer_are_free() -> None:
    plain = ask("Hi", tools=[{"functionDeclarations": [WEATHER]}])
    steered = {
        **plain,
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}},
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "labels": {"team": "a"},
        "generationConfig": {
            "temperature": 0, "stopSequences": ["x"], "thinkingConfig": {"thinkingBudget": 0},
            "responseMimeType": "application/json",
        },
    }
    for family, platform in EVERY_ROW:
        assert rendered_for(family, steered, platform) == rendered_for(family, plain, platform)


def test_an_unknown_part_is_counted_from_its_text_and_listed() -> None:
    rendering = rendered(ask({"hologram": {"depth": 3}}), "gemini-3.5-flash")
    assert [segment.text for segment in rendering.segments] == ['{"hologram":{"depth":3}}']
    assert [(item.path, item.kind) for item in rendering.uncounted] == [("contents[0].parts[0].hologram", "hologram")]


def test_cached_content_is_assumed_and_listed() -> None:
    rendering = rendered(ask("Hi", cachedContent="cachedContents/abc"), "gemini-2.5-flash")
    assert rendering.uncounted[0].assumed_tokens == ASSUMED_CACHE
    assert sum(details_of(rendering).values()) == ASSUMED_CACHE + 2


@pytest.mark.parametrize("key", ["googleSearch", "google_search", "urlContext", "codeExecution", "fileSearch"])
def test_a_hosted_tool_is_free_up_to_2_5_and_open_ended_after(key: str) -> None:
    body = ask("Hi", tools=[{key: {}}])
    old, new = rendered(body, "gemini-2.5-flash"), rendered(body, "gemini-3.5-flash")
    assert details_of(old) == details_of(new) == {"messages": 1, "frame": 1}
    assert (old.uncounted, old.doubts) == ((), ())
    assert [item.path for item in new.uncounted] == [f"tools[0].{key}"]
    assert [(doubt.low, doubt.high) for doubt in new.doubts] == [(0, HOSTED_DOUBT)]


def test_computer_use_is_never_free() -> None:
    assert rendered(ask("Hi", tools=[{"computerUse": {}}]), "gemini-2.5-flash").uncounted[0].kind == "computerUse"


# ---------------------------------------------------------------- response schemas


PERSON = {
    "type": "OBJECT", "properties": {"name": {"type": "STRING"}}, "required": ["name"], "propertyOrdering": ["name"],
}


@pytest.mark.parametrize(
    ("model", "platform", "cost"),
    [
        ("gemini-2.0-flash", "gemini-api", 2 + 3), ("gemini-2.5-flash", "vertex", 2 + 3),
        ("gemini-2.5-flash", "gemini-api", 0), ("gemini-3-flash-preview", "gemini-api", 0),
        ("gemini-3.5-flash", "vertex", 0),
    ],
)
def test_a_response_schema_is_walked_where_strings_are(model: str, platform: str, cost: int) -> None:
    """Two types; `name` as a property, as required and in the ordering."""
    body = ask("Hi", generationConfig={"responseSchema": PERSON})
    assert details_of(rendered(body, model, platform)).get("schema", 0) == cost


def test_a_json_response_schema_costs_its_text_on_one_platform() -> None:
    body = ask("Hi", generationConfig={"responseJsonSchema": {"type": "object"}})
    assert "schema" not in details_of(rendered(body, "gemini-3-flash-preview"))
    assert "schema" not in details_of(rendered(body, "gemini-2.5-flash", "vertex"))
    rendering = rendered(body, "gemini-3-flash-preview", "vertex")
    assert details_of(rendering)["schema"] > 32
    assert rendering.doubts[0].low == -32
