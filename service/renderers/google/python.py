"""Tools as Python stubs: the Gemini API bills 2.5 for the text of a function definition, calls for `print(...)`.

Found on 97 requests with tools (all exact but one, whose miss is a film) and 53 with calls in the history. The layout
is that of published prompts of two coding agents, which also show what no request had: enums, the order of properties,
property descriptions of several lines. Unions with null and booleans in calls are guesses.
"""

from __future__ import annotations

import re
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
    required,
    text_field,
    type_name,
)
from service.types import Json, Tool

_TYPES = {
    "STRING": "str", "INTEGER": "int", "NUMBER": "float", "BOOLEAN": "bool",
    "OBJECT": "dict", "ARRAY": "list", "NULL": "None",
}
_WORD_BREAK = re.compile(r"[_\W]+")
_UNIONS = ("anyOf", "any_of", "oneOf", "one_of")


MAX_NAME = 1_000
"""Characters of a class name; it is made of all the names above it, which would grow with the square of a body."""


def tool(tool: Tool, rules: GoogleRules, allowance: Allowance) -> Drawn:
    """The stub of one tool, its nested objects as dataclasses in front. Each tool is a text of its own (29 of 29)."""
    return Drawn((_Stub(tool, allowance).text(),))


def call(name: str, arguments: Json) -> Drawn:
    """A call the model made."""
    given = arguments if isinstance(arguments, Mapping) else {}
    return Drawn((f"print(default_api.{name}({', '.join([f'{k} = {_value(given[k])}' for k in sorted(given)])}))",))


def result(name: str, value: Json) -> Drawn:
    """What a function answered."""
    return Drawn((_value({f"{name}_response": value}),))


# ---------------------------------------------------------------- the stub


class _Stub:
    """One function as a Python stub; `classes` are the dataclasses of its nested objects, inner before outer."""

    def __init__(self, tool: Tool, allowance: Allowance) -> None:
        self.tool = tool
        self.refs = References(tool.parameters or {}, allowance)
        self.classes: list[str] = []

    def text(self) -> str:
        tool = self.tool
        entered = self.refs.enter(self.refs.root, Place())
        fields = self.fields(entered[0], _camel(tool.name), entered[1]) if entered else []
        head = f"def {tool.name}(\n" + "".join([f"    {key}: {note},\n" for key, note, _ in fields])
        returned = "dict"
        if tool.response:
            self.refs = References(tool.response, self.refs.allowance)
            returned = self.annotation(tool.response, _camel(tool.name) + "Response", Place())
        doc = f'  """{_indent(tool.description, "  ")}\n\n  Args:\n{_docs(fields)}  """\n'
        return "\n\n".join([*self.classes, f"{head}) -> {returned}:\n{doc}"])

    def fields(self, schema: Schema, name: str, place: Place) -> list[tuple[str, str, str]]:
        """(name, annotation with default, description) of each property: the required ones as listed, then a to z."""
        items, found = properties(schema), []
        needed = dict.fromkeys([key for key in required(schema) if key in items])
        for key in (*needed, *sorted(items.keys() - needed.keys())):
            item = items[key]
            note = self.annotation(item, (name + _camel(key))[:MAX_NAME], place)
            told = self.refs.look(item)
            if key not in needed:
                note += ("" if note.endswith("None") else " | None") + f" = {_value(told.get('default'))}"
            found.append((key, note, text_field(told, "description")))
        return found

    def annotation(self, schema: Schema, name: str, place: Place) -> str:
        """The type of a property, adding a class named `name` where it is an object."""
        entered = self.refs.enter(schema, place)
        if entered is None:
            return "dict"
        schema, place = entered
        enum = schema.get("enum")
        if isinstance(enum, list) and enum:
            return f"Literal[{', '.join([_value(item) for item in enum])}]"
        union = as_schemas(first(schema, *_UNIONS))
        if union:
            return " | ".join(dict.fromkeys([self.annotation(item, name, place) for item in union]))
        kinds = schema.get("type")
        if isinstance(kinds, list):  # ["string", "number", "null"] shows as str | float
            shown = [kind for kind in kinds if type_name(kind) != "NULL"] or ["null"]
            return " | ".join(dict.fromkeys([self.plain({**schema, "type": kind}, name, place) for kind in shown]))
        return self.plain(schema, name, place)

    def plain(self, schema: Schema, name: str, place: Place) -> str:
        """The type of a schema with one type."""
        kind = type_name(schema.get("type"))
        items, extra = schema.get("items"), first(schema, "additionalProperties", "additional_properties")
        if kind == "ARRAY" and isinstance(items, Mapping) and items:
            return f"list[{self.annotation(items, name, place)}]"
        if kind == "OBJECT" and properties(schema):
            self.classes.append(_dataclass(schema, name, self.fields(schema, name, place)))
            return name
        if kind == "OBJECT" and isinstance(extra, Mapping) and extra:
            return f"dict[str, {self.annotation(extra, name, place)}]"
        return _TYPES.get(kind, "Any")


def _dataclass(schema: Schema, name: str, fields: list[tuple[str, str, str]]) -> str:
    return (
        f"@dataclasses.dataclass(kw_only=True)\nclass {name}:\n"
        f'  """{text_field(schema, "description")}\n\n  Attributes:\n{_docs(fields)}  """\n'
        + "".join([f"  {key}: {note}\n" for key, note, _ in fields])
    )


def _docs(fields: list[tuple[str, str, str]]) -> str:
    return "".join([f"    {key}: {_indent(text, '      ')}\n" for key, _, text in fields])


def _camel(name: str) -> str:
    return "".join([word[:1].upper() + word[1:] for word in _WORD_BREAK.split(name)])


def _indent(text: str, pad: str) -> str:
    """Every line but the first moved right; blank lines stay blank."""
    if "\n" not in text:
        return text
    head, *rest = text.split("\n")
    return "\n".join([head, *[pad + line if line.strip() else line for line in rest]])


# ---------------------------------------------------------------- values

_ESCAPES = {
    **{code: f"\\{code:03o}" for code in (*range(32), 127)},
    **{ord(char): "\\" + name for char, name in zip("\n\r\t\"'\\", "nrt\"'\\", strict=True)},
}
"""C escapes: both quotes, the backslash and control characters; other characters stay as they are."""


def _value(value: Json) -> str:
    """A JSON value as a Python literal with sorted keys."""
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, Mapping):
        return "{" + ", ".join([f"{_value(key)}: {_value(value[key])}" for key in sorted(value)]) + "}"
    if isinstance(value, list):
        return "[" + ", ".join([_value(item) for item in value]) + "]"
    return repr(value) if value is None or isinstance(value, bool) else number_text(value)
