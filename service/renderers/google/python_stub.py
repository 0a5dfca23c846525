"""Style "python": tools as Python function definitions, calls as `print(...)`. The Gemini API, 2.5.

Found on 97 requests with tools (all exact but one, which holds a video) and 53 with calls in the history. The layout is
that of published prompts of two coding agents. These also show what no request had: enums, the order of properties, and
property descriptions of several lines. Unions with null, and booleans in calls, are guesses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from service.families.google import GoogleRules
from service.renderers.google.schema import (
    Fragment,
    Place,
    ReferenceLimit,
    Schema,
    SchemaReferences,
    find_first,
    format_number,
    get_properties,
    get_required,
    get_text,
    list_schemas,
    parse_type,
)
from service.types import Json, Tool

_TYPES = {
    "STRING": "str", "INTEGER": "int", "NUMBER": "float", "BOOLEAN": "bool",
    "OBJECT": "dict", "ARRAY": "list", "NULL": "None",
}
_WORD_BREAK = re.compile(r"[_\W]+")
_UNIONS = ("anyOf", "any_of", "oneOf", "one_of")


MAX_NAME = 1_000
"""Characters of a class name. It is made of all the names above it, so that without a limit the text would grow with
the square of the body."""


def render_tool(tool: Tool, rules: GoogleRules, limit: ReferenceLimit) -> Fragment:
    """The stub of one tool, after dataclasses for its nested objects. Each tool is a text of its own (29 of 29)."""
    return Fragment((_Stub(tool, limit).text(),))


def render_call(name: str, arguments: Json) -> Fragment:
    """A call the model made."""
    given = arguments if isinstance(arguments, Mapping) else {}
    return Fragment((f"print(default_api.{name}({', '.join([f'{k} = {_value(given[k])}' for k in sorted(given)])}))",))


def render_result(name: str, value: Json) -> Fragment:
    """What a function answered."""
    return Fragment((_value({f"{name}_response": value}),))


# ---------------------------------------------------------------- the stub


class _Stub:
    """Writes one function as a Python stub. `classes` are the dataclasses of its nested objects, inner before outer."""

    def __init__(self, tool: Tool, limit: ReferenceLimit) -> None:
        self.tool = tool
        self.refs = SchemaReferences(tool.parameters or {}, limit)
        self.classes: list[str] = []

    def text(self) -> str:
        tool = self.tool
        entered = self.refs.resolve(self.refs.root, Place())
        fields = self.fields(entered[0], _camel(tool.name), entered[1]) if entered else []
        head = f"def {tool.name}(\n" + "".join([f"    {key}: {note},\n" for key, note, _ in fields])
        returned = "dict"
        if tool.response:
            self.refs = SchemaReferences(tool.response, self.refs.limit)
            returned = self.annotation(tool.response, _camel(tool.name) + "Response", Place())
        doc = f'  """{_indent(tool.description, "  ")}\n\n  Args:\n{_docs(fields)}  """\n'
        return "\n\n".join([*self.classes, f"{head}) -> {returned}:\n{doc}"])

    def fields(self, schema: Schema, name: str, place: Place) -> list[tuple[str, str, str]]:
        """Name, annotation with default, and description of each property.

        The required properties come first, in the order of their list. The others follow in alphabetical order.
        """
        items, found = get_properties(schema), []
        needed = dict.fromkeys([key for key in get_required(schema) if key in items])
        for key in (*needed, *sorted(items.keys() - needed.keys())):
            item = items[key]
            note = self.annotation(item, (name + _camel(key))[:MAX_NAME], place)
            told = self.refs.merge_reference(item)
            if key not in needed:
                note += ("" if note.endswith("None") else " | None") + f" = {_value(told.get('default'))}"
            found.append((key, note, get_text(told, "description")))
        return found

    def annotation(self, schema: Schema, name: str, place: Place) -> str:
        """The type of a property. Adds a class called `name` where the type is an object with properties."""
        entered = self.refs.resolve(schema, place)
        if entered is None:
            return "dict"
        schema, place = entered
        enum = schema.get("enum")
        if isinstance(enum, list) and enum:
            return f"Literal[{', '.join([_value(item) for item in enum])}]"
        union = list_schemas(find_first(schema, *_UNIONS))
        if union:
            return " | ".join(dict.fromkeys([self.annotation(item, name, place) for item in union]))
        kinds = schema.get("type")
        if isinstance(kinds, list):  # ["string", "number", "null"] becomes str | float
            shown = [kind for kind in kinds if parse_type(kind) != "NULL"] or ["null"]
            return " | ".join(dict.fromkeys([self.plain({**schema, "type": kind}, name, place) for kind in shown]))
        return self.plain(schema, name, place)

    def plain(self, schema: Schema, name: str, place: Place) -> str:
        """The type of a schema with one type."""
        kind = parse_type(schema.get("type"))
        items, extra = schema.get("items"), find_first(schema, "additionalProperties", "additional_properties")
        if kind == "ARRAY" and isinstance(items, Mapping) and items:
            return f"list[{self.annotation(items, name, place)}]"
        if kind == "OBJECT" and get_properties(schema):
            self.classes.append(_dataclass(schema, name, self.fields(schema, name, place)))
            return name
        if kind == "OBJECT" and isinstance(extra, Mapping) and extra:
            return f"dict[str, {self.annotation(extra, name, place)}]"
        return _TYPES.get(kind, "Any")


def _dataclass(schema: Schema, name: str, fields: list[tuple[str, str, str]]) -> str:
    return (
        f"@dataclasses.dataclass(kw_only=True)\nclass {name}:\n"
        f'  """{get_text(schema, "description")}\n\n  Attributes:\n{_docs(fields)}  """\n'
        + "".join([f"  {key}: {note}\n" for key, note, _ in fields])
    )


def _docs(fields: list[tuple[str, str, str]]) -> str:
    return "".join([f"    {key}: {_indent(text, '      ')}\n" for key, _, text in fields])


def _camel(name: str) -> str:
    return "".join([word[:1].upper() + word[1:] for word in _WORD_BREAK.split(name)])


def _indent(text: str, pad: str) -> str:
    """`text` with each line but the first indented by `pad`. Blank lines stay blank."""
    if "\n" not in text:
        return text
    head, *rest = text.split("\n")
    return "\n".join([head, *[pad + line if line.strip() else line for line in rest]])


# ---------------------------------------------------------------- values

_ESCAPES = {
    **{code: f"\\{code:03o}" for code in (*range(32), 127)},
    **{ord(char): "\\" + name for char, name in zip("\n\r\t\"'\\", "nrt\"'\\", strict=True)},
}
"""C escapes for both quotes, the backslash and control characters. Other characters stay as they are."""


def _value(value: Json) -> str:
    """A JSON value as a Python literal with sorted keys."""
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, Mapping):
        return "{" + ", ".join([f"{_value(key)}: {_value(value[key])}" for key in sorted(value)]) + "}"
    if isinstance(value, list):
        return "[" + ", ".join([_value(item) for item in value]) + "]"
    return repr(value) if value is None or isinstance(value, bool) else format_number(value)
