"""Reading a JSON body safely: bounded depth, repaired surrogates, and an error for anything else."""

from __future__ import annotations

import json
import re
import sys

import pydantic_core

from service.errors import InvalidRequest
from service.types import Json, Warned

MAX_DEPTH = 100
"""Levels of nesting allowed in a body. The limits of the providers are lower."""

LARGE = 1 << 16
"""Bytes. In a larger body counting brackets takes longer than checking the depth of the value."""


def read_json(body: bytes) -> tuple[Json, tuple[Warned, ...]]:
    """The decoded body, and warnings for what was repaired in it.

    The body is parsed by pydantic-core. Where that refuses it (lone surrogates, a BOM) it is parsed once more by the
    standard library, and each lone surrogate becomes U+FFFD with a warning. Raises InvalidRequest for anything that is
    not JSON, and for a body that is nested deeper than MAX_DEPTH.
    """
    try:
        value = pydantic_core.from_json(body, allow_inf_nan=False)
    except ValueError:
        return _read_json_again(body)
    # A body with few opening brackets cannot be nested deeply.
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
    except ValueError:  # from int(): Python limits the digits of a number, since the time grows with their square
        most = sys.get_int_max_str_digits()
        raise InvalidRequest(f"A number in the body is too long: at most {most} digits.") from None
    check_depth(value)
    return _repair(value, "", warnings), tuple(warnings)


def _refuse_constant(name: str) -> Json:
    raise InvalidRequest(f"The body is not valid JSON: {name} is not a JSON number.")


def check_depth(value: Json, levels: int = MAX_DEPTH) -> None:
    """Raise InvalidRequest where `value` has more levels. There is no recursion that could overflow the stack."""
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
    """`text` with surrogate pairs joined and lone surrogates replaced by U+FFFD, and whether any was replaced."""
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
