"""Style "strings": tools as the strings they hold, each tokenized alone. Vertex AI up to 3, the Gemini API up to 2.0.

It is the rule of Google's own local tokenizer, corrected by recorded requests: a `type` and a number cost 1 token, a
default that is a string counts, and a JSON schema of a tool is free (24 requests each for the first and the last).
"""

from __future__ import annotations

from collections.abc import Mapping

from service.families.google import GoogleRules
from service.renderers.google.schema import (
    Fragment,
    ReferenceLimit,
    Schema,
    find_first,
    get_properties,
    get_required,
    list_schemas,
)
from service.types import Json, Tool


class _StringCollector:
    """Collects the strings of a tool, a call or a result."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.fixed = self.doubtful = 0

    def to_fragment(self) -> Fragment:
        return Fragment(tuple(self.texts), self.fixed, self.doubtful)

    def value(self, value: Json) -> None:
        """Add the keys and strings of a JSON value. A number is one token, and so is a boolean (unmeasured: it may be
        free)."""
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
        """Add a Schema message. Its property ordering is billed in response schemas only (`ordering`)."""
        if schema.get("type"):
            self.fixed += type_tokens
        for key in ("format", "description", "default", "example"):
            if isinstance(schema.get(key), str):
                self.texts.append(schema[key])
        enum = schema.get("enum")
        self.texts += [str(item) for item in enum] if isinstance(enum, list) else []
        self.texts += get_required(schema)
        if ordering:
            names = find_first(schema, "propertyOrdering", "property_ordering")
            self.texts += [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
        items = schema.get("items")
        if isinstance(items, Mapping):
            self.schema(items, type_tokens, ordering=ordering)
        for option in list_schemas(find_first(schema, "anyOf", "any_of")):
            self.schema(option, type_tokens, ordering=ordering)
        for name, item in get_properties(schema).items():
            self.texts.append(name)
            self.schema(item, type_tokens, ordering=ordering)


def render_tool(tool: Tool, rules: GoogleRules, limit: ReferenceLimit) -> Fragment:
    """Name, description and the strings of the parameters, which are free as a JSON schema. No reference is followed.
    """
    strings = _StringCollector(tool.name, tool.description)
    if tool.schema_form == "google":
        strings.schema(tool.parameters or {}, rules.type_tokens)
        strings.schema(tool.response or {}, rules.type_tokens)
    return strings.to_fragment()


def render_call(name: str, arguments: Json) -> Fragment:
    """A call the model made."""
    strings = _StringCollector(name)
    strings.value(arguments if isinstance(arguments, Mapping) else {})
    return strings.to_fragment()


def render_result(name: str, value: Json) -> Fragment:
    """What a function answered."""
    strings = _StringCollector(name)
    strings.value(value)
    return strings.to_fragment()


def render_response_schema(schema: Json, rules: GoogleRules) -> Fragment:
    """A response schema that is a Schema message (2 recorded requests, both exact: 41 and 3 tokens)."""
    strings = _StringCollector()
    if isinstance(schema, Mapping):
        strings.schema(schema, rules.type_tokens, ordering=True)
    return strings.to_fragment()
