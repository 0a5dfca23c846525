"""Reading single fields of Google requests. Their names may be in camelCase or snake_case, their enums may be numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from service.dialects.fields import join, wrong_type
from service.errors import InvalidRequest
from service.types import Json

_CAPITAL = re.compile(r"[A-Z]")
_UNDERLINE = re.compile(r"_([a-z0-9])")


@lru_cache(256)
def to_snake_case(name: str) -> str:
    """`fileUri` -> `file_uri`."""
    return _CAPITAL.sub(lambda found: "_" + found.group().lower(), name)


def to_camel_case(name: str) -> str:
    """`file_uri` -> `fileUri`. A name in camelCase stays as it is."""
    return _UNDERLINE.sub(lambda found: found.group(1).upper(), name)


def find_field(body: Mapping[str, Json], path: str, name: str) -> tuple[Json, str]:
    """The value of a field and its path, by its name in either spelling. (None, path) where it is absent or null."""
    if body.get(name) is not None:
        return body[name], join(path, name)
    other = to_snake_case(name)
    return body.get(other), join(path, other if other in body else name)


def as_enum_name(value: Json, names: tuple[str, ...], path: str) -> str:
    """The name of an enum value, which is given by its name in any case or by its number.

    "" for null, and for a number beyond `names`.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value.upper()
    if isinstance(value, int) and not isinstance(value, bool):
        return names[value] if 0 <= value < len(names) else ""
    raise wrong_type(path, "a string", value)


def as_number(value: Json, path: str) -> float | None:
    """A number from 0 to 1e9, or None for null. Raises InvalidRequest naming `path`."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1e9:
        raise wrong_type(path, "a number from 0 to 1e9", value)
    return float(value)


_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s?")


def as_seconds(value: Json, path: str) -> float | None:
    """Seconds of a Duration: `"1.5s"`, a number, or `{"seconds": 1, "nanos": 500000000}`. None for null."""
    if isinstance(value, str):
        found = _DURATION.fullmatch(value.strip())
        if not found:
            raise InvalidRequest(f"{path} must be a duration in seconds, such as 1.5s.", field=path)
        return float(found[1])
    if isinstance(value, dict):
        whole = as_number(value.get("seconds"), join(path, "seconds"))
        return (whole or 0.0) + (as_number(value.get("nanos"), join(path, "nanos")) or 0.0) / 1e9
    return as_number(value, path)
