"""Every fault that any body may have, sent to every kind of route: each answers in the envelope of its own dialect."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from tests.golden.row import DROP, JSON_TYPE, Row, as_json, changed, zipped

GEMINI: Mapping[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hello, world!"}]}]}

TARGETS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "native": ("/v1/countTokens", {"model": "gpt-4o", "text": "Hello, world!"}),
    "batch": ("/v1/countTokens:batch", {"items": [{"model": "gpt-4o", "text": "Hello, world!"}]}),
    "check": ("/v1/checkBudget", {"model": "gpt-4o", "text": "Hello, world!", "max_input_tokens": 10}),
    "tokens": ("/v1/tokenize", {"model": "gpt-4o", "text": "Hello, world!"}),
    "openai": ("/v1/responses/input_tokens", {"model": "gpt-4o", "input": "Hello, world!"}),
    "anthropic": (
        "/v1/messages/count_tokens",
        {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "Hello, world!"}]},
    ),
    "gemini": ("/v1beta/models/gemini-2.5-flash:countTokens", GEMINI),
    "vertex": (
        "/v1/projects/my-project/locations/us-central1/publishers/google/models/gemini-2.5-flash:countTokens", GEMINI,
    ),
    "vllm": ("/tokenize", {"model": "gpt-4o", "prompt": "Hello, world!"}),
    "vllm-ids": ("/detokenize", {"model": "gpt-4o", "tokens": [13225, 11, 2375, 0]}),
    "litellm": ("/utils/token_counter", {"model": "gpt-4o", "prompt": "Hello, world!"}),
}
"""Group of the transcript -> path and a body that is right."""

NAMED_IN_PATH = ("gemini", "vertex")
"""Here the path holds the model."""


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def with_field(good: bytes, value: bytes) -> bytes:
    """The body with one more field, whose JSON is given."""
    return good[:-1] + b',"more":' + value + b"}"


BAD_BYTES: Mapping[str, bytes] = {
    "empty": b"", "blank": b"  \n", "cut off": b'{"model": "gpt-4o", ', "no JSON": b"hello", "no value": b"{",
    "null": b"null", "array": b"[]", "string": b'"text"', "number": b"3.5", "true": b"true", "empty object": b"{}",
    "single quotes": b"{'model': 'gpt-4o'}", "not UTF-8": b'{"model": "gpt-4o", "text": "\xff\xfe"}',
    "two values": b'{"model":"gpt-4o"}{"model":"gpt-4o"}', "a key that is a number": b'{3: "x"}',
}

MORE_FIELDS: Mapping[str, bytes] = {
    "NaN": b"NaN", "Infinity": b"-Infinity", "a lone surrogate": rb'"\ud800 alone"',
    "a surrogate pair": rb'"\ud83e\udd16"',
    "a huge number": b"9" * 400, "a huge exponent": b"1e999", "depth 99": nested(98), "depth 100": nested(99),
    "depth 101": nested(100), "depth 5,000": nested(5_000), "a comma too many": b"1,", "a control character": b'"\x01"',
    "unknown text": b'"some text"', "an unknown list": b'["some text"]', "an unknown number": b"3",
}

TYPES: Mapping[str, Mapping[str, str]] = {
    "no content type": {}, "as curl -d sends it": {"content-type": "application/x-www-form-urlencoded"},
    "JSON with a charset": {"content-type": "application/json; charset=utf-8"},
    "another charset": {"content-type": "application/json; charset=latin-1"},
    "vendor JSON": {"content-type": "application/vnd.api+json"}, "XML": {"content-type": "application/xml"},
    "text/plain": {"content-type": "text/plain"}, "a form": {"content-type": "multipart/form-data; boundary=x"},
    "bytes": {"content-type": "application/octet-stream"}, "an image": {"content-type": "image/png"},
    "no type at all": {"content-type": "nonsense"},
    "a request id of its own": {**JSON_TYPE, "x-request-id": "golden-1/a.b:c=d+e"},
    "a request id that is refused": {**JSON_TYPE, "x-request-id": "two words"},
    "an unknown encoding": {**JSON_TYPE, "content-encoding": "br"},
    "no encoding": {**JSON_TYPE, "content-encoding": "identity"},
    "gzip that is none": {**JSON_TYPE, "content-encoding": "gzip"},
    "deflate that is none": {**JSON_TYPE, "content-encoding": "deflate"},
    "a beta header": {**JSON_TYPE, "anthropic-version": "2023-06-01", "anthropic-beta": "some-beta-2026-01-01"},
    "a page of another origin": {**JSON_TYPE, "origin": "https://evil.example", "sec-fetch-site": "cross-site"},
    "a page of this origin": {**JSON_TYPE, "origin": "http://tallystick.test", "sec-fetch-site": "same-origin"},
}

METHODS = ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS")


def fault_rows(name: str) -> Iterator[Row]:
    """Of one of TARGETS."""
    path, good = TARGETS[name]
    body, post = as_json(good), f"POST {path}"
    yield Row("good", post, body)
    for what, content in BAD_BYTES.items():
        yield Row(what, post, content)
    for what, value in MORE_FIELDS.items():
        yield Row(f"a field with {what}", post, with_field(body, value))
    for what, headers in TYPES.items():
        yield Row(what, post, body, headers)
    yield from _model_rows(name, post, good)
    yield from _encoded_rows(post, body)
    for method in METHODS:
        yield Row(f"method {method}", f"{method} {path}", headers={})
    yield Row("a slash at the end", f"{post}/", body)
    yield Row("an unknown path below", f"{post}/more", body)
    yield Row("a query", f"{post}?beta=true&x=1", body)
    yield Row("a key in the query, which nobody asks for", f"{post}?key=some", body)


def _model_rows(name: str, post: str, good: Mapping[str, Any]) -> Iterator[Row]:
    if name in NAMED_IN_PATH:
        for model in ("no-such-model", "gemini-2.5-flesh", "claude-sonnet-4-5", "models%2Fgemini-2.5-flash",
            "%ED%A0%80"):
            yield Row(f"model {model}", post.replace("gemini-2.5-flash", model), good)
        return
    wrap = (lambda change: {"items": [changed(good["items"][0], change)]}) if name == "batch" else (
        lambda change: changed(good, change)
    )
    values: tuple[Any, ...] = ("no-such-model", "gpt-4oo", "", "GPT-4O", "claude-sonnet-4-5", 3, None, ["gpt-4o"], DROP)
    for value in values:
        said = "left out" if value is DROP else as_json(value).decode()
        yield Row(f"model {said}", post, wrap({"model": value}))


def _encoded_rows(post: str, body: bytes) -> Iterator[Row]:
    packed = zipped(body)
    for what, encoding, content in (
        ("gzip", "gzip", packed), ("x-gzip", "x-gzip", packed), ("deflate", "deflate", zlib.compress(body)),
        ("raw deflate", "deflate", zlib.compress(body)[2:-4]),
        ("gzip in two members", "gzip", zipped(body[:9]) + zipped(body[9:])),
        ("gzip cut off", "gzip", packed[:-9]), ("a bomb of gzip", "gzip", zipped(bytes(3 << 20))),
    ):
        yield Row(what, post, content, {**JSON_TYPE, "content-encoding": encoding})
    yield Row("a byte order mark", post, b"\xef\xbb\xbf" + body)
    yield Row("UTF-16", post, body.decode().encode("utf-16"))
    yield Row("a lone surrogate in the text", post, body.replace(b"Hello", rb"\udc00"))
    yield Row("chunked", post, body, chunked=True)
    yield Row("chunked and cut off", post, body[:-1], chunked=True)
