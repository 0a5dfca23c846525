"""The decision routes over HTTP: examples answer, refusals have their status, budgets hold under 100 requests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.routing import Route

from service import catalog
from service.app import App
from service.decision_routes import decision_routes, described_decisions
from service.dialects.decision_bodies import BODIES
from service.dialects.decision_rows import DECISIONS, examples
from service.dialects.decisions import Deciders
from service.leases import MemoryLeases
from service.named_budgets import Budget, read_budgets
from service.openapi import make_document
from tests.dialects.test_decisions import without_trust
from tests.web import client_of, make_app

BUDGETS = {"tok": Budget("tok", "tokens", 1_000), "team-a": Budget("team-a", "usd", 50 * 10**9)}


def _app() -> App:
    app = make_app(threads=8)
    parts = app.state.parts
    if not any(isinstance(route, Route) and route.path == "/v1/estimateCost" for route in app.routes):
        app.router.routes.extend(decision_routes(parts, Deciders(parts.counter, MemoryLeases(), lambda: BUDGETS)))
    return app


STATELESS = ["estimate_cost", "check_budget", "compare", "split", "list_models", "get_model"]


@pytest.mark.parametrize("name", STATELESS)
async def test_examples_answer_over_http(name: str) -> None:
    (row,) = [row for row in DECISIONS if row.name == name]
    example = examples()[name]
    path = re.sub(r"{(\w+)(:path)?}", lambda found: example["params"][found[1]], row.path)
    async with client_of(_app()) as client:
        if row.method == "get":
            query = {key: value for key, value in example["params"].items() if key in row.query}
            answer = await client.get(path, params=query)
        else:
            answer = await client.post(path, json=example["request"])
    assert answer.status_code == 200, answer.text
    assert without_trust(answer.json()) == without_trust(example["response"])


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), [
    ("POST", "/v1/estimateCost", {}, 400, "invalid_request"),
    ("POST", "/v1/estimateCost", {"model": "gtp-4o", "usage": {}}, 404, "unknown_model"),
    ("POST", "/v1/checkBudget", {"model": "gpt-4o", "text": "x", "max_input_tokens": -1}, 400, "invalid_request"),
    ("POST", "/v1/budgets/none/reserve", {"tokens": 1}, 404, "not_found"),
    ("GET", "/v1/models?page_size=0", None, 400, "invalid_request"),
    ("GET", "/v1/models/no/such/model", None, 404, "unknown_model"),
    ("GET", "/v1/budgets/none", None, 404, "not_found"),
    ("GET", "/v1/estimateCost", None, 405, "method_not_allowed"),
])
async def test_refusals(method: str, path: str, body: object, status: int, code: str) -> None:
    async with client_of(_app()) as client:
        answer = await client.request(method, path, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_hundred_reserves_at_once_against_room_for_one() -> None:
    async with client_of(_app()) as client:
        calls = [client.post("/v1/budgets/tok/reserve", json={"tokens": 600}) for _ in range(100)]
        answers = await asyncio.gather(*calls)
    granted = [answer.json() for answer in answers if answer.json()["granted"]]
    assert [answer.status_code for answer in answers] == [200] * 100
    assert len(granted) == 1
    assert granted[0]["budget"]["remaining"] == 400


async def test_counting_is_counted_and_touches_no_budget() -> None:
    app = _app()
    async with client_of(app) as client:
        before = (await client.get("/v1/budgets/tok")).json()
        for _ in range(20):
            await client.post("/v1/countTokens", json={"model": "gpt-4o", "text": "hello"})
        assert (await client.get("/v1/budgets/tok")).json() == before


def test_every_decision_is_described_with_schema_and_example() -> None:
    document = make_document(described_decisions(), BODIES)
    assert {re.sub(r":\w+}", "}", row.path) for row in DECISIONS} == set(document["paths"])
    for row in DECISIONS:
        operation = document["paths"][re.sub(r":\w+}", "}", row.path)][row.method]
        assert operation["responses"]["200"]["content"]["application/json"]["example"]
        if row.body is not None:
            assert operation["requestBody"]["content"]["application/json"]["example"]
            assert row.body.__name__ in document["components"]["schemas"]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "catalog.toml"
    path.write_text('[aliases]\n"our-chat" = "gpt-4o"\n[budgets.ci]\nlimit_tokens = 100\n', encoding="utf-8")
    catalog.use_file(path)
    yield path
    catalog.use_file(None)


async def test_users_own_names_are_understood_everywhere(file: Path) -> None:
    assert read_budgets(file)["ci"].limit == 100
    async with client_of(_app()) as client:
        count = await client.post("/v1/countTokens", json={"model": "our-chat", "text": "Hello, world! 안녕하세요."})
        model = await client.get("/v1/models/our-chat")
    assert count.json()["input_tokens"] == 7
    assert (model.json()["id"], model.json()["rule"]) == ("gpt-4o", "catalog-file")
