from __future__ import annotations

from typing import Any

import pytest

from service.families.google import GoogleRules
from service.renderers.google import declaration, words
from service.renderers.google.declaration import CLOSE, OPEN, QUOTE
from service.renderers.google.schema import ReferenceLimit
from service.types import Tool
from tests.renderers.google.prompts import locate_tokens, model_of

RULES: GoogleRules = model_of("gemini-3.5-flash").family.rules.gemini_api


def block(tool: Tool) -> str:
    """The text of a declaration with the control tokens made readable."""
    return readable(declaration.render_tool(tool, RULES, ReferenceLimit()).texts[0])


def readable(text: str) -> str:
    assert text.startswith(OPEN)
    assert text.endswith(CLOSE)
    return text[len(OPEN) : -len(CLOSE)].replace(QUOTE, "~")


def parameters(schema: dict[str, Any], form: Any = "json") -> str:
    return block(Tool("f", "", schema, schema_form=form)).removeprefix("declaration:f{parameters:").removesuffix("}")


def test_a_whole_declaration() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": False,
        "properties": {"unit": {"type": "string", "title": "Unit"}, "city": {"type": "string", "description": "City."}},
        "required": ["unit", "city"],
    }
    assert block(Tool("get_weather", "Weather.", schema)) == (
        "declaration:get_weather{description:~Weather.~,parameters:{properties:{"
        "city:{description:~City.~,type:~STRING~},unit:{title:~Unit~,type:~STRING~}},"
        "required:[~unit~,~city~],type:~OBJECT~}}"
    )


def test_a_declaration_without_properties() -> None:
    assert block(Tool("now", "", {"type": "object", "properties": {}})) == "declaration:now{parameters:{type:~OBJECT~}}"
    assert block(Tool("now", "Time.")) == "declaration:now{description:~Time.~}"


def test_an_enum_names_its_format_in_json_schemas_only() -> None:
    schema = {"type": "string", "enum": ["a"]}
    assert parameters(schema) == "{enum:[~a~],format:~enum~,type:~STRING~}"
    assert parameters(schema, "google") == "{enum:[~a~],type:~STRING~}"


@pytest.mark.parametrize(
    ("schema", "drawn"),
    [
        ({"type": ["string", "null"]}, "{nullable:true,type:~STRING~}"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "{anyOf:[{type:~STRING~},{type:~NULL~}]}"),
        ({"any_of": [{"type": 1}]}, "{anyOf:[{type:~STRING~}]}"),
        ({"type": "array", "items": {"type": 2}, "maxItems": 3}, "{items:{type:~NUMBER~},maxItems:3,type:~ARRAY~}"),
        ({"type": "object", "additionalProperties": {"type": "string"}},
         "{additionalProperties:{type:~STRING~},type:~OBJECT~}"),
        ({"type": "boolean", "default": True}, "{default:true,type:~BOOLEAN~}"),
        ({"$ref": "#/$defs/U", "$defs": {"U": {"type": "integer"}}}, "{type:~INTEGER~}"),
    ],
)
def test_schemas(schema: dict[str, Any], drawn: str) -> None:
    assert parameters(schema) == drawn


def test_calls_and_results() -> None:
    call = declaration.render_call("f", {"b": 'x"y', "a": [1, 2.0, None, True], "c": {"d": "e"}})
    assert readable(call.texts[0]) == 'call:f{a:[1,2,null,true],b:~x"y~,c:{d:~e~}}'
    assert readable(declaration.render_result("f", {"ok": "yes"}).texts[0]) == "response:f{ok:~yes~}"
    assert readable(declaration.render_result("f", None).texts[0]) == "response:f{}"


def test_control_tokens_are_one_token_each_and_part_their_neighbours() -> None:
    """A tool named get_file without parameters: 16 tokens, billed by 3-flash-preview in 30 requests."""
    empty = {"functionDeclarations": [{"name": "get_file", "parameters": {"type": "OBJECT", "properties": {}}}]}
    assert locate_tokens({"tools": [empty]}, "gemini-3-flash-preview") == 16
    quoted = declaration.render_call("f", {"a": "x"}).texts[0]
    assert quoted.count("<unused") == 4


def test_words_are_the_same_tree_without_its_punctuation() -> None:
    tool = Tool("get_weather", "Weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
    drawn = words.render_tool(tool, RULES, ReferenceLimit())
    expected = "get_weather description Weather. parameters type OBJECT properties city type STRING"
    assert drawn.texts == tuple(expected.split())
    assert drawn.fixed == words.BLOCK
    assert words.render_call("f", {"n": 3, "ok": True}).texts == ("f", "n", "3", "ok", "true")
    assert words.render_result("f", {"list": ["a", {"b": None}]}).texts == ("f", "list", "a", "b", "null")
