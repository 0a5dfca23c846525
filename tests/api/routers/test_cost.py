"""Cost, checks and comparisons over HTTP: what they answer, and which field a refusal names."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.support.operations import Operations
from tests.support.web import make_app


@pytest.fixture(scope="module")
def operations() -> Operations:
    return Operations(make_app(warm=()))


# ---------------------------------------------------------------- cost


async def test_cost_of_cached_tokens_is_the_same_in_every_provider_s_words(operations: Operations) -> None:
    """86 fresh and 17,817 cached tokens, said inclusively and exclusively."""
    openai = {"input_tokens": 17_903, "input_tokens_details": {"cached_tokens": 17_817}, "output_tokens": 10}
    anthropic = {"input_tokens": 86, "cache_read_input_tokens": 17_817, "output_tokens": 10}
    google = {"promptTokenCount": 17_903, "cachedContentTokenCount": 17_817, "candidatesTokenCount": 10}
    answers = [
        await operations.ask("estimate_cost", {"model": "gpt-5.4", "usage": usage})
        for usage in (openai, anthropic, google)
    ]
    totals = {answer["total"] for answer in answers}
    assert totals == {"0.00481925"}


async def test_unknown_price_is_null(operations: Operations) -> None:
    answer = await operations.ask("estimate_cost", {"model": "gpt-5.9-nova", "usage": {"input": 1_000_000}})
    assert (answer["total"], answer["price_status"], answer["line_items"]) == (None, "unknown", [])
    assert answer["reason"]


@pytest.mark.parametrize(("body", "field"), [
    ({"model": "gpt-4o"}, "usage"),
    ({"usage": {}}, "model"),
    ({"model": "gpt-4o", "usage": {"input": -1}}, "usage.input"),
    ({"model": "gpt-4o", "usage": {"input": 1.5}}, "usage.input"),
    ({"model": "gpt-4o", "usage": [1]}, "usage"),
    ({"model": "gpt-4o", "usage": {}, "service_tier": "turbo"}, "service_tier"),
    ({"model": "gpt-4o", "usage": {}, "at": "yesterday"}, "at"),
    ({"model": "gpt-4o", "usage": {}, "at": "0001-01-01T00:00:00+14:00"}, "at"),
    ({"model": "gpt-4o", "usage": {}, "at": "9999-12-31"}, "at"),
    ({"model": "gpt-4o", "usage": {}, "extra": 1}, "extra"),
    ({"model": 7, "usage": {}}, "model"),
    ([], None),
    (None, None),
])
async def test_bad_estimate_is_refused_by_path(operations: Operations, body: Any, field: str | None) -> None:
    assert await operations.refuse("estimate_cost", body) == ("invalid_request", field)


# ---------------------------------------------------------------- checks


async def test_check_says_why_it_cannot_decide(operations: Operations) -> None:
    answer = await operations.ask("check_budget", {"model": "gpt-5.9-nova", "text": "hello", "max_cost_usd": 1})
    assert (answer["decision"], answer["fits"]) == ("cannot_decide", None)
    assert len(answer["reasons"]) == 2
    response = await operations.call("check_budget", {"model": "gtp-4o", "text": "hello"})
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["near"][0]) == (404, "unknown_model", "gpt-4o")


@pytest.mark.parametrize("cost", ["0.05", 0.05, "5e-2"])
async def test_money_may_be_a_string_or_a_number(operations: Operations, cost: Any) -> None:
    answer = await operations.ask("check_budget", {"model": "gpt-4o", "text": "hello", "max_cost_usd": cost})
    (found,) = [row for row in answer["constraints"] if row["constraint"] == "max_cost_usd"]
    assert Decimal(found["allowed"]) == Decimal("0.05")


@pytest.mark.parametrize(("field", "value"), [
    ("max_cost_usd", "cheap"), ("max_cost_usd", -1), ("max_cost_usd", "NaN"), ("max_cost_usd", True),
    ("max_cost_usd", [1]), ("max_cost_usd", "1e999999999"), ("max_input_tokens", -1),
    ("max_input_tokens", "7"), ("max_output_tokens", 1.5),
    ("max_input_tokens", 10**30), ("service_tier", 3), ("at", 3),
])
async def test_bad_limit_is_refused_by_path(operations: Operations, field: str, value: Any) -> None:
    body = {"model": "gpt-4o", "text": "hello", field: value}
    assert await operations.refuse("check_budget", body) == ("invalid_request", field)


async def test_check_of_a_whole_request_uses_its_upper_end(operations: Operations) -> None:
    body = {"model": "gpt-4o", "request": {"messages": [{"role": "user", "content": "hello " * 100}]}}
    answer = await operations.ask("check_budget", body)
    high = answer["error_band"]["high"]
    assert (await operations.ask("check_budget", {**body, "max_input_tokens": high}))["fits"] is True
    assert (await operations.ask("check_budget", {**body, "max_input_tokens": high - 1}))["fits"] is False


# ---------------------------------------------------------------- comparing


async def test_comparison_is_cheapest_first_and_keeps_errors_apart(operations: Operations) -> None:
    answer = await operations.ask("compare", {"models": ["gpt-4", "grok-4", "gpt-4o", "gpt-4o-mini"], "text": "hello"})
    assert [row["model_ref"] for row in answer["rows"]] == ["gpt-4o-mini", "gpt-4o", "gpt-4", "grok-4"]
    assert answer["rows"][-1]["error"]["code"] == "unknown_model"
    assert answer["rows"][-1]["error"]["field"] == "models[1]"
    assert answer["cheapest"] == "gpt-4o-mini"


@pytest.mark.parametrize(("body", "field"), [
    ({"models": [], "text": "x"}, "models"),
    ({"models": ["gpt-4o"] * 51, "text": "x"}, "models"),
    ({"models": ["gpt-4o", 3], "text": "x"}, "models[1]"),
    ({"models": ["gpt-4o"], "model": "gpt-4o", "text": "x"}, "models"),
    ({"models": ["gpt-4o"]}, "text"),
    ({"models": ["gpt-4o"], "text": 3}, "text"),
    ({"models": ["gpt-4o"], "text": "x", "request": {}}, "request"),
])
async def test_bad_comparison_is_refused_by_path(operations: Operations, body: Any, field: str) -> None:
    assert await operations.refuse("compare", body) == ("invalid_request", field)


async def test_what_was_counted_for_a_decision_is_in_the_metrics() -> None:
    operations = Operations(make_app(warm=()))
    await operations.ask("compare", {"models": ["gpt-4o", "gpt-4.1"], "text": "hello"})
    registry = operations.app.state.services.metrics.registry
    requests = {"route": "/v1/compare", "status": "2xx"}
    assert registry.get_sample_value("tallystick_requests_total", requests) == 1
    tokens = {"method": "exact", "model": "gpt-4.1", "provider": "openai"}
    assert registry.get_sample_value("tallystick_tokens_counted_total", tokens) == 1
