"""The catalog over HTTP: pages, filters, and what a model's name means."""

from __future__ import annotations

import pytest

from tests.support.operations import Operations
from tests.support.web import make_app


@pytest.fixture(scope="module")
def operations() -> Operations:
    return Operations(make_app(warm=()))


async def test_models_are_listed_page_by_page(operations: Operations) -> None:
    whole = await operations.ask("list_models", limit="500", provider="openai")
    assert whole["total"] == len(whole["models"]) > 50
    seen: list[str] = []
    token = ""
    while token is not None:
        page = await operations.ask("list_models", limit="20", provider="openai", page_token=token)
        seen += [model["id"] for model in page["models"]]
        token = page["next_page_token"]
    assert seen == [model["id"] for model in whole["models"]]
    found = (await operations.ask("list_models", search="GPT-4o"))["models"]
    assert {model["id"] for model in found} >= {"gpt-4o", "gpt-4o-mini"}
    assert (await operations.ask("list_models", search="no such"))["models"] == []


async def test_models_are_listed_with_prices_where_asked(operations: Operations) -> None:
    listed = (await operations.ask("list_models", search="gpt-4o", prices="true"))["models"]
    (model,) = (row for row in listed if row["id"] == "gpt-4o")
    assert model == await operations.ask("get_model", model_id="gpt-4o")
    assert "prices" not in (await operations.ask("list_models", search="gpt-4o"))["models"][0]
    assert await operations.refuse("list_models", prices="yes") == ("invalid_request", "prices")


@pytest.mark.parametrize("limit", ["0", "501", "-1", "x", "", "١"])
async def test_bad_page_is_refused(operations: Operations, limit: str) -> None:
    assert await operations.refuse("list_models", limit=limit) == ("invalid_request", "limit")


async def test_model_says_the_rule_and_whether_it_was_inferred(operations: Operations) -> None:
    name = "bedrock/us-east-2/us.anthropic.claude-3-haiku-20240307-v1:0"
    answer = await operations.ask("get_model", model_id=name)
    assert (answer["id"], answer["model_match"]) == ("claude-3-haiku", "alias")
    assert answer["rule"] == "bedrock/+bedrock-id+cloud-version"
    assert answer["prices"]["provider"] == "aws"
    assert (await operations.ask("get_model", model_id="gpt-5.9-nova"))["model_match"] == "inferred"
    assert (await operations.ask("get_model", model_id="gpt-5.9-nova"))["prices"] is None
    steps = (await operations.ask("get_model", model_id="gemini-2.5-pro"))["prices"]["rates"]["input"]["steps"]
    assert steps == [{"above_input_tokens": 0, "price": "1.25"}, {"above_input_tokens": 200_000, "price": "2.5"}]


async def test_a_query_that_nobody_reads_is_refused(operations: Operations) -> None:
    assert await operations.refuse("list_models", serach="gpt") == ("invalid_request", "serach")
    assert await operations.refuse("list_models", limit="1", page="2") == ("invalid_request", "page")
    assert await operations.refuse("get_model", model_id="gpt-4o", prices="true") == ("invalid_request", "prices")
    assert (await operations.call("list_models", limit="1", key="abc")).status_code == 200  # some SDKs send a key so


async def test_a_name_that_nobody_knows_is_refused(operations: Operations) -> None:
    assert await operations.refuse("get_model", model_id="no/such/model") == ("unknown_model", "model")
