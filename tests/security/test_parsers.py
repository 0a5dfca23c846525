"""The worst that a body can cause is an error message, and reading takes time in proportion to its length."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.api.operations import Count
from service.dialects import native
from service.dialects.json import read_json
from service.errors import InvalidRequest, ServiceError
from tests.security.parser_fuzz import CANARY, PARAMS, attempt, check, leads_somewhere, targets

ATTEMPTS = 2_500

PATHS = sorted(target.path for target in targets())


def test_changed_bodies_are_answered_or_refused_by_a_place_that_they_have() -> None:
    ends = set()
    for seed in range(ATTEMPTS):
        target, raw = attempt(seed)
        try:
            ends.add(check(target, raw))
        except BaseException as error:
            raise AssertionError(f"seed {seed}, {target.path}: {error!r}") from error
    assert {"answered", "invalid_request", "unknown_model"} <= ends


@pytest.mark.parametrize("path", PATHS)
def test_the_bodies_that_are_changed_are_taken_as_they_are(path: str) -> None:
    target = next(target for target in targets() if target.path == path)
    ends = [check(target, json.dumps(body).encode()) for body in target.bodies]
    assert set(ends) <= {"answered", "unknown_model", "not_found"}  # tuned models and leases of an example are nobody's
    assert "answered" in ends or "tunedModels" in path or path.endswith(("/settle", "/release"))


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=200) | st.text(max_size=80).map(lambda text: text.encode("utf-16", "surrogatepass")))
def test_bytes_are_json_or_a_refusal(raw: bytes) -> None:
    with suppress(InvalidRequest):
        read_json(raw)


ODD_BYTES = {
    "nothing": b"", "blanks": b" \n ", "a BOM alone": b"\xef\xbb\xbf", "UTF-16": '{"a":"zq9canary"}'.encode("utf-16"),
    "UTF-32": '{"a":"zq9canary"}'.encode("utf-32"), "a lone quote": b'"', "an open string": b'{"a": "zq9canary',
    "NaN": b'{"a": NaN}', "minus infinity": b'{"a": -Infinity}', "a leading zero": b'{"a": 01}',
    "a number without end": b'{"a": ' + b"1" * 5_000 + b"}", "a comment": b"{}//zq9canary",
    "an exponent without end": b'{"a": 1e' + b"9" * 5_000 + b"}",
    "two values": b"{} {}", "a comma too many": b"[1,]", "a control character": f'"{CANARY}\x01b"'.encode(),
    "no UTF-8": b'"\xff"',
    "an encoded surrogate in bytes": b'"\xed\xa0\x80"', "an overlong NUL": b'"\xc0\x80"', "half an escape": b'"\\u12"',
    "deep arrays": b"[" * 200_000, "deep objects": b'{"a":' * 100_000, "deep and closed": b"[" * 101 + b"]" * 101,
    "gzip": b"\x1f\x8b\x08\0", "a million brackets": b"[]" * 500_000,
}


@pytest.mark.parametrize("name", sorted(ODD_BYTES))
def test_what_is_no_json_is_refused_without_being_repeated(name: str) -> None:
    began = time.process_time()
    for target in targets()[:3]:
        assert check(target, ODD_BYTES[name]) == "invalid_request"  # and without CANARY
    assert time.process_time() - began < 0.5


def test_the_last_of_two_members_of_one_name_counts_on_both_ways_to_read() -> None:
    assert read_json(b'{"a": 1, "a": 2}')[0] == {"a": 2}
    assert read_json(b'{"a": 1, "a": 2, "b": "\\ud800"}')[0] == {"a": 2, "b": "\ufffd"}


def test_a_place_is_found_or_not() -> None:
    body = {"messages": [{"role": "user", "content": [{"text": 1}]}]}
    assert leads_somewhere(body, "messages[0].content[0].text")
    assert leads_somewhere(body, "messages[0].name")
    assert not leads_somewhere(body, "messages[1].content[0].text")
    assert not leads_somewhere(body, "texts[0].content")


# ---------------------------------------------------------------- time

TEXT = "word " * 10


def chat(count: int) -> object:
    return [{"role": "user", "content": TEXT} for _ in range(count)]


WIDE: dict[str, Callable[[int], dict[str, object]]] = {
    "messages": lambda n: {"messages": chat(n)},
    "parts": lambda n: {"messages": [{"role": "user", "content": [{"type": "text", "text": TEXT}] * n}]},
    "contents": lambda n: {"contents": [{"role": "user", "parts": [{"text": TEXT}]}] * n},
    "google's parts": lambda n: {"contents": [{"parts": [{"text": TEXT}] * n}]},
    "items": lambda n: {"input": [{"role": "user", "content": TEXT}] * n},
    "calls": lambda n: {"messages": [{"role": "assistant", "tool_calls": [
        {"id": f"c{i}", "function": {"name": "f", "arguments": "{}"}} for i in range(n)
    ]}]},
    "results": lambda n: {"messages": [
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": f"c{i}", "name": "f", "input": {}} for i in range(n)
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": f"c{i}", "content": "r"} for i in range(n)
        ]},
    ]},
    "tools": lambda n: {"messages": chat(1), "tools": [
        {"name": f"f{i}", "input_schema": {"type": "object", "properties": {"x": {"enum": ["a"]}}}} for i in range(n)
    ]},
    "functions": lambda n: {"messages": chat(1), "tools": [
        {"type": "function", "function": {"name": f"f{i}", "parameters": {"type": "object"}}} for i in range(n)
    ]},
    "properties": lambda n: {"messages": chat(1), "tools": [{"type": "function", "function": {
        "name": "f", "parameters": {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(n)}},
    }}]},
    "unknown fields": lambda n: {"messages": chat(1), **{f"k{i}": 1 for i in range(n)}},
    "unknown fields of messages": lambda n: {"messages": [
        {"role": "user", "content": "x", f"k{i}": 1} for i in range(n)
    ]},
    "data URLs": lambda n: {"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    ] * n}]},
    "lone surrogates": lambda n: {"messages": [{"role": "user", "content": "\ud800" * 20}] * n},
    "one long text": lambda n: {"messages": [{"role": "user", "content": TEXT * n}]},
    "base64 with line ends": lambda n: {"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "AAAA\n " * 10 * n}}
    ]}]},
    "a schema of definitions": lambda n: {"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {
        "responseJsonSchema": {"$ref": "#/$defs/d1", "$defs": {
            f"d{i}": {"$ref": f"#/$defs/d{i - 1}"} for i in range(n)
        }},
    }},
}

SMALL, LARGE = 750, 6_000
"""A body eight times as long. A quadratic reader would take 64 times as long."""


def seconds_for(operation: Count, shape: str, count: int) -> float:
    """Processor time of reading, the shortest of three."""
    model = "claude-sonnet-4-5" if shape in ("results", "tools") else "gpt-4o"
    raw = json.dumps({"model": model, "request": WIDE[shape](count)}).encode("utf-8", "surrogatepass")
    took = []
    for _ in range(3):
        began = time.process_time()
        value, warnings = read_json(raw)
        with suppress(ServiceError):
            operation.read(value, PARAMS, warnings)
        took.append(time.process_time() - began)
    return min(took)


@pytest.mark.parametrize("shape", sorted(WIDE))
def test_reading_takes_time_in_proportion(shape: str) -> None:
    small, large = seconds_for(Count(native.COUNT), shape, SMALL), seconds_for(Count(native.COUNT), shape, LARGE)
    assert large < 24 * max(small, 0.002)
