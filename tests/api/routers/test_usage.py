"""Usage over HTTP: what is counted shows up, bills are taken, questions that make no sense are refused by name."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from service.answers.usage import SHOWN
from tests.support.web import client_of, make_app

CHAT = {"model": "gpt-4o", "request": {"messages": [{"role": "user", "content": "hello"}]}}
OPENAI_USAGE = {
    "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 40}, "completion_tokens_details": {"reasoning_tokens": 5},
}


async def make_usage(client: httpx.AsyncClient, **query: str) -> Any:
    answer = await client.get("/v1/usage", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_counts_of_every_dialect_show_up() -> None:
    async with client_of(make_app()) as client:
        native = (await client.post("/v1/countTokens", json=CHAT)).json()["input_tokens"]
        claude = (await client.post("/v1/messages/count_tokens", json={
            "model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "hello"}],
        })).json()["input_tokens"]
        batch = await client.post("/v1/countTokens:batch", json={"items": [CHAT, {"model": "?", "text": ""}, CHAT]})
        assert batch.json()["failed"] == 1
        await client.post("/v1/countTokens", json={"model": "no-such-model", "text": "hello"})
        await client.post("/v1/countTokens", json={"tokenizer": "o200k_base", "text": "hello"})
        found = await make_usage(client, group_by="model,project")
    rows = {row["model"]: row for row in found["rows"]}
    assert set(rows) == {"gpt-4o", "claude-sonnet-4-5", "tokenizer:o200k_base"}
    assert (rows["gpt-4o"]["calls"], rows["gpt-4o"]["input_tokens"]) == (3, 3 * native)
    assert Decimal(rows["gpt-4o"]["cost_usd"]) == 3 * native * Decimal("0.0000025")
    assert (rows["claude-sonnet-4-5"]["calls"], rows["claude-sonnet-4-5"]["input_tokens"]) == (1, claude)
    assert rows["tokenizer:o200k_base"]["cost_usd"] is None
    assert found["total"]["calls"] == 5
    assert {row["project"] for row in found["rows"]} == {"default"}
    assert (found["kept_in"], found["complete"]) == ("memory", True)
    assert "TALLYSTICK_REDIS_URL" in found["note"]


async def test_what_one_of_several_workers_remembers_is_a_part() -> None:
    async with client_of(make_app(workers=2)) as client:
        assert (await make_usage(client))["complete"] is False
        assert (await client.get("/v1/usage/drift")).json()["complete"] is False


async def test_answers_given_again_and_decisions() -> None:
    """An answer out of the cache is a call like any other; comparing models is none."""
    body = {"model": "gpt-4o", "text": "hello there " * 500}
    async with client_of(make_app()) as client:
        tokens = [(await client.post("/v1/countTokens", json=body)).json()["input_tokens"] for _ in range(3)]
        await client.post("/v1/compare", json={"models": ["gpt-4o", "claude-opus-4-1"], "text": "hello"})
        found = await make_usage(client)
    assert (found["total"]["calls"], found["total"]["input_tokens"]) == (3, sum(tokens))


async def test_a_project_is_one_of_those_configured() -> None:
    async with client_of(make_app(projects=("team-a",))) as client:
        for project in ("team-a", "team-b", ""):
            await client.post("/v1/countTokens", json=CHAT, headers={"X-Tallystick-Project": project})
        found = await make_usage(client, group_by="project")
        alone = await make_usage(client, group_by="", project="team-a")
    assert [(row["project"], row["calls"]) for row in found["rows"]] == [("default", 2), ("team-a", 1)]
    assert [row["calls"] for row in alone["rows"]] == [1]


async def test_a_bill_with_a_count_of_its_own() -> None:
    async with client_of(make_app()) as client:
        taken = await client.post("/v1/usage", json={"model": "gpt-4o", "usage": OPENAI_USAGE, "counted_tokens": 98})
        found = await make_usage(client, group_by="model")
        drift = (await client.get("/v1/usage/drift")).json()
        shown = (await client.get("/metrics")).text
    # 60 new at 2.50, 40 cached at 1.25, 20 out at 10.00 dollars a million
    assert taken.json() == {
        "recorded": True, "kept_in": "memory", "model": "gpt-4o", "model_ref": "gpt-4o",
        "usage": {"input": 60, "cache_read": 40, "output": 15, "reasoning": 5, "requests": 1},
        "billed_input_tokens": 100, "billed_output_tokens": 20, "billed_cost_usd": "0.0004",
        "counted_tokens": 98, "difference": -2,
    }
    row = found["rows"][0]
    assert (row["calls"], row["billed_calls"], row["billed_input_tokens"], row["billed_cost_usd"]) == (
        0, 1, 100, "0.0004",
    )
    (family,) = drift["families"]
    assert (family["calls"], family["under"], family["within_5_percent"], family["ratio"]) == (1, 1, 1, 0.98)
    assert 'tallystick_drift_counted_tokens_total{family="' + family["family"] + '"} 98.0' in shown
    assert 'tallystick_drift_billed_tokens_total{family="' + family["family"] + '"} 100.0' in shown


async def test_a_bill_with_its_request_is_counted_now() -> None:
    async with client_of(make_app()) as client:
        tokens = (await client.post("/v1/countTokens", json=CHAT)).json()["input_tokens"]
        taken = await client.post("/v1/usage", json={
            **CHAT, "usage": {"prompt_tokens": tokens, "completion_tokens": 1},
        })
        found = await make_usage(client, group_by="")
        (family,) = (await client.get("/v1/usage/drift")).json()["families"]
    assert (taken.json()["counted_tokens"], taken.json()["difference"]) == (tokens, 0)
    assert (family["method"], family["exact"]) == ("exact", 1)
    assert found["total"]["calls"] == 1, "counting for a bill is no call"


async def test_a_bill_without_a_count_leaves_no_drift() -> None:
    async with client_of(make_app()) as client:
        taken = await client.post("/v1/usage", json={
            "model": "claude-sonnet-4-5",
            "usage": {"input_tokens": 3, "cache_read_input_tokens": 7, "output_tokens": 2},
        })
        assert (await client.get("/v1/usage/drift")).json()["families"] == []
    assert (taken.json()["billed_input_tokens"], taken.json()["difference"]) == (10, None)


async def test_a_bill_of_yesterday() -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    async with client_of(make_app()) as client:
        answer = await client.post("/v1/usage", json={
            "model": "gpt-4o", "usage": OPENAI_USAGE, "at": yesterday.isoformat(),
        })
        assert answer.status_code == 200, answer.text
        today = await make_usage(client)
        both = await make_usage(client, **{"from": yesterday.date().isoformat()})
        hour = {"from": yesterday.isoformat(), "group_by": "hour", "time_zone": "Asia/Kolkata"}
        clock = await make_usage(client, **hour)
    assert today["rows"] == []
    assert both["total"]["billed_calls"] == 1
    assert clock["rows"][0]["start"].endswith("+05:30")


async def test_csv_has_a_line_a_row() -> None:
    async with client_of(make_app(projects=("=1+1",))) as client:
        await client.post("/v1/countTokens", json=CHAT, headers={"X-Tallystick-Project": "=1+1"})
        await client.post("/v1/countTokens", json={"tokenizer": "o200k_base", "text": "x"})
        asked = await client.get("/v1/usage?group_by=day,model,project", headers={"accept": "text/csv"})
        named = await client.get("/v1/usage?group_by=day,model,project&format=csv")
    assert asked.headers["content-type"] == "text/csv; charset=utf-8"
    assert asked.text == named.text
    rows = list(csv.DictReader(io.StringIO(asked.text)))
    assert list(rows[0]) == ["start", "end", "project", "model", *SHOWN]
    assert {(row["project"], row["model"], row["calls"], row["cost_usd"] == "") for row in rows} == {
        ("'=1+1", "gpt-4o", "1", False), ("default", "tokenizer:o200k_base", "1", True),
    }


async def test_prometheus_has_a_gauge_an_amount_with_model_and_project() -> None:
    async with client_of(make_app(projects=("team-a",))) as client:
        team = {"X-Tallystick-Project": "team-a"}
        cost = (await client.post("/v1/countTokens", json=CHAT, headers=team)).json()["cost"]["input"]
        await client.post("/v1/countTokens", json={"tokenizer": "o200k_base", "text": "x"})
        asked = await client.get("/v1/usage?format=prometheus")
        alone = await client.get("/v1/usage?format=prometheus&group_by=&project=team-a")
    assert asked.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = {family.name: family for family in text_string_to_metric_families(asked.text)}
    assert list(families) == [f"tallystick_usage_{name}" for name in SHOWN]
    assert {family.type for family in families.values()} == {"gauge"}
    gpt, bare = {"model": "gpt-4o", "project": "team-a"}, {"model": "tokenizer:o200k_base", "project": "default"}
    calls = [(sample.labels, sample.value) for sample in families["tallystick_usage_calls"].samples]
    assert calls == [(bare, 1), (gpt, 1)]
    costs = [(sample.labels, sample.value) for sample in families["tallystick_usage_cost_usd"].samples]
    assert costs == [(gpt, float(cost))], "what has no price has no cost, and is not 0"
    assert "\ntallystick_usage_calls 1.0\n" in alone.text


async def test_a_part_of_the_ledger_is_not_scraped() -> None:
    """Whoever scrapes would take the rest for a fall, and what follows for growth."""
    app = make_app(redis_url="redis://127.0.0.1:1/0", cache_secret="x" * 32)
    async with client_of(app) as client:
        answer = await client.get("/v1/usage?format=prometheus")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "overloaded")


@pytest.mark.parametrize(("query", "field"), [
    ({"format": "prometheus", "group_by": "day"}, "group_by"),
    ({"from": "yesterday"}, "from"), ({"to": "2026-13-01"}, "to"), ({"from": "1999-01-01"}, "from"),
    ({"time_zone": "Mars/Olympus"}, "time_zone"), ({"time_zone": "../../etc/passwd"}, "time_zone"),
    ({"time_zone": ""}, "time_zone"), ({"time_zone": "x" * 10_000}, "time_zone"),
    ({"group_by": "user"}, "group_by"), ({"group_by": "day,hour"}, "group_by"), ({"format": "xml"}, "format"),
    ({"format": ""}, "format"),
    ({"from": "2026-01-02", "to": "2026-01-01"}, "to"), ({"from": "2024-01-01", "to": "2026-01-01"}, "from"),
    ({"from": "2026-01-01T00:00:00+99:00"}, "from"),
])
async def test_questions_that_make_no_sense(query: dict[str, str], field: str) -> None:
    async with client_of(make_app()) as client:
        answer = await client.get("/v1/usage", params=query)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)


@pytest.mark.parametrize(("change", "status", "field"), [
    ({"model": None}, 400, "model"), ({"model": "no-such-model"}, 404, "model"), ({"usage": None}, 400, "usage"),
    ({"usage": {"prompt_tokens": -1, "completion_tokens": 1}}, 400, "usage.prompt_tokens"),
    ({"usage": {"prompt_tokens": 10**13, "completion_tokens": 1}}, 400, "usage"),
    ({"counted_tokens": -1}, 400, "counted_tokens"), ({"counted_tokens": 1, "text": "x"}, 400, "text"),
    ({"at": "1999-01-01"}, 400, "at"), ({"at": "2025-01-01"}, 400, "at"),
    ({"service_tier": "gold"}, 400, "service_tier"),
])
async def test_bills_that_make_no_sense(change: dict[str, Any], status: int, field: str) -> None:
    body = {"model": "gpt-4o", "usage": OPENAI_USAGE} | change
    async with client_of(make_app()) as client:
        answer = await client.post("/v1/usage", json={key: value for key, value in body.items() if value is not None})
        found = await make_usage(client)
    assert (answer.status_code, answer.json()["error"]["field"]) == (status, field), answer.text
    assert found["total"]["billed_calls"] == 0
