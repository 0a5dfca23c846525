"""Who may call: keys and their scopes in every dialect, rate limits, pages of other origins, projects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.golden.faults import TARGETS
from tests.golden.row import JSON_TYPE, Row, as_json, get, zipped

SCOPES = ("count", "tokenize", "models", "usage", "budgets", "metrics", "admin")

KEY_ROWS: tuple[tuple[str, tuple[str, ...], Mapping[str, Any]], ...] = (
    *((scope, (scope,), {}) for scope in SCOPES),
    ("team-a", ("count", "tokenize", "models"), {}),
    ("expired", ("admin",), {"expires": "2026-01-01T00:00:00+00:00"}),
    ("few-requests", ("count", "tokenize"), {"requests_per_minute": 2}),
    ("few-tokens", ("count",), {"tokens_per_minute": 5}),
    ("both", ("admin",), {"requests_per_minute": 3, "tokens_per_minute": 1_000}),
)
"""Name, scopes, and what else is kept of a key."""


def key_of(name: str) -> str:
    """The same in every run; it opens nothing but a server of this test."""
    number = [row[0] for row in KEY_ROWS].index(name) + 1
    return f"tsk_{number:012x}_{'golden' * 7}x"


def bearer(name: str) -> dict[str, str]:
    return {**JSON_TYPE, "authorization": f"Bearer {key_of(name)}"}


def write_keys(path: Path) -> Path:
    rows = [
        {
            "id": f"{number:012x}", "name": name, "sha256": hashlib.sha256(key_of(name).encode()).hexdigest(),
            "scopes": [*scopes], "created": "2026-01-01T00:00:00+00:00", **more,
        }
        for number, (name, scopes, more) in enumerate(KEY_ROWS, 1)
    ]
    path.touch(0o600)
    path.write_text(json.dumps({"keys": rows}))
    return path


def key_rows() -> Iterator[Row]:
    for name, (path, body) in TARGETS.items():
        post = f"POST {path}"
        yield Row(f"{name}: no key", post, body)
        yield Row(f"{name}: a wrong key", post, body,
            {**bearer("count"), "authorization": f"Bearer {key_of('count')[:-1]}y"})
        yield Row(f"{name}: an expired key", post, body, bearer("expired"))
        yield Row(f"{name}: a key without the scope", post, body, bearer("models"))
        yield Row(f"{name}: a key with scopes", post, body, bearer("team-a"))
        yield Row(f"{name}: an unknown path", f"{post}/more", body, bearer("team-a"))
        yield Row(f"{name}: an unknown path without a key", f"{post}/more", body)
        yield Row(f"{name}: another method", f"GET {path}", None, bearer("team-a"))
        yield Row(f"{name}: another method without a key", f"GET {path}", headers={})
    yield from _carriers()
    for path in ("/v1/models?limit=1", "/v1/models/gpt-4o", "/v1/usage/drift", "/v1/budgets", "/livez", "/nothing",
        "/web/nothing"):
        yield get(path, f"{path} without a key", mask=("from", "to"))
        for scope in ("models", "usage", "budgets", "metrics", "admin"):
            yield get(path, f"{path} by {scope}", bearer(scope), mask=("from", "to"))
    yield get("/", "the page without a key", show="head", hide=("etag",))
    for scope in ("models", "metrics"):
        yield get("/metrics", f"/metrics by {scope}", bearer(scope), show="families" if scope == "metrics" else "all")
    yield get("/v1/usage?group_by=project,model&from=<yesterday>", "usage by project", bearer("usage"),
        mask=("from", "to"))


def _carriers() -> Iterator[Row]:
    """The ways in which a key is sent."""
    path, body = TARGETS["native"]
    key, other = key_of("count"), key_of("models")
    for name, headers in (
        ("x-api-key", {"x-api-key": key}), ("x-goog-api-key", {"x-goog-api-key": key}),
        ("bearer in capitals", {"Authorization": f"BEARER {key}"}),
        ("basic", {"authorization": "Basic YTpi"}), ("no word", {"authorization": key}),
        ("empty", {"authorization": "Bearer "}),
        ("two, one of them wrong", {"x-api-key": "nonsense", "authorization": f"Bearer {key}"}),
        ("two, both right", {"x-api-key": other, "authorization": f"Bearer {key}"}),
        ("not ASCII", {"authorization": "Bearer schl\u00fcssel"}),
        ("a project, which the key has", {"x-api-key": key, "x-tallystick-project": "other"}),
    ):
        yield Row(f"key sent as {name}", f"POST {path}", body, {**JSON_TYPE, **headers})
    gemini, contents = TARGETS["gemini"]
    yield Row("key in the query", f"POST {gemini}?key=<count key>", contents)
    yield Row("key in the query between others", f"POST {path}?beta=true&key=<count key>&x=1", body)
    yield Row("a wrong key in the query", f"POST {gemini}?key=nonsense", contents)
    yield get("/v1/models?limit=1&key=<models key>", "key in the query of a GET")
    yield Row("a wrong key and a bad body", f"POST {path}", b"{", {**JSON_TYPE, "x-api-key": "nonsense"})
    yield Row("no key and a page elsewhere", f"POST {path}", body,
        {**JSON_TYPE, "origin": "https://a.example", "sec-fetch-site": "cross-site"})
    yield Row("a key and a page elsewhere", f"POST {path}", body,
        {**bearer("count"), "origin": "https://a.example", "sec-fetch-site": "cross-site"})
    yield Row("preflight without a key", f"OPTIONS {path}", None, {
        "origin": "https://a.example", "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type"})


def rate_rows() -> Iterator[Row]:
    path, body = TARGETS["native"]
    hide = ("content-length",)  # it goes with the digits of the seconds
    for i in range(2):
        yield Row(f"request {i + 1} of 2", f"POST {path}", body, bearer("few-requests"), hide=hide)
    for name, (target, good) in TARGETS.items():
        yield Row(f"{name}: one request too many", f"POST {target}", good, bearer("few-requests"), hide=hide)
    yield get("/v1/models", "one request too many, without the scope", bearer("few-requests"), hide=hide)
    yield get("/livez", "a path that is public", bearer("few-requests"))
    for name in ("the first tokens", "the last tokens", "tokens are used up", "and stay so"):
        yield Row(name, f"POST {path}", body, bearer("few-tokens"), hide=hide)
    gemini, contents = TARGETS["gemini"]
    yield Row("gemini: tokens are used up", f"POST {gemini}", contents, bearer("few-tokens"), hide=hide)
    for i in range(4):
        yield Row(f"two limits, request {i + 1}", f"POST {path}", body, bearer("both"), hide=hide)


# ---------------------------------------------------------------- small limits, listed origins and projects


def origin_rows() -> Iterator[Row]:
    listed, other = {"origin": "https://app.example"}, {"origin": "https://evil.example"}
    ask = {"access-control-request-method": "POST"}
    for name, (path, body) in TARGETS.items():
        post, large = f"POST {path}", as_json(body)[:-1] + b',"user":"' + b"x" * 2_000 + b'"}'
        yield Row(f"{name}: too large", post, large)
        yield Row(f"{name}: too large in chunks", post, large, chunked=True)
        yield Row(f"{name}: too large when unpacked", post, zipped(large), {**JSON_TYPE, "content-encoding": "gzip"})
        yield Row(f"{name}: a listed origin", post, body, {**JSON_TYPE, **listed, "sec-fetch-site": "cross-site"})
        yield Row(f"{name}: another origin", post, body, {**JSON_TYPE, **other, "sec-fetch-site": "cross-site"})
        yield Row(f"{name}: another origin, without its site", post, body, {**JSON_TYPE, **other})
        yield Row(f"{name}: preflight", f"OPTIONS {path}", None,
            {**listed, **ask, "access-control-request-headers": "content-type"})
        yield Row(f"{name}: preflight of another origin", f"OPTIONS {path}", None, {**other, **ask})
        yield Row(f"{name}: OPTIONS that is no preflight", f"OPTIONS {path}", None, listed)
    path, body = TARGETS["native"]
    yield get("/v1/models?limit=1", "GET, listed origin", listed)
    yield get("/v1/models?limit=1", "GET, another origin", {**other, "sec-fetch-site": "cross-site"})
    yield get("/livez", "GET of a public path, another origin", {**other, "sec-fetch-site": "cross-site"})
    yield Row("same site is another origin", f"POST {path}", body,
        {**JSON_TYPE, **other, "sec-fetch-site": "same-site"})
    yield Row("preflight of an unknown path", "OPTIONS /nothing", None, {**listed, **ask})
    for project in ("team-a", "team-b", "team-c", "", "téam"):
        yield Row(f"project {project}", f"POST {path}", body, {**JSON_TYPE, "x-tallystick-project": project})
    yield get("/v1/usage?group_by=project&from=<yesterday>", "usage by project", mask=("from", "to"))
    yield Row("too large, waits for our word", f"POST {path}", b"x" * 2_000, {**JSON_TYPE, "expect": "100-continue"})
    yield from _raw_rows(as_json(body))


def _raw_rows(body: bytes) -> Iterator[Row]:
    """Requests that no client library sends."""
    head = b"POST /v1/countTokens HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
    for name, content in (
        ("no HTTP", b"garbage\r\n\r\n"), ("no host", b"GET /livez HTTP/1.1\r\n\r\n"),
        ("HTTP/1.0", b"GET /livez HTTP/1.0\r\n\r\n"),
        ("HTTP/1.0, kept open", b"GET /livez HTTP/1.0\r\nconnection: keep-alive\r\n\r\n"),
        ("closed", b"GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"),
        ("an absolute address", b"GET http://a/livez HTTP/1.1\r\nhost: a\r\n\r\n"),
        ("a fragment", b"GET /livez#x HTTP/1.1\r\nhost: a\r\n\r\n"),
        ("two slashes", b"GET //livez HTTP/1.1\r\nhost: a\r\n\r\n"),
        ("escapes in the path", b"GET /%6civez HTTP/1.1\r\nhost: a\r\n\r\n"),
        ("a length of more digits than numbers have", head + b"content-length: 99999999999999999999\r\n\r\n"),
        ("a large length", head + b"content-length: 99999999999\r\n\r\n"), ("no length", head + b"\r\n"),
        ("a body with a GET", b"GET /v1/models?limit=1 HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}"),
        ("expects to be asked", head + b"expect: 100-continue\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)),
    ):
        yield Row(name, content.partition(b"\r\n")[0].decode(), content, raw=True)
