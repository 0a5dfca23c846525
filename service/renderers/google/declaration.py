"""Tools as `declaration:` blocks: the Gemini API bills 3 and later for Gemma's own function format.

Found on 48 requests with tools and 22 with calls (all exact). References, type lists and unions had no request.
"""

from __future__ import annotations

from collections.abc import Mapping

from service.families.google import GoogleRules
from service.renderers.google.schema import (
    Allowance,
    Drawn,
    Place,
    References,
    Schema,
    as_schemas,
    first,
    number_text,
    properties,
    type_name,
)
from service.types import Json, Tool

QUOTE, OPEN, CLOSE = "<unused1>", "<unused2>", "<unused3>"
"""Stand-ins for control tokens of the real vocabulary: each is one token here too, and parts its neighbours."""


def tool(tool: Tool, rules: GoogleRules, allowance: Allowance) -> Drawn:
    """The block of one tool. Blocks do not touch: each is a text of its own."""
    return _block("declaration", tool.name, tree(tool, allowance))


def call(name: str, arguments: Json) -> Drawn:
    """A call the model made."""
    return _block("call", name, arguments if isinstance(arguments, Mapping) else {})


def result(name: str, value: Json) -> Drawn:
    """What a function answered."""
    return _block("response", name, value or {})


def _block(kind: str, name: str, value: Json) -> Drawn:
    return Drawn((f"{OPEN}{kind}:{name}{_literal(value)}{CLOSE}",))


def _literal(value: Json) -> str:
    if isinstance(value, str):
        return f"{QUOTE}{value}{QUOTE}"
    if isinstance(value, Mapping):
        return "{" + ",".join([f"{key}:{_literal(value[key])}" for key in sorted(value)]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([_literal(item) for item in value]) + "]"
    return number_text(value)


# ---------------------------------------------------------------- the tree of a declaration

_LISTS = {"anyOf": "anyOf", "any_of": "anyOf", "oneOf": "oneOf", "allOf": "allOf", "prefixItems": "prefixItems"}
_DROPPED = frozenset({"$schema", "$defs", "definitions", "$ref", "$id"})


def tree(tool: Tool, allowance: Allowance) -> dict[str, Json]:
    """What a declaration says of a tool beside its name; the words style bills the same tree."""
    is_json = tool.schema_form == "json"
    out: dict[str, Json] = {"description": tool.description} if tool.description else {}
    if tool.parameters is not None:
        out["parameters"] = _proto(tool.parameters, References(tool.parameters, allowance), Place(), is_json)
    if tool.response is not None:
        out["response"] = _proto(tool.response, References(tool.response, allowance), Place(), is_json)
    return out


def _proto(schema: Schema, refs: References, place: Place, is_json: bool) -> dict[str, Json]:
    """A schema as the provider stores it: types in capitals, references written out, nothing empty or false."""
    entered = refs.enter(schema, place)
    if entered is None:
        return {"type": "OBJECT"}
    schema, place = entered
    out: dict[str, Json] = {}
    for key, value in schema.items():
        if key in _DROPPED or value is None or value is False or value in ("", [], {}):
            continue
        if key == "properties":
            out[key] = {name: _proto(item, refs, place, is_json) for name, item in properties(schema).items()}
        elif key in ("items", "additionalProperties", "additional_properties") and isinstance(value, Mapping):
            out["items" if key == "items" else "additionalProperties"] = _proto(value, refs, place, is_json)
        elif key in _LISTS:
            out[_LISTS[key]] = [_proto(item, refs, place, is_json) for item in as_schemas(value)]
        elif key == "type":
            out.update(_types(value))
        else:
            out[key] = value
    if is_json and first(out, "enum") and "format" not in out:
        out["format"] = "enum"
    return out


def _types(value: Json) -> dict[str, Json]:
    if not isinstance(value, list):
        return {"type": type_name(value)}
    names = [type_name(item) for item in value]
    shown = next((name for name in names if name != "NULL"), "NULL")
    return {"type": shown, "nullable": True} if "NULL" in names else {"type": shown}
