"""Reading a JSON body safely: bounded depth, repaired surrogates, and an error for anything else."""

from __future__ import annotations

import json
import re
import sys

import pydantic_core

from service.errors import InvalidRequest
from service.types import Json, Warned

MAX_DEPTH = 100
"""Nesting allowed in a body. Providers' own limits are lower; deeper ones only hurt parsers."""

LARGE = 1 << 16


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
