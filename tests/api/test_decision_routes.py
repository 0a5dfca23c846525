"""The decision routes over HTTP: examples answer, refusals have their status, budgets hold under 100 requests."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from service.app import App
from tests.support.web import client_of, make_app

BUDGETS = """
[budgets.tok]
limit_tokens = 1000
[budgets.team-a]
limit_usd = 50
"""


@pytest.fixture
def app(tmp_path: Path) -> App:
    file = tmp_path / "budgets.toml"
    file.write_text(BUDGETS, encoding="utf-8")
    return make_app(threads=8, budgets_file=file)


@pytest.mark.parametrize(("method", "path", "body", "refusal"), [
    ("POST", "/v1/estimateCost", {}, (400, "invalid_request")),
    ("POST", "/v1/estimateCost", {"model": "gtp-4o", "usage": {}}, (404, "unknown_model")),
    ("POST", "/v1/checkBudget", {"model": "gpt-4o", "text": "x", "max_input_tokens": -1}, (400, "invalid_request")),
    ("POST", "/v1/budgets/none/reserve", {"tokens": 1}, (404, "not_found")),
    ("GET", "/v1/models?limit=0", None, (400, "invalid_request")),
    ("GET", "/v1/models/no/such/model", None, (404, "unknown_model")),
    ("GET", "/v1/budgets/none", None, (404, "not_found")),
    ("GET", "/v1/estimateCost", None, (405, "method_not_allowed")),
])
async def test_refusals(app: App, method: str, path: str, body: object, refusal: tuple[int, str]) -> None:
    async with client_of(app) as client:
        answer = await client.request(method, path, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == refusal


async def test_hundred_reserves_at_once_against_room_for_one(app: App) -> None:
    async with client_of(app) as client:
        calls = [client.post("/v1/budgets/tok/reserve", json={"tokens": 600}) for _ in range(100)]
        answers = await asyncio.gather(*calls)
    granted = [answer.json() for answer in answers if answer.json()["granted"]]
    assert [answer.status_code for answer in answers] == [200] * 100
    assert len(granted) == 1
    assert granted[0]["budget"]["remaining"] == 400


async def test_counting_touches_no_budget(app: App) -> None:
    async with client_of(app) as client:
        before = (await client.get("/v1/budgets/tok")).json()
        for _ in range(20):
            await client.post("/v1/countTokens", json={"model": "gpt-4o", "text": "hello"})
        assert (await client.get("/v1/budgets/tok")).json() == before


async def test_a_query_that_nobody_reads_is_refused(app: App) -> None:
    async with client_of(app) as client:
        for path in ("/v1/models?serach=gpt", "/v1/models?limit=1&page=2", "/v1/budgets?name=tok"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request"), path
        assert (await client.get("/v1/models?limit=1&key=abc")).status_code == 200  # some SDKs send a key so


async def test_decisions_are_in_the_metrics(app: App) -> None:
    async with client_of(app) as client:
        await client.post("/v1/compare", json={"models": ["gpt-4o", "gpt-4.1"], "text": "hello"})
        shown = (await client.get("/metrics")).text
    assert 'tallystick_requests_total{route="/v1/compare",status="2xx"} 1.0' in shown
    assert 'tallystick_tokens_counted_total{method="exact",model="gpt-4.1",provider="openai"} 1.0' in shown
