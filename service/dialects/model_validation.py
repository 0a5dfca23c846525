"""Validating a JSON body with a pydantic model: one error that names the field and never repeats what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from service.dialects.fields import wrong_type
from service.errors import InvalidRequest
from service.types import Json

MAX_NAME = 64
"""Characters of one field name in an error. The names of unknown fields come from the caller and can be long."""

RULES: Mapping[str, str] = {
    "missing": "is needed",
    "extra_forbidden": "is not a field of this request",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must be not empty",
    "too_long": "must be at most {max_length} long",
    "string_too_long": "must be at most {max_length} characters",
}
"""Pydantic's error type -> what the message says of the field."""

TYPES: Mapping[str, str] = {
    "string_type": "a string",
    "list_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
}
"""Pydantic's error type -> the JSON type that the message asks for."""

UNION_MEMBERS = frozenset({"str", "int", "float"})
"""Pydantic names the member of a union that failed as a step after the field. It is no part of the JSON path."""


def validate_model[M: BaseModel](model: type[M], value: Json, path: str = "") -> M:
    """`value` as an instance of `model`; `path` is the JSON path at which it stands in the body.

    Raises InvalidRequest for the first error. It names the field by its JSON path and never repeats what was sent.
    """
    if not isinstance(value, dict):
        raise wrong_type(path, "an object", value)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise to_invalid_request(cast(dict[str, Any], error.errors(include_url=False)[0]), path) from None


def to_invalid_request(error: Mapping[str, Any], path: str) -> InvalidRequest:
    where = _join_path(path, error["loc"])
    rule = RULES.get(error["type"])
    if rule is not None:
        return InvalidRequest(f"{where} {rule.format_map(error.get('ctx', {}))}.", field=where)
    return wrong_type(where, TYPES.get(error["type"], "of another type"), error["input"])


def _join_path(path: str, location: tuple[int | str, ...]) -> str:
    for depth, step in enumerate(location):
        if isinstance(step, int):
            path += f"[{step}]"
        elif depth and step in UNION_MEMBERS:
            break
        else:
            path += f".{step[:MAX_NAME]}" if path else step[:MAX_NAME]
    return path
