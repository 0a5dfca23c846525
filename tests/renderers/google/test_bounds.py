"""What no body may do to the Gemini renderer, and what holds of every count it makes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.families.google import FAMILIES, GooglePlatforms
from tests.renderers.google.prompts import ask, details_of, rendered, rendered_for, user

ROWS = [(family, platform) for family in FAMILIES for platform in ("gemini-api", "vertex")]

STYLED = [("gemini-2.5-flash", "gemini-api"), ("gemini-3.5-flash", "gemini-api"), ("gemini-3.5-flash", "vertex")]
"""The styles that write references out."""


@pytest.mark.parametrize(("model", "platform"), STYLED)
def test_references_are_written_out_within_bounds_and_that_is_said(model: str, platform: str) -> None:
    node = {"type": "object", "properties": {f"p{i}": {"$ref": "#/$defs/N"} for i in range(30)}}
    schema = {"$defs": {"N": node}, "$ref": "#/$defs/N"}
    body = ask("Hi", tools=[{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}] * 20}])
    rendering = rendered(body, model, platform)
    assert [warning.code for warning in rendering.warnings] == ["schema_references_not_written_out"]
    assert sum(len(segment.text) for segment in rendering.segments) < 10_000_000


@pytest.mark.parametrize(("model", "platform"), STYLED)
def test_a_long_chain_of_references_ends(model: str, platform: str) -> None:
    chain = {f"A{i}": {"type": "object", "properties": {"next": {"$ref": f"#/$defs/A{i + 1}"}}} for i in range(2_000)}
    schema = {"$defs": chain, "$ref": "#/$defs/A0"}
    body = ask("Hi", tools=[{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}])
    assert 1_000 < sum(len(segment.text) for segment in rendered(body, model, platform).segments) < 100_000


def test_class_names_do_not_grow_with_the_square_of_the_body() -> None:
    schema: dict[str, Any] = {"type": "STRING"}
    for _ in range(40):
        schema = {"type": "OBJECT", "properties": {"k" * 10_000: schema}}
    body = ask("Hi", tools=[{"functionDeclarations": [{"name": "f", "parameters": schema}]}])
    assert sum(len(segment.text) for segment in rendered(body, "gemini-2.5-flash").segments) < 3 * 40 * 10_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(["string", "OBJECT", "array", 1, 6, ["string", "null"], None, "x"])
LEAF = st.fixed_dictionaries({}, optional={
    "type": KINDS, "enum": st.lists(JSON, max_size=3), "description": JSON, "default": JSON, "format": JSON,
    "required": JSON, "$ref": st.sampled_from(["#", "#/$defs/A", 3]),
})
SCHEMA = st.recursive(
    LEAF,
    lambda inner: st.fixed_dictionaries({"type": st.sampled_from(["object", "ARRAY"])}, optional={
        "properties": st.dictionaries(st.text(max_size=6), inner, max_size=3), "items": inner,
        "anyOf": st.lists(inner, max_size=3), "additionalProperties": inner | st.booleans(),
        "$defs": st.dictionaries(st.just("A"), inner),
    }),
    max_leaves=8,
)
DECLARATION = st.fixed_dictionaries({"name": st.text(max_size=12)}, optional={
    "description": st.text(max_size=30), "parameters": SCHEMA, "parametersJsonSchema": SCHEMA, "response": SCHEMA,
})
BODY = st.builds(
    lambda text, arguments, answer, declarations, schema: {
        "contents": [
            user(text, {"functionCall": {"name": "f", "args": arguments}}),
            user({"functionResponse": {"name": "f", "response": answer}}),
        ],
        "tools": [{"functionDeclarations": declarations}],
        "generationConfig": {"responseSchema": schema},
    },
    st.text(max_size=40), st.dictionaries(st.text(max_size=6), JSON, max_size=3), JSON,
    st.lists(DECLARATION, max_size=3), SCHEMA,
)


@settings(max_examples=60, deadline=None)
@given(body=BODY, row=st.sampled_from(ROWS))
def test_any_schema_call_and_result_is_counted_under_the_rules_of_its_row(body: dict[str, Any], row: Any) -> None:
    family, platform = row
    rendering = rendered_for(family, body, platform)
    assert all(tokens > 0 for tokens in details_of(rendering).values())
    assert all(doubt.low <= 0 <= doubt.high for doubt in rendering.doubts)
    assert isinstance(family.rules, GooglePlatforms)
    assert rendering.rules == family.rules.get_rules(platform).name
    assert rendered_for(family, body, platform) == rendering
