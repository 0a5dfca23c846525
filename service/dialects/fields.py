"""What every wire format shares: reading JSON safely, naming the culprit of an error, and the rows that make routes."""

from __future__ import annotations

import base64
import binascii
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pydantic_core

from service.errors import InvalidRequest, ServiceError
from service.types import CountRequest, Json, TokenCount, Warned

MAX_DEPTH = 100
"""Nesting allowed in a body. Providers' own limits are lower; deeper ones only hurt parsers."""


LARGE = 1 << 16

# ---------------------------------------------------------------- bytes -> JSON


def read_json(body: bytes) -> tuple[Json, tuple[Warned, ...]]:
    """The decoded body and what was repaired in it.

    Parsed once by pydantic-core; only when that refuses (lone surrogates, a BOM) once more by the standard library,
    lone surrogates then becoming U+FFFD with a warning. Raises InvalidRequest for anything that is not JSON or is
    nested deeper than MAX_DEPTH.
    """
    try:
        value = pydantic_core.from_json(body, allow_inf_nan=False)
    except ValueError:
        return _read_json_again(body)
    # What opens few cannot be nested deeply; in a large body looking for them takes longer than going through it.
    if len(body) > LARGE or body.count(b"{") + body.count(b"[") > MAX_DEPTH:
        check_depth(value)
    return value, ()


def _read_json_again(body: bytes) -> tuple[Json, tuple[Warned, ...]]:
    warnings: list[Warned] = []
    if body.startswith(b"\xef\xbb\xbf"):
        body = body[3:]
        warnings.append(Warned("bom_removed"))
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"The body is not UTF-8: byte {error.start} cannot be decoded.") from None
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise InvalidRequest(f"The body is nested too deeply: at most {MAX_DEPTH} levels are accepted.") from None
    except json.JSONDecodeError as error:
        raise InvalidRequest(
            f"The body is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}."
        ) from None
    except ValueError:  # of int(): Python bounds the digits it reads, since the time grows with their square
        most = sys.get_int_max_str_digits()
        raise InvalidRequest(f"A number in the body is too long: at most {most} digits.") from None
    check_depth(value)
    return _repair(value, "", warnings), tuple(warnings)


def _refuse_constant(name: str) -> Json:
    raise InvalidRequest(f"The body is not valid JSON: {name} is not a JSON number.")


def check_depth(value: Json, levels: int = MAX_DEPTH) -> None:
    """Raise InvalidRequest where `value` is nested deeper. No recursion, so it cannot overflow."""
    level: list[Json] = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return
    raise InvalidRequest(f"The body is nested too deeply: at most {MAX_DEPTH} levels are accepted.")


_SURROGATE = re.compile("[\ud800-\udfff]")


def repair_text(text: str) -> tuple[str, bool]:
    """`text` with surrogate pairs joined and lone surrogates as U+FFFD, and whether any was alone."""
    if not _SURROGATE.search(text):
        return text, False
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined, joined.count("\ufffd") > text.count("\ufffd")


def _repair(value: Json, path: str, warnings: list[Warned]) -> Json:
    if isinstance(value, str):
        text, lone = repair_text(value)
        if lone:
            warnings.append(Warned("lone_surrogate_replaced", path))
        return text
    if isinstance(value, list):
        return [_repair(item, f"{path}[{i}]", warnings) for i, item in enumerate(value)]
    if isinstance(value, dict):
        return {
            _repair(key, path, warnings): _repair(item, f"{path}.{key}" if path else key, warnings)
            for key, item in value.items()
        }
    return value


# ---------------------------------------------------------------- JSON -> fields, with the path in every error


def kind_of(value: Json) -> str:
    """The JSON type of a value, for messages."""
    if value is None:
        return "null"
    number = "a number"
    names = {bool: "a boolean", int: number, float: number, str: "a string", list: "an array", dict: "an object"}
    return names.get(type(value), type(value).__name__)


