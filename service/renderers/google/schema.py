"""What every Gemini template shares: reading schemas of both forms and following their references, within bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from service.types import Json

Schema = Mapping[str, Json]

MAX_RECURSION = 5
"""A schema that refers to itself is written out this many times (one tool of 2.5-flash: 4 and 6 are both off)."""

MAX_LEVELS = 100
"""Levels of a schema with its references written out; a body has no more levels by itself."""

MAX_WRITTEN_OUT = 300_000
"""Characters that references may add to one prompt: references to references grow without bound, and a body of a few
KB must not buy seconds of work. The largest recorded one makes 2,400 in all."""


class Drawn(NamedTuple):
    """A piece of a prompt: texts, each encoded alone, and `fixed` tokens; `doubtful` of those may be free."""

    texts: tuple[str, ...]
    fixed: int = 0
    doubtful: int = 0


def first(value: Json, *names: str) -> Json:
    """The first field of an object that is there and not null, under any of its names; else None."""
    if isinstance(value, Mapping):
        for name in names:
            if value.get(name) is not None:
                return value[name]
    return None


def as_schemas(value: Json) -> list[Schema]:
    """The objects of a list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def properties(schema: Schema) -> dict[str, Schema]:
    """Properties by name; one that is no object (`true`) is an empty schema."""
    value = schema.get("properties")
    if not isinstance(value, Mapping):
        return {}
    return {name: item if isinstance(item, Mapping) else {} for name, item in value.items()}


def required(schema: Schema) -> list[str]:
    """Names of the required properties, as listed."""
    value = schema.get("required")
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def text_field(schema: Schema, name: str) -> str:
    """A string member, "" if it is none."""
    value = schema.get(name)
    return value if isinstance(value, str) else ""


_TYPES = {1: "STRING", 2: "NUMBER", 3: "INTEGER", 4: "BOOLEAN", 5: "ARRAY", 6: "OBJECT", 7: "NULL"}


def type_name(value: Json) -> str:
    """A type in capitals: from a name in any case or from the number of the wire's enum; "" for anything else."""
    if isinstance(value, str):
        return value.upper()
    return _TYPES.get(value, "") if isinstance(value, int) and not isinstance(value, bool) else ""


def number_text(value: float | bool | None) -> str:
    """A number, boolean or null as JSON has it; 2.0 travels as 2."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return json.dumps(value)


# ---------------------------------------------------------------- references


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a schema: the references that are open, and the levels above."""

    open_refs: tuple[str, ...] = ()
    level: int = 0


@dataclass(slots=True)
class Allowance:
    """Characters that references may still add to a prompt; `cut` says that one was not written out for lack of it."""

    left: int = MAX_WRITTEN_OUT
    cut: bool = False


@dataclass(slots=True)
class References:
    """The definitions of one schema, written out at the cost of the prompt's allowance."""

    root: Schema
    allowance: Allowance
    sizes: dict[str, int] = field(default_factory=dict)

    def enter(self, schema: Schema, place: Place) -> tuple[Schema, Place] | None:
        """The schema with its reference resolved and the place inside it; None where it is written out no further."""
        place = Place(place.open_refs, place.level + 1)
        if place.level > MAX_LEVELS:
            return None
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return schema, place
        if place.open_refs.count(ref) >= MAX_RECURSION:
            return None
        if ref not in self.sizes:
            self.sizes[ref] = _size(self._target(ref))
        self.allowance.left -= self.sizes[ref]
        if self.allowance.left < 0:
            self.allowance.cut = True
            return None
        return self.enter(self.look(schema), Place((*place.open_refs, ref), place.level))

    def look(self, schema: Schema) -> Schema:
        """The schema with its own members laid over those of what it refers to."""
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return schema
        return {**self._target(ref), **{key: value for key, value in schema.items() if key != "$ref"}}

    def _target(self, ref: str) -> Schema:
        if ref == "#":
            return self.root
        name = ref.rsplit("/", 1)[-1]
        for key in ("$defs", "definitions"):
            found = first(self.root.get(key), name)
            if isinstance(found, Mapping):
                return found
        return {}


def _size(value: Json) -> int:
    """About the characters of `value` as JSON."""
    level, size = [value], 0
    while level:
        size += sum([len(node) if isinstance(node, str) else 4 for node in level])
        level = [
            child
            for node in level
            if isinstance(node, (Mapping, list))
            for child in ((*node.keys(), *node.values()) if isinstance(node, Mapping) else node)
        ]
    return size
