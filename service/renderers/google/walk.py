"""Tools as the strings they hold, each encoded alone: Vertex AI up to 3, the Gemini API up to 2.0.

The rule of Google's own local tokenizer with what recorded requests correct: a `type` and a number cost 1, a string
default counts, and a JSON schema of a tool is free (24 requests each for the first and the last).
"""

from __future__ import annotations

from collections.abc import Mapping

from service.families.google import GoogleRules
from service.renderers.google.schema import Allowance, Drawn, Schema, as_schemas, first, properties, required
from service.types import Json, Tool


class _Strings:
    """What a walk has found so far."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.fixed = self.doubtful = 0

    def drawn(self) -> Drawn:
        return Drawn(tuple(self.texts), self.fixed, self.doubtful)

    def value(self, value: Json) -> None:
        """Keys and strings as text; a number is one token, a boolean too (unmeasured: it may be free)."""
        if isinstance(value, str):
            self.texts.append(value)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                self.texts.append(key)
                self.value(item)
        elif isinstance(value, list):
            for item in value:
                self.value(item)
        elif value is not None:
            self.fixed += 1
            self.doubtful += isinstance(value, bool)

    def schema(self, schema: Schema, type_tokens: int, *, ordering: bool = False) -> None:
        """A Schema message; `ordering` is billed in response schemas only."""
        if schema.get("type"):
            self.fixed += type_tokens
        for key in ("format", "description", "default", "example"):
            if isinstance(schema.get(key), str):
                self.texts.append(schema[key])
        enum = schema.get("enum")
        self.texts += [str(item) for item in enum] if isinstance(enum, list) else []
        self.texts += required(schema)
        if ordering:
            names = first(schema, "propertyOrdering", "property_ordering")
            self.texts += [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
        items = schema.get("items")
        if isinstance(items, Mapping):
            self.schema(items, type_tokens, ordering=ordering)
        for option in as_schemas(first(schema, "anyOf", "any_of")):
            self.schema(option, type_tokens, ordering=ordering)
        for name, item in properties(schema).items():
            self.texts.append(name)
            self.schema(item, type_tokens, ordering=ordering)


def tool(tool: Tool, rules: GoogleRules, allowance: Allowance) -> Drawn:
    """Name, description and the strings of the parameters (free as a JSON schema). No reference is followed."""
    strings = _Strings(tool.name, tool.description)
    if tool.schema_form == "google":
        strings.schema(tool.parameters or {}, rules.type_tokens)
        strings.schema(tool.response or {}, rules.type_tokens)
    return strings.drawn()


def call(name: str, arguments: Json) -> Drawn:
    """A call the model made."""
    strings = _Strings(name)
    strings.value(arguments if isinstance(arguments, Mapping) else {})
    return strings.drawn()


def result(name: str, value: Json) -> Drawn:
    """What a function answered."""
    strings = _Strings(name)
    strings.value(value)
    return strings.drawn()


def response_schema(schema: Json, rules: GoogleRules) -> Drawn:
    """A response schema (a Schema message; 41 tokens of 41 once, 3 of 3 once)."""
    strings = _Strings()
    if isinstance(schema, Mapping):
        strings.schema(schema, rules.type_tokens, ordering=True)
    return strings.drawn()