def wrong_type(path: str, wanted: str, value: Json) -> InvalidRequest:
    """The error for a value of the wrong JSON type; it never repeats the value."""
    return InvalidRequest(f"{path or 'The body'} must be {wanted}, not {kind_of(value)}.", field=path or None)


def as_object(value: Json, path: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise wrong_type(path, "an object", value)
    return value


def as_text(value: Json, path: str) -> str:
    if not isinstance(value, str):
        raise wrong_type(path, "a string", value)
    return value


def optional_text(value: Json, path: str) -> str:
    """"" for null or absent."""
    return "" if value is None else as_text(value, path)


def as_list(value: Json, path: str) -> list[Json]:
    """The list; one object where a list is usual is a list of one; null and absent are empty."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list):
        raise wrong_type(path, "an array", value)
    return value


def each(value: Json, path: str) -> Iterator[tuple[Json, str]]:
    """The items of a list field with the path of each."""
    for i, item in enumerate(as_list(value, path)):
        yield item, f"{path}[{i}]"


_BASE64_BLANKS = re.compile(r"[\r\n\t ]+")


def decode_base64(text: Json, path: str) -> bytes:
    """Bytes of base64 in the standard or URL-safe alphabet, padded or not, line breaks allowed.

    Raises InvalidRequest naming `path` for anything else; the data is never repeated.
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
    """Keyword arguments for `Media`: `data` from base64, or the facts of a description.

    A caller who keeps the bytes (they may be private, or large) writes `{"_media": {"width", "height", "seconds",
    "page_sizes_pt", "pages", "text_chars"}}` in place of the base64 text. Raises InvalidRequest naming `path`.
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
    """(mime, base64 text) of a `data:` URL, None for any other URL."""
    if url[:5].lower() != "data:":
        return None
    head, comma, data = url[5:].partition(",")
    if not comma:
        return None
    return head.split(";", 1)[0].strip().lower(), data


# ---------------------------------------------------------------- rows that make routes


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's count endpoint that we speak.

    `paths` are FastAPI paths. `read(body, params)` gives the CountRequest (params: path parameters by name) or raises
    ServiceError; `answer(count)` is the provider's own response body. `example` is (request, response) for OpenAPI;
    `request_schema` and `response_schema` are JSON schemas for the same.

    `reply(request, count)` takes the place of `answer` where the answer needs the request too (the ids of its text).
    `direct(body)` answers a route that counts nothing; `read` and `answer` are not asked then.
    """

    name: str
    paths: tuple[str, ...]
    summary: str
    read: Callable[[Json, Mapping[str, str]], CountRequest]
    answer: Callable[[TokenCount], Json]
    example: tuple[Json, Json]
    request_schema: Mapping[str, Any]
    response_schema: Mapping[str, Any]
    wire: str
    reply: Callable[[CountRequest, TokenCount], Json] | None = None
    direct: Callable[[Json], Json] | None = None


@dataclass(frozen=True, slots=True)
class Wire:
    """How a provider words an error: `error(error, request_id)` -> (HTTP status, body).

    `error_schema` is the JSON schema of that body, `busy` the statuses of a service that cannot answer now.
    """

    name: str
    error: Callable[[ServiceError, str], tuple[int, Json]]
    error_schema: Mapping[str, Any]
    busy: tuple[int, ...] = (503,)


# ---------------------------------------------------------------- JSON schemas that describe bodies


def schema_object(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The JSON schema of an object with these members."""
    return {"type": "object", "required": [*required], "properties": {**required, **(optional or {})}}


def any_of(*schemas: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [*schemas]}


NULL: Mapping[str, Any] = {"type": "null"}
STRING: Mapping[str, Any] = {"type": "string"}
OBJECT: Mapping[str, Any] = {"type": "object"}
OBJECTS: Mapping[str, Any] = any_of({"type": "array", "items": OBJECT}, OBJECT, NULL)
"""A list of objects, one object that stands for a list of one, or nothing: what `each` takes."""
