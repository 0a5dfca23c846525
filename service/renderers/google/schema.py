"""What all styles of Gemini share: reading schemas of both forms, and following their references up to a limit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from service.types import Json

Schema = Mapping[str, Json]

MAX_RECURSION = 5
"""A schema that refers to itself is written out this many times. Measured on one tool of 2.5-flash; 4 and 6 are wrong.
"""

MAX_LEVELS = 100
"""Levels of a schema with its references written out. A body without references has no more levels."""

MAX_WRITTEN_OUT = 300_000
"""Characters that references may add to one prompt. References to references can grow without bound, and a body of a
few KB must not cost seconds of work. The largest recorded schema has 2,400 characters in all."""


class Fragment(NamedTuple):
    """A piece of a prompt: texts, each tokenized alone, and `fixed` tokens. `doubtful` of the fixed tokens may be free.
    """

    texts: tuple[str, ...]
    fixed: int = 0
    doubtful: int = 0


def find_first(value: Json, *names: str) -> Json:
    """The first field of `names` that the object has and that is not null, or None."""
    if isinstance(value, Mapping):
        for name in names:
            if value.get(name) is not None:
                return value[name]
    return None


def list_schemas(value: Json) -> list[Schema]:
    """The objects in a list. Anything else is left out."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def get_properties(schema: Schema) -> dict[str, Schema]:
    """Properties by name. A property that is no object (`true`) becomes an empty schema."""
    value = schema.get("properties")
    if not isinstance(value, Mapping):
        return {}
    return {name: item if isinstance(item, Mapping) else {} for name, item in value.items()}


def get_required(schema: Schema) -> list[str]:
    """Names of the required properties, in the order of the list."""
    value = schema.get("required")
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def get_text(schema: Schema, name: str) -> str:
    """The string in a field, or "" where it holds no string."""
    value = schema.get(name)
    return value if isinstance(value, str) else ""


_TYPES = {1: "STRING", 2: "NUMBER", 3: "INTEGER", 4: "BOOLEAN", 5: "ARRAY", 6: "OBJECT", 7: "NULL"}


def parse_type(value: Json) -> str:
    """A type in capitals, from a name in any case or from the number of Google's enum. "" for anything else."""
    if isinstance(value, str):
        return value.upper()
    return _TYPES.get(value, "") if isinstance(value, int) and not isinstance(value, bool) else ""


def format_number(value: float | bool | None) -> str:
    """A number, boolean or null as JSON. 2.0 becomes 2, as the API sends it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return json.dumps(value)


# ---------------------------------------------------------------- references


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a schema: the references that are being followed, and the number of levels above."""

    open_refs: tuple[str, ...] = ()
    level: int = 0


@dataclass(slots=True)
class ReferenceLimit:
    """Characters that references may still add to a prompt. `exceeded` says that one was left out for the limit."""

    left: int = MAX_WRITTEN_OUT
    exceeded: bool = False


@dataclass(slots=True)
class SchemaReferences:
    """Follows the references of one schema, within the limit of the prompt."""

    root: Schema
    limit: ReferenceLimit
    sizes: dict[str, int] = field(default_factory=dict)

    def resolve(self, schema: Schema, place: Place) -> tuple[Schema, Place] | None:
        """The schema with its reference resolved, and the place inside it. None where it is written out no further."""
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
        self.limit.left -= self.sizes[ref]
        if self.limit.left < 0:
            self.limit.exceeded = True
            return None
        return self.resolve(self.merge_reference(schema), Place((*place.open_refs, ref), place.level))

    def merge_reference(self, schema: Schema) -> Schema:
        """The schema with its reference resolved. Its own members win over those of what it refers to."""
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return schema
        return {**self._target(ref), **{key: value for key, value in schema.items() if key != "$ref"}}

    def _target(self, ref: str) -> Schema:
        if ref == "#":
            return self.root
        name = ref.rsplit("/", 1)[-1]
        for key in ("$defs", "definitions"):
            found = find_first(self.root.get(key), name)
            if isinstance(found, Mapping):
                return found
        return {}


def _size(value: Json) -> int:
    """About how many characters `value` has as JSON."""
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
