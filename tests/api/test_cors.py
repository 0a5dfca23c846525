from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support.web import client_of, make_app

COUNT = "/v1/countTokens"
BODY = {"tokenizer": "gpt2", "text": "hello"}
APP, OTHER = "https://app.example", "https://other.example"
ASKS = {"access-control-request-method": "POST", "access-control-request-headers": "x-api-key,content-type"}


async def call(method: str, origin: str | None, more: dict[str, str] | None = None, **settings: Any) -> httpx.Response:
    headers = ({"origin": origin} if origin else {}) | (more or {})
    async with client_of(make_app(**settings)) as client:
        return await client.request(method, COUNT, json=BODY if method == "POST" else None, headers=headers)


def told(answer: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name.startswith("access-control")}


async def test_without_a_list_no_page_of_another_origin_may_call() -> None:
    for origin in (APP, "null", None):
        answer = await call("POST", origin)
        assert (answer.status_code, told(answer)) == (200, {})
    assert (await call("OPTIONS", APP, ASKS)).status_code == 405


async def test_a_listed_origin_may_call_and_read_our_headers() -> None:
    answer = await call("POST", APP, cors_origins=(APP, "https://more.example/"))
    assert answer.json()["input_tokens"] == 1
    assert answer.headers["access-control-allow-origin"] == APP
    assert "x-tallystick-cost" in answer.headers["access-control-expose-headers"]
    assert answer.headers["vary"] == "origin"
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("origin", [OTHER, "null", APP + ".evil.example", "http://app.example", APP + ":444"])
async def test_any_other_origin_may_not(origin: str) -> None:
    answer = await call("POST", origin, cors_origins=(APP,))
    assert (told(answer), answer.headers["vary"]) == ({}, "origin")
    assert told(await call("OPTIONS", origin, ASKS, cors_origins=(APP,))).get("access-control-allow-origin") is None


async def test_a_browser_that_asks_first_is_told_what_it_may_send() -> None:
    answer = await call("OPTIONS", APP, ASKS, cors_origins=(APP,))
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == APP
    assert answer.headers["access-control-allow-headers"] == ASKS["access-control-request-headers"]
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert (await call("OPTIONS", APP, cors_origins=(APP,))).status_code == 405  # no preflight without its question


async def test_every_origin() -> None:
    answer = await call("POST", OTHER, cors_origins=("*",))
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "vary" not in answer.headers


async def test_refusals_can_be_read_too_and_asking_first_needs_no_key(tmp_path: Any) -> None:
    keys = tmp_path / "keys.json"
    settings: Any = {"cors_origins": (APP,), "keys_file": keys}
    answer = await call("POST", APP, **settings)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (401, APP)
    assert (await call("OPTIONS", APP, ASKS, **settings)).status_code == 204
    async with client_of(make_app(cors_origins=(APP,))) as client:
        missing = await client.get("/nothing", headers={"origin": APP})
    assert (missing.status_code, missing.headers["access-control-allow-origin"]) == (404, APP)


# ---------------------------------------------------------------- headers on every answer


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", COUNT, 200), ("GET", COUNT, 405), ("GET", "/nothing", 404), ("GET", "/livez", 200),
        ("GET", "/metrics", 200), ("GET", "/openapi.json", 200), ("POST", "/v1/messages/count_tokens", 400),
    ],
)
async def test_an_answer_is_no_page_and_nobody_keeps_it(method: str, path: str, status: int) -> None:
    async with client_of(make_app()) as client:
        answer = await client.request(method, path, json=BODY if method == "POST" else None)
    assert answer.status_code == status
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert answer.headers.get_list("cross-origin-resource-policy") == ["same-origin"]


async def test_a_page_keeps_its_own_policy() -> None:
    async with client_of(make_app()) as client:
        page = await client.get("/")
    for name in ("content-security-policy", "x-content-type-options", "cache-control", "cross-origin-resource-policy"):
        assert len(page.headers.get_list(name)) == 1, name
    policy = page.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
