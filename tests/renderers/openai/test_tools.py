from __future__ import annotations

import time
from typing import Any

import pytest

from service.renderers.openai.schema import render_format
from service.renderers.openai.tools import FunctionWriter, render_namespace
from service.types import OutputFormat, Tool


def draw(properties: dict[str, Any], **schema: Any) -> str:
    """The drawn function, without what is the same in all."""
    text = FunctionWriter().write(Tool("f", parameters={"type": "object", "properties": properties, **schema}))
    return text.removeprefix("type f = (_: ").removesuffix(") => any;")


@pytest.mark.parametrize(
    ("schema", "drawn"),
    [
        ({"type": "string"}, "string"),
        ({"type": "integer"}, "number"),
        ({"type": "number"}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "null"}, "null"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"enum": ["a", 1, None, "é"]}, '"a" | 1 | null | "é"'),
        ({"type": "array"}, "any[]"),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}, "{ a?: string }[]"),
        ({"type": "object"}, "object"),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, "{ a: string }"),
        ({}, "any"),
        ({"type": "STRING"}, "string"),
        (True, "any"),
    ],
)
def test_types(schema: Any, drawn: str) -> None:
    assert draw({"x": schema}) == f"{{ x?: {drawn} }}"


def test_variants_stand_behind_the_colon_without_a_blank() -> None:
    assert draw({"x": {"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]}}) == "{ x?:string | any[] }"


def test_comments_put_every_property_on_its_line() -> None:
    properties = {"a": {"type": "string", "description": " One.\n\n  Two. "}, "b": {"type": "string"}}
    assert draw(properties, required=["b"]) == "{\n// One.\n// Two.\na?: string,\nb: string,\n}"


def test_titles_defaults_and_formats() -> None:
    assert draw({"a": {"title": "A", "description": "The a", "type": "number", "default": None}}) == (
        "{\n// A\n//\n// The a\na?: number, // default: null\n}"
    )
    assert draw({"a": {"enum": ["x", "y"], "default": "x"}}) == '{\na?: "x" | "y", // default: x\n}'
    assert draw({"a": {"type": "string", "default": "x"}}) == '{\na?: string, // default: "x"\n}'
    variants = {"description": "When", "anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}
    assert draw({"a": variants}) == "{\n// When\na?:\n// format: date\n| string\n| null\n,\n}"


def test_arrays_of_commented_items() -> None:
    items = {"type": "object", "properties": {"a": {"type": ["string", "null"], "description": "A"}}}
    assert draw({"x": {"type": "array", "items": items}}) == (
        "{ x?: Array<\n{\n// A\na?:\n// A\n| string\n// A\n| null\n,\n}\n> }"
    )


def test_references_are_drawn_in_place_and_their_siblings_win() -> None:
    defs = {"P": {"type": "object", "title": "P", "properties": {"n": {"$ref": "#/$defs/N"}}}, "N": {"type": "integer"}}
    assert draw({"p": {"$ref": "#/$defs/P", "title": "Mine"}}, **{"$defs": defs}) == (
        "{\n// Mine\np?: { n?: number },\n}"
    )


def test_a_function_without_arguments_and_one_with_a_titled_object() -> None:
    assert FunctionWriter().write(Tool("f", "Do it.")) == "// Do it.\ntype f = () => any;"
    assert draw({"a": {"type": "string"}}, title="Args") == "// Args\n{ a?: string }"
    assert render_namespace(["A", "B"]) == "namespace functions {\n\nA\n\nB\n\n} // namespace functions"


def test_parts_that_were_never_recorded_are_reported_as_guesses() -> None:
    certain, guessed = FunctionWriter(), FunctionWriter()
    certain.write(Tool("f", parameters={"properties": {"a": {"anyOf": [{"type": "string"}]}}}))
    guessed.write(Tool("f", parameters={"properties": {"a": {"oneOf": [{"type": "string"}]}}}))
    assert (certain.guessed_characters, guessed.guessed_characters > 0) == (0, True)
    form = {"format": {"type": "grammar", "syntax": "lark", "definition": "start: WORD"}}
    assert "// start: WORD" in guessed.write(Tool("f", kind="custom", raw=form))


def test_a_reference_into_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "v": {"type": "string"}}}
    assert draw({"n": {"$ref": "#/$defs/Node"}}, **{"$defs": {"Node": node}}) == "{ n?: { next?: any, v?: string } }"
    assert draw({"n": {"$ref": "#"}, "m": {"$ref": "#/nowhere"}}) == "{ n?: { n?: any, m?: any }, m?: any }"


def test_references_that_double_at_every_step_stay_small_and_fast() -> None:
    defs = {f"D{i}": {"properties": {k: {"$ref": f"#/$defs/D{i + 1}"} for k in "abcd"}} for i in range(60)}
    wide = {"big": {"properties": {f"p{i}": {"type": "string", "description": "x" * 2_000} for i in range(50)}}}
    start = time.process_time()
    assert len(draw({"a": {"$ref": "#/$defs/D0"}}, **{"$defs": defs})) < 3_000_000
    many = {f"k{i}": {"$ref": "#/$defs/big"} for i in range(2_000)}
    assert len(draw(many, **{"$defs": wide})) < 3_000_000
    assert time.process_time() - start < 5


def test_deep_schemas_are_cut() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(48):
        schema = {"type": "object", "properties": {"a": schema}}
    assert "any" in draw({"a": schema})


@pytest.mark.parametrize(
    "schema", [{"type": 5}, {"type": [None, 3]}, {"enum": "x"}, {"anyOf": 3}, {"properties": []}, 7, None, "x"]
)
def test_malformed_schemas_are_drawn_as_something(schema: Any) -> None:
    assert draw({"x": schema}).startswith("{ x?:")


def test_the_output_schema_loses_what_is_not_shown_but_no_property() -> None:
    schema = {
        "type": "object", "required": ["default"], "additionalProperties": False, "$schema": "x",
        "properties": {"default": {"type": "string", "default": "é", "description": "é", "minLength": 1}},
    }
    assert render_format(OutputFormat("json_schema", "out", "An answer", schema)) == (
        '## out\n\n// An answer\n{"type":"object","properties":{"default":{"type":"string","description":"\\u00e9"}}}'
    )
    assert render_format(OutputFormat("json_schema", "out")) == "## out\n\n{}"
