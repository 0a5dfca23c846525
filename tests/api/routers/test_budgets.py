"""Named budgets over HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.operations import BUDGETS, Operations
from tests.support.web import client_of, make_app


@pytest.fixture
def operations(tmp_path: Path) -> Operations:
    file = tmp_path / "budgets.toml"
    file.write_text(BUDGETS, encoding="utf-8")
    return Operations(make_app(warm=(), threads=8, budgets_file=file))


async def test_reserve_by_counting_and_settle_by_usage(operations: Operations) -> None:
    body = {"model": "gpt-4o", "text": "hello", "max_output_tokens": 100}
    lease = await operations.ask("reserve", body, name="usd")
    assert (lease["granted"], lease["amount"], lease["budget"]["kept_in"]) == (True, "0.0010025", "memory")
    settled = await operations.ask("settle", {"lease_id": lease["lease_id"], "model": "gpt-4o", "usage": {
        "prompt_tokens": 8, "completion_tokens": 10,
    }}, name="usd")
    assert (settled["billed"], settled["budget"]["held"], settled["budget"]["spent"]) == ("0.00012", "0", "0.00012")
    tokens = await operations.ask("reserve", body, name="tok")
    assert (tokens["amount"], tokens["budget"]["remaining"]) == (101, 899)
    released = await operations.ask("release", {"lease_id": tokens["lease_id"]}, name="tok")
    assert released["budget"]["remaining"] == 1_000


async def test_counts_and_checks_touch_no_budget(operations: Operations) -> None:
    for _ in range(50):
        await operations.ask("check_budget", {"model": "gpt-4o", "text": "hello", "max_cost_usd": "0.01"})
        await operations.ask("compare", {"models": ["gpt-4o"], "text": "hello"})
    assert (await operations.ask("get_budget", name="usd"))["remaining"] == "1"


async def test_what_has_no_price_is_not_granted(operations: Operations) -> None:
    answer = await operations.ask("reserve", {"model": "gpt-5.9-nova", "text": "hello"}, name="usd")
    assert (answer["granted"], answer["amount"], answer["cost"]["price_status"]) == (False, None, "unknown")
    assert (await operations.ask("reserve", {"model": "gpt-5.9-nova", "text": "hello"}, name="tok"))["granted"] is True


async def test_a_count_that_was_made_for_nothing_is_not_written_down(tmp_path: Path) -> None:
    """A budget in USD has no use for a tokenizer without a price: the text was counted before that was clear."""
    file = tmp_path / "budgets.toml"
    file.write_text(BUDGETS, encoding="utf-8")
    app = make_app(warm=(), budgets_file=file)
    async with client_of(app) as client:
        answer = await client.post("/v1/budgets/usd/reserve", json={"tokenizer": "o200k_base", "text": "one two"})
    assert answer.status_code == 400
    names = {sample.name for family in app.state.services.metrics.registry.collect() for sample in family.samples}
    assert "tallystick_requests_total" in names
    counted = [
        sample.value for family in app.state.services.metrics.registry.collect() for sample in family.samples
        if sample.name == "tallystick_tokens_counted_total"
    ]
    assert sum(counted) == 0


async def test_refused_reservation_is_an_answer(operations: Operations) -> None:
    answer = await operations.ask("reserve", {"tokens": 1_001}, name="tok")
    assert (answer["granted"], answer["lease_id"], answer["retry_at"]) == (False, None, None)


@pytest.mark.parametrize(("name", "budget", "body", "refusal"), [
    ("reserve", "nope", {"tokens": 1}, ("not_found", "name")),
    ("get_budget", "nope", None, ("not_found", "name")),
    ("reserve", "usd", {"tokens": 1}, ("invalid_request", "tokens")),
    ("reserve", "tok", {"amount_usd": "1"}, ("invalid_request", "amount_usd")),
    ("reserve", "usd", {"amount_usd": "1", "tokens": 1}, ("invalid_request", "tokens")),
    ("reserve", "usd", {"amount_usd": "lots"}, ("invalid_request", "amount_usd")),
    ("reserve", "usd", {"amount_usd": "1_0"}, ("invalid_request", "amount_usd")),
    ("reserve", "usd", {"amount_usd": "１"}, ("invalid_request", "amount_usd")),
    ("reserve", "usd", {"amount_usd": " 1"}, ("invalid_request", "amount_usd")),
    ("reserve", "usd", {"amount_usd": "1", "model": "gpt-4o", "text": "x"}, ("invalid_request", "model")),
    ("settle", "usd", {"lease_id": "x", "amount_usd": "1", "usage": {"input": 1}}, ("invalid_request", "usage")),
    ("reserve", "usd", {"tokenizer": "o200k_base", "text": "x"}, ("invalid_request", "model")),
    ("reserve", "usd", {}, ("invalid_request", "model")),
    ("settle", "usd", {"lease_id": "x"}, ("invalid_request", "usage")),
    ("settle", "usd", {"lease_id": "x", "amount_usd": "1"}, ("not_found", "lease_id")),
    ("settle", "usd", {"lease_id": "x", "usage": {"input": 1}}, ("invalid_request", "model")),
    ("settle", "usd", {"lease_id": "x", "usage": {"input": 1}, "model": "gpt-5.9-nova"}, ("invalid_request", "usage")),
    ("settle", "usd", {"amount_usd": "1"}, ("invalid_request", "lease_id")),
    ("release", "usd", {"lease_id": "x"}, ("not_found", "lease_id")),
    ("release", "usd", {"lease_id": "x" * 101}, ("invalid_request", "lease_id")),
])
async def test_bad_budget_call_is_refused(
    operations: Operations, name: str, budget: str, body: Any, refusal: tuple[str, str]
) -> None:
    assert await operations.refuse(name, body, name=budget) == refusal


async def test_hundred_reserves_at_once_against_room_for_one(operations: Operations) -> None:
    answers = await asyncio.gather(*(operations.ask("reserve", {"tokens": 600}, name="tok") for _ in range(100)))
    granted = [answer for answer in answers if answer["granted"]]
    assert len(answers) == 100
    assert len(granted) == 1
    assert granted[0]["budget"]["remaining"] == 400


async def test_counting_touches_no_budget(operations: Operations) -> None:
    before = await operations.ask("get_budget", name="tok")
    async with client_of(operations.app) as client:
        for _ in range(20):
            await client.post("/v1/countTokens", json={"model": "gpt-4o", "text": "hello"})
    assert await operations.ask("get_budget", name="tok") == before


async def test_a_query_that_nobody_reads_is_refused(operations: Operations) -> None:
    assert await operations.refuse("list_budgets", name="tok") == ("invalid_request", "name")
    assert await operations.refuse("get_budget", name="tok", unit="usd") == ("invalid_request", "unit")
