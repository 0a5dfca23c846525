from __future__ import annotations

from typing import Any

import pytest

from service.families.google import GoogleRules
from service.renderers.google import python_stub
from service.renderers.google.schema import MAX_RECURSION, ReferenceLimit
from service.types import Tool
from tests.renderers.google.prompts import locate_tokens, model_of

RULES: GoogleRules = model_of("gemini-2.5-flash").family.rules.gemini_api


def stub(name: str, description: str = "", parameters: dict[str, Any] | None = None, **rest: Any) -> str:
    fragment = python_stub.render_tool(Tool(name, description, parameters, **rest), RULES, ReferenceLimit())
    assert (len(fragment.texts), fragment.fixed) == (1, 0)
    return fragment.texts[0]


def notes(get_properties: dict[str, Any], **rest: Any) -> list[str]:
    """The annotations of required properties, in order."""
    text = stub("f", "", {"type": "object", "properties": get_properties, "required": list(get_properties), **rest})
    lines = text[text.index("def f("):].split("\n")[1:]
    return [line.strip().rstrip(",").partition(": ")[2] for line in lines[: len(get_properties)]]


def test_a_whole_stub() -> None:
    parameters = {
        "type": "object",
        "properties": {
            "unit": {"type": "string", "enum": ["c", "f"], "description": "Unit."},
            "days": {"type": "integer", "default": 3, "description": "Days.\nAt most 7."},
            "place": {
                "type": "object", "description": "Where.", "required": ["city"],
                "properties": {"city": {"type": "string", "description": "City."}, "zip": {"type": "string"}},
            },
        },
        "required": ["place"],
    }
    assert stub("get_weather", "Weather.\n\nOf a place.", parameters) == (
        "@dataclasses.dataclass(kw_only=True)\n"
        "class GetWeatherPlace:\n"
        '  """Where.\n\n'
        "  Attributes:\n"
        "    city: City.\n"
        "    zip: \n"
        '  """\n'
        "  city: str\n"
        "  zip: str | None = None\n"
        "\n\n"
        "def get_weather(\n"
        "    place: GetWeatherPlace,\n"
        "    days: int | None = 3,\n"
        '    unit: Literal["c", "f"] | None = None,\n'
        ") -> dict:\n"
        '  """Weather.\n\n'
        "  Of a place.\n\n"
        "  Args:\n"
        "    place: Where.\n"
        "    days: Days.\n"
        "      At most 7.\n"
        "    unit: Unit.\n"
        '  """\n'
    )


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object", "properties": {}}, {"properties": None}])
def test_a_stub_without_properties(parameters: dict[str, Any] | None) -> None:
    assert stub("now", "", parameters) == 'def now(\n) -> dict:\n  """\n\n  Args:\n  """\n'


@pytest.mark.parametrize(
    ("schema", "note"),
    [
        ({"type": "STRING"}, "str"), ({"type": 3}, "int"), ({"type": "number"}, "float"), ({"type": "Boolean"}, "bool"),
        ({"type": "object"}, "dict"), ({"type": "array"}, "list"), ({"type": "null"}, "None"), ({}, "Any"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, "list[list[int]]"),
        ({"type": "array", "items": {}}, "list"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "dict[str, float]"),
        ({"type": "object", "additionalProperties": False}, "dict"),
        ({"type": ["string", "number", "null"]}, "str | float"), ({"type": ["null"]}, "None"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "str | None"),
        ({"any_of": [{"type": "integer"}, {"type": "integer"}]}, "int"),
        ({"enum": [1, "a", None, True]}, 'Literal[1, "a", None, True]'),
        ({"type": "string", "format": "date", "pattern": "x", "title": "T", "maxLength": 3}, "str"),
    ],
)
def test_annotations(schema: dict[str, Any], note: str) -> None:
    assert notes({"x": schema}) == [note]


def test_an_optional_union_with_null_gets_no_second_none() -> None:
    union = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert "    x: str | None = None,\n" in stub("f", "", {"properties": {"x": union}})


def test_defaults_are_python_values() -> None:
    get_properties = {"a": {"type": "boolean", "default": False}, "b": {"type": "array", "default": [1.0, "x"]}}
    text = stub("f", "", {"properties": get_properties})
    assert "    a: bool | None = False,\n" in text
    assert '    b: list | None = [1, "x"],\n' in text


def test_objects_in_lists_and_in_objects_are_classes_inner_before_outer() -> None:
    inner = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    parts = {"type": "array", "items": inner}
    outer = {"type": "object", "properties": {"part_list": parts}, "required": ["part_list"]}
    text = stub("make_it", "", {"type": "object", "properties": {"thing": outer}, "required": ["thing"]})
    assert text.index("class MakeItThingPartList:") < text.index("class MakeItThing:") < text.index("def make_it(")
    assert "  part_list: list[MakeItThingPartList]\n" in text


def test_a_reference_is_written_out_where_it_stands() -> None:
    schema = {"$ref": "#/$defs/Unit", "description": "Own words."}
    definitions = {"Unit": {"type": "string", "enum": ["c"], "description": "Shared words."}}
    text = stub("f", "", {"properties": {"unit": schema}, "required": ["unit"], "$defs": definitions})
    assert '    unit: Literal["c"],\n' in text
    assert "    unit: Own words.\n" in text
    assert notes({"x": {"$ref": "#/definitions/N"}}, definitions={"N": {"type": "integer"}}) == ["int"]
    assert notes({"x": {"$ref": "#/$defs/Missing"}, "y": {"$ref": 3}}) == ["Any", "Any"]


def test_a_recursive_reference_ends_as_a_dict() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "required": ["next"]}
    schema = {"properties": {"head": {"$ref": "#/$defs/Node"}}, "required": ["head"], "$defs": {"Node": node}}
    text = stub("f", "", schema)
    assert text.count("class ") == MAX_RECURSION
    assert "  next: dict\n" in text


def test_a_return_schema_is_a_class_of_its_own() -> None:
    text = stub("f", "", {}, response={"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]})
    assert ") -> FResponse:\n" in text
    assert text.startswith("@dataclasses.dataclass(kw_only=True)\nclass FResponse:\n")


def test_calls_and_results_have_sorted_keys_and_c_escapes() -> None:
    call = python_stub.render_call("f", {"b": 'say "hi"\n', "a": [1, 2.5, True, None], "c": {"y": "é", "x": "\u001b"}})
    assert call.texts == (
        'print(default_api.f(a = [1, 2.5, True, None], b = "say \\"hi\\"\\n", c = {"x": "\\033", "y": "é"}))',
    )
    assert python_stub.render_result("f", {"z": "it's", "a": 1}).texts == ('{"f_response": {"a": 1, "z": "it\\\'s"}}',)
    assert python_stub.render_call("f", None).texts == ("print(default_api.f())",)


def test_a_tool_costs_the_same_alone_and_beside_others() -> None:
    tools = [{"name": f"tool_{n}", "description": "Does it."} for n in range(3)]
    alone = [locate_tokens({"tools": [{"functionDeclarations": [tool]}]}, "gemini-2.5-flash") for tool in tools]
    assert locate_tokens({"tools": [{"functionDeclarations": tools}]}, "gemini-2.5-flash") == sum(alone)
