"""What was seen of each key of an answer: whether it was ever absent, null, or there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, RootModel

from service.types import Json

Sight = Literal["absent", "null", "there"]

Seen = Mapping[tuple[type[BaseModel], str], set[Sight]]


def look(value: Any, raw: Json, seen: dict[tuple[type[BaseModel], str], set[Sight]]) -> None:
    """Note what `raw` has of the models that it was validated as, in `value`; and check the order of its keys."""
    if isinstance(value, RootModel):
        look(value.root, raw, seen)
    elif isinstance(value, BaseModel):
        fields = type(value).model_fields
        keys = {name: field.serialization_alias or field.alias or name for name, field in fields.items()}
        known = [key for key in raw if key in keys.values()]
        assert known == [key for key in keys.values() if key in raw], f"{type(value).__name__}: order of keys"
        for name, key in keys.items():
            seen[type(value), key].add("absent" if key not in raw else "null" if raw[key] is None else "there")
            if raw.get(key) is not None:
                look(getattr(value, name), raw[key], seen)
    elif isinstance(value, dict):
        for key, item in value.items():
            look(item, raw[key], seen)
    elif isinstance(value, list):
        for item, part in zip(value, raw, strict=True):
            look(item, part, seen)


def new() -> dict[tuple[type[BaseModel], str], set[Sight]]:
    return defaultdict(set)


def differences(seen: Seen) -> list[str]:
    """Where a schema says more, or less, than was seen."""
    found: list[str] = []
    for (model, key), sights in seen.items():
        schema = model.model_json_schema(by_alias=True, mode="serialization")
        declared = schema["properties"][key]
        always_null = declared.get("type") == "null"
        nullable = always_null or {"type": "null"} in declared.get("anyOf", ())
        required = key in schema.get("required", ())
        place = f"{model.__name__}.{key}"
        if "null" in sights and not nullable:
            found.append(f"{place} is not nullable, and was null")
        if nullable and "null" not in sights:
            found.append(f"{place} is nullable, and was never null")
        if "absent" in sights and required:
            found.append(f"{place} is required, and was absent")
        if not required and "absent" not in sights:
            found.append(f"{place} is not required, and was never absent")
        if "there" not in sights and not always_null:
            found.append(f"{place} was never there")
    return sorted(found)
