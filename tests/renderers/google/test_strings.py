from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from service.families.google import GoogleRules
from service.renderers.google import strings
from service.renderers.google.schema import ReferenceLimit
from service.types import Tool
from tests.renderers.google.prompts import model_of, rendered

RULES: GoogleRules = model_of("gemini-2.0-flash").family.rules.gemini_api

SCHEMA: dict[str, Any] = {
    "type": "OBJECT",
    "properties": {
        "unit": {"type": "STRING", "enum": ["c", "f"], "default": "c", "format": "enum", "title": "free"},
        "days": {"type": "ARRAY", "items": {"type": "INTEGER", "description": "Day."}, "default": 3},
        "either": {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]},
    },
    "required": ["unit"],
    "propertyOrdering": ["unit", "days"],
}


def test_a_tool_is_its_strings_and_one_for_every_type() -> None:
    fragment = strings.render_tool(Tool("f", "Does it.", SCHEMA, schema_form="google"), RULES, ReferenceLimit())
    assert fragment.texts == (
        "f", "Does it.", "unit", "unit", "enum", "c", "c", "f", "days", "Day.", "either",
    )
    assert fragment.fixed == 6


def test_a_json_schema_of_a_tool_is_free() -> None:
    fragment = strings.render_tool(Tool("f", "Does it.", SCHEMA, schema_form="json"), RULES, ReferenceLimit())
    assert (fragment.texts, fragment.fixed) == (("f", "Does it."), 0)


def test_types_are_free_on_the_experimental_model() -> None:
    tool = Tool("f", "", {"type": "OBJECT"}, schema_form="google")
    assert strings.render_tool(tool, replace(RULES, type_tokens=0), ReferenceLimit()).fixed == 0


def test_the_ordering_counts_in_response_schemas_only() -> None:
    fragment = strings.render_response_schema(SCHEMA, RULES)
    assert fragment.texts[:4] == ("unit", "unit", "days", "unit")
    assert fragment.fixed == 6


def test_calls_and_results_are_keys_and_strings_and_one_for_every_number() -> None:
    fragment = strings.render_call("f", {"a": "x", "n": [1, 2.5], "deep": {"k": "v"}, "none": None})
    assert fragment.texts == ("f", "a", "x", "n", "deep", "k", "v", "none")
    assert (fragment.fixed, fragment.doubtful) == (2, 0)
    assert strings.render_result("f", {"ok": True}).doubtful == 1


@pytest.mark.parametrize(("value", "low"), [(True, -1), (1, None)])
def test_a_boolean_is_a_doubt(value: object, low: int | None) -> None:
    body = {"contents": [{"parts": [{"functionCall": {"name": "f", "args": {"a": value}}}]}]}
    rendering = rendered(body, "gemini-2.5-flash", "vertex")
    assert [doubt.low for doubt in rendering.doubts] == ([] if low is None else [low])
