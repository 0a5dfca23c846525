"""Reading the fields of a decoded body by type. Every error names the JSON path of its field."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

from service.errors import InvalidRequest
from service.types import Json

Object = Mapping[str, Json]
"""A decoded JSON object."""


def join(path: str, name: str) -> str:
    """The JSON path of the field `name` of the object at `path`."""
    return f"{path}.{name}" if path else name


def describe_type(value: Json) -> str:
    """The JSON type of a value, for messages."""
    if value is None:
        return "null"
    number = "a number"
    names = {bool: "a boolean", int: number, float: number, str: "a string", list: "an array", dict: "an object"}
    return names.get(type(value), type(value).__name__)


def wrong_type(path: str, wanted: str, value: Json) -> InvalidRequest:
    """The error for a value of the wrong JSON type. It does not repeat the value."""
    return InvalidRequest(f"{path or 'The body'} must be {wanted}, not {describe_type(value)}.", field=path or None)


def as_object(value: Json, path: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise wrong_type(path, "an object", value)
    return value


def as_text(value: Json, path: str) -> str:
    if not isinstance(value, str):
        raise wrong_type(path, "a string", value)
    return value


def optional_text(value: Json, path: str) -> str:
    """A string, or "" where it is null or absent."""
    return "" if value is None else as_text(value, path)


def as_list(value: Json, path: str) -> list[Json]:
    """A list. One object becomes a list of one, and null or absent an empty list."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list):
        raise wrong_type(path, "an array", value)
    return value


def each(value: Json, path: str) -> Iterator[tuple[Json, str]]:
    """The items of a list field (see `as_list`), each with its path."""
    for i, item in enumerate(as_list(value, path)):
        yield item, f"{path}[{i}]"


_BASE64_BLANKS = re.compile(r"[\r\n\t ]+")


def decode_base64(text: Json, path: str) -> bytes:
    """The bytes of base64 in the standard or the URL-safe alphabet, with or without padding and line breaks.

    Raises InvalidRequest naming `path` for anything else. The error does not repeat the data.
    """
    data = as_text(text, path)
    if not data.isascii():
        raise InvalidRequest(f"{path} is not base64: it has characters outside ASCII.", field=path)
    if "\n" in data or " " in data or "\r" in data or "\t" in data:
        data = _BASE64_BLANKS.sub("", data)
    if "-" in data or "_" in data:
        data = data.replace("-", "+").replace("_", "/")
    bare = data.rstrip("=")
    if len(data) - len(bare) > 2 or len(bare) % 4 == 1:
        raise InvalidRequest(f"{path} is not base64: its length is wrong.", field=path)
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRequest(f"{path} is not base64: it has characters outside the alphabet.", field=path) from None


def read_media_data(value: Json, path: str) -> dict[str, Any]:
    """Keyword arguments for `Media`: the `data` of base64 text, or the facts of a description.

    A caller who does not want to send the bytes (they may be private or large) sends a description in place of the
    base64 text: `{"_media": {"width", "height", "seconds", "page_sizes_pt", "pages", "text_chars"}}`. Raises
    InvalidRequest naming `path`.
    """
    if not isinstance(value, dict):
        return {"data": decode_base64(value, path)}
    path = f"{path}._media"
    facts = as_object(value.get("_media"), path)
    out: dict[str, Any] = {}
    if "width" in facts or "height" in facts:
        out["size"] = (
            round(_positive(facts.get("width"), f"{path}.width")),
            round(_positive(facts.get("height"), f"{path}.height")),
        )
    if "seconds" in facts:
        out["seconds"] = _positive(facts["seconds"], f"{path}.seconds")
    if "text_chars" in facts:
        out["text_chars"] = round(_positive(facts["text_chars"], f"{path}.text_chars"))
    sizes = []
    for pair, at in each(facts.get("page_sizes_pt"), f"{path}.page_sizes_pt"):
        numbers = as_list(pair, at)
        if len(numbers) != 2:
            raise InvalidRequest(f"{at} must be [width, height] in points.", field=at)
        sizes.append((_positive(numbers[0], f"{at}[0]"), _positive(numbers[1], f"{at}[1]")))
    if not sizes and "pages" in facts:
        letter = (612.0, 792.0)
        sizes = [letter] * min(round(_positive(facts["pages"], f"{path}.pages")), MAX_DESCRIBED_PAGES)
    if sizes:
        out["page_sizes"] = tuple(sizes)
    return out


MAX_DESCRIBED_PAGES = 10_000


def _positive(value: Json, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1e9:
        raise wrong_type(path, "a number from 0 to 1e9", value)
    return float(value)


def split_data_url(url: str) -> tuple[str, str] | None:
    """The MIME type and the base64 text of a `data:` URL. None for any other URL."""
    if url[:5].lower() != "data:":
        return None
    head, comma, data = url[5:].partition(",")
    if not comma:
        return None
    return head.split(";", 1)[0].strip().lower(), data


