from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.api.schemas.count import BatchAnswer, CountAnswer
from service.api.schemas.errors import ErrorAnswer
from service.api.schemas.models import TokenizersAnswer
from service.catalog import version
from service.dialects import native
from service.errors import InvalidRequest, UnknownModel
from tests.support.web import client_of, make_app

HELLO = "Hello, world! 안녕하세요."


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(make_app()) as client:
        yield client


async def count(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await client.post("/v1/countTokens", json=body)
    assert answer.status_code == 200, answer.text
    CountAnswer.model_validate_json(answer.content)  # what OpenAPI promises
    found: dict[str, Any] = answer.json()
    return found


async def refusal(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await client.post("/v1/countTokens", json=body)
    assert answer.status_code >= 400
    ErrorAnswer.model_validate_json(answer.content)
    found: dict[str, Any] = answer.json()["error"]
    return found


# ---------------------------------------------------------------- counting texts


@pytest.mark.parametrize(
    ("tokenizer", "tokens"), [("o200k_base", 7), ("cl100k_base", 9), ("p50k_base", 19), ("claude", 12), ("gemma3", 6)]
)
async def test_a_text_is_counted_alone(client: httpx.AsyncClient, tokenizer: str, tokens: int) -> None:
    answer = await count(client, tokenizer=tokenizer, text=HELLO)
    assert answer["input_tokens"] == tokens
    assert answer["details"] == {"messages": tokens}
    assert answer["method"] == "exact"
    assert answer["error_band"] == {"low": tokens, "high": tokens}
    assert (answer["cost"], answer["context"], answer["model"]) == (None, None, None)


async def test_a_model_brings_its_tokenizer(client: httpx.AsyncClient) -> None:
    answer = await count(client, model="openai/gpt-4o", text=HELLO)
    assert (answer["model"], answer["model_ref"], answer["provider"]) == ("gpt-4o", "openai/gpt-4o", "openai")
    assert (answer["tokenizer"], answer["tokenizer_revision"], answer["input_tokens"]) == ("o200k_base", "446a9538", 7)
    assert answer["model_match"] == "alias"


async def test_a_count_says_what_it_costs_and_what_it_leaves(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/countTokens", json={"model": "gpt-4o", "text": HELLO})
    assert answer.json()["cost"] == {
        "currency": "USD", "input": "0.0000175", "price_status": "known", "prices_version": version(),
    }
    assert answer.json()["context"] == {"window": 128_000, "remaining": 127_993, "fits": True}
    assert answer.headers["x-tallystick-cost"] == "0.0000175"
    azure = await count(client, model="azure/gpt-4o", text=HELLO)
    assert azure["cost"]["price_status"] == "inferred"
    assert (await count(client, model="gpt-4o", text=""))["cost"]["input"] == "0"


async def test_what_is_not_known_is_null(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/countTokens", json={"model": "gpt-5.9-nova", "text": HELLO})
    assert (answer.json()["cost"], answer.json()["context"], answer.json()["input_tokens"]) == (None, None, 7)
    assert answer.headers["x-tallystick-cost"] == "unknown"


async def test_a_provider_that_refuses_shorter_inputs_than_the_window_is_told(client: httpx.AsyncClient) -> None:
    context = (await count(client, model="gpt-5", text=HELLO))["context"]
    assert context == {"window": 400_000, "remaining": 271_993, "fits": True, "max_input": 272_000}
    long = (await count(client, model="gpt-4", text="hello " * 9_000))["context"]
    assert (long["fits"], long["remaining"] < 0) == (False, True)


async def test_cost_and_context_are_those_of_a_foreign_wire(client: httpx.AsyncClient) -> None:
    body = {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": HELLO}]}
    answer = await client.post("/v1/messages/count_tokens", json=body)
    own = await count(client, model="claude-sonnet-4-5", request=body)
    assert answer.headers["x-tallystick-cost"] == own["cost"]["input"]
    assert Decimal(own["cost"]["input"]) * 1_000_000 == own["input_tokens"] * 3


async def test_texts_are_summed_and_told_one_by_one(client: httpx.AsyncClient) -> None:
    answer = await count(client, tokenizer="o200k_base", texts=[HELLO, "", "strawberry"])
    assert (answer["input_tokens"], answer["counts"]) == (10, [7, 0, 3])
    assert "counts" not in await count(client, tokenizer="o200k_base", text="x")
    assert (await count(client, tokenizer="o200k_base", texts=[]))["counts"] == []


async def test_special_token_strings_are_text_unless_asked(client: httpx.AsyncClient) -> None:
    text = "<|endoftext|>"
    assert (await count(client, tokenizer="cl100k_base", text=text))["input_tokens"] == 7
    assert (await count(client, tokenizer="cl100k_base", text=text, special_tokens="parse"))["input_tokens"] == 1


async def test_the_post_processor_adds_a_bos_when_asked(client: httpx.AsyncClient) -> None:
    assert (await count(client, tokenizer="gemma3", text=HELLO, add_special_tokens=True))["input_tokens"] == 7


async def test_engines_can_be_chosen_and_agree(client: httpx.AsyncClient) -> None:
    found = [await count(client, tokenizer="o200k_base", text=HELLO, engine=e) for e in ("auto", "fast", "reference")]
    assert [answer["input_tokens"] for answer in found] == [7, 7, 7]


async def test_the_legacy_provider_alias_of_claude_warns_and_is_an_estimate(client: httpx.AsyncClient) -> None:
    answer = await count(client, provider="anthropic", text=HELLO)
    assert (answer["input_tokens"], answer["tokenizer"], answer["method"]) == (12, "claude", "estimate")
    assert answer["error_band"]["high"] > 12
    assert answer["warnings"] == [{"code": "legacy_tokenizer_claude_3_and_later_need_model", "path": "provider"}]
    exact = await count(client, provider="google", text=HELLO)
    assert (exact["method"], exact["warnings"]) == ("exact", [])


async def test_repairs_and_unknown_fields_are_told(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/countTokens", content=rb'{"tokenizer":"o200k_base","text":"a\ud800b","txet":1}')
    assert answer.json()["input_tokens"] == 3
    assert answer.json()["warnings"] == [
        {"code": "lone_surrogate_replaced", "path": "text"}, {"code": "unknown_field_ignored", "path": "txet"},
    ]


async def test_plain_text_takes_its_target_from_the_query(client: httpx.AsyncClient) -> None:
    url = "/v1/countTokens?tokenizer=gemma3&add_special_tokens=true"
    headers = {"content-type": "text/plain; charset=utf-8"}
    answer = await client.post(url, content=HELLO.encode(), headers=headers)
    assert answer.json()["input_tokens"] == 7
    marked = await client.post(url, content=b"\xef\xbb\xbf" + HELLO.encode(), headers=headers)
    assert marked.json()["input_tokens"] == 7
    assert marked.json()["warnings"] == [{"code": "bom_removed", "path": ""}]
    assert (await client.post(url, content=b"caf\xe9", headers=headers)).status_code == 400
    other = {"content-type": "text/plain; charset=euc-kr"}
    assert (await client.post(url, content=b"x", headers=other)).status_code == 415


# ---------------------------------------------------------------- whole requests


MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": HELLO}]


async def test_a_request_is_counted_with_its_frame(client: httpx.AsyncClient) -> None:
    answer = await count(client, model="gpt-4o", request={"messages": MESSAGES})
    assert answer["input_tokens"] == sum(answer["details"].values())
    assert answer["details"]["frame"] > 0
    assert answer["input_tokens"] > 7


async def test_a_request_may_name_its_model_itself(client: httpx.AsyncClient) -> None:
    inside = await count(client, request={"model": "gpt-4o", "messages": MESSAGES})
    assert inside == await count(client, model="gpt-4o", request={"messages": MESSAGES})


async def test_a_dialect_is_inferred_or_said(client: httpx.AsyncClient) -> None:
    contents = {"contents": [{"role": "user", "parts": [{"text": HELLO}]}]}
    inferred = await count(client, model="gemini-2.5-flash", request=contents)
    assert inferred == await count(
        client, model="gemini-2.5-flash", request=contents, dialect="google.countTokens"
    )
    assert (await refusal(client, model="gpt-4o", request=contents, dialect="nope"))["field"] == "dialect"
    assert (await refusal(client, model="gpt-4o", request={"a": 1}))["field"] == "dialect"


async def test_an_error_inside_a_request_is_named_by_its_path(client: httpx.AsyncClient) -> None:
    error = await refusal(client, model="gpt-4o", request={"messages": [{"role": "user", "content": 5}]})
    assert error["field"] == "request.messages[0].content"


# ---------------------------------------------------------------- refusals


SECRET = "my password is hunter2"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": SECRET}, "model"),
        ({"model": "gpt-4o"}, "text"),
        ({"model": "gpt-4o", "tokenizer": "gpt2", "text": SECRET}, "tokenizer"),
        ({"model": "gpt-4o", "text": SECRET, "texts": [SECRET]}, "texts"),
        ({"model": "gpt-4o", "texts": [SECRET, 5]}, "texts[1]"),
        ({"model": "gpt-4o", "texts": SECRET}, "texts"),
        ({"model": "gpt-4o", "text": [SECRET]}, "text"),
        ({"model": [SECRET], "text": "x"}, "model"),
        ({"model": SECRET, "text": "x"}, "model"),
        ({"tokenizer": SECRET, "text": "x"}, "tokenizer"),
        ({"provider": SECRET, "text": "x"}, "provider"),
        ({"model": "gpt-4o", "text": "x", "engine": SECRET}, "engine"),
        ({"model": "gpt-4o", "text": "x", "add_special_tokens": SECRET}, "add_special_tokens"),
        ({"model": "gpt-4o", "request": {"messages": []}, "platform": SECRET}, "platform"),
        ({"model": "gpt-4o", "request": {"messages": []}, "dialect": SECRET}, "dialect"),
        ({"tokenizer": "gpt2", "request": {"messages": []}}, "model"),
    ],
)
async def test_a_refusal_names_the_field_and_never_what_was_sent(
    client: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    error = await refusal(client, **body)
    assert error["field"] == field
    assert "hunter2" not in json.dumps(error)


async def test_an_unknown_model_gets_its_neighbours(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/countTokens", json={"model": "gtp-4o", "text": "x"})
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "unknown_model"
    assert "gpt-4o" in answer.json()["error"]["near"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["model", "tokenizer", "text", "texts", "request", "messages", "contents", "role", "parts"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(_JSON)
def test_no_body_makes_reading_fail_but_by_a_refusal(value: Any) -> None:
    with suppress(InvalidRequest, UnknownModel):
        native.read(value)


def test_too_many_texts_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="texts"):
        native.read({"model": "gpt-4o", "texts": [""] * (native.MAX_TEXTS + 1)})


# ---------------------------------------------------------------- batch


async def test_a_batch_keeps_its_order_and_an_error_takes_the_place_of_its_item(client: httpx.AsyncClient) -> None:
    items = [
        {"tokenizer": "o200k_base", "text": HELLO},
        {"tokenizer": "nope", "text": "x"},
        5,
        {"model": "nobody-knows-this", "text": "x"},
        {"tokenizer": "claude-v4.8", "texts": ["hello, world"]},
    ]
    answer = await client.post("/v1/countTokens:batch", json={"items": items})
    BatchAnswer.model_validate_json(answer.content)
    body = answer.json()
    assert [row.get("input_tokens") for row in body["results"]] == [7, None, None, None, 4]
    fields = [row["error"]["field"] for row in body["results"][1:4]]
    assert fields == ["items[1].tokenizer", "items[2]", "items[3].model"]
    assert (body["failed"], body["input_tokens"]) == (3, None)


async def test_a_batch_of_small_items_answers_for_each(client: httpx.AsyncClient) -> None:
    items = [{"tokenizer": "o200k_base", "text": "hi"}, {"model": "nobody-knows-this", "text": "x"}]
    await client.post("/v1/countTokens:batch", json={"items": items})  # loads what is needed
    body = (await client.post("/v1/countTokens:batch", json={"items": items})).json()
    assert [row.get("input_tokens") for row in body["results"]] == [1, None]


async def test_a_batch_equals_its_items_one_by_one(client: httpx.AsyncClient) -> None:
    items: list[dict[str, Any]] = [
        {"model": "gpt-4o", "request": {"messages": MESSAGES}}, {"tokenizer": "gemma3", "text": HELLO},
        {"provider": "anthropic", "text": HELLO},
    ]
    singles = [await count(client, **item) for item in items]
    body = (await client.post("/v1/countTokens:batch", json={"items": items})).json()
    for row in body["results"]:
        row["warnings"] = [{**warned, "path": warned["path"].removeprefix("items[2].")} for warned in row["warnings"]]
    assert body["results"] == singles
    assert body["input_tokens"] == sum(single["input_tokens"] for single in singles)


async def test_a_repair_is_told_where_it_was_made(client: httpx.AsyncClient) -> None:
    content = rb'{"items":[{"tokenizer":"gpt2","text":"a"},{"tokenizer":"gpt2","text":"\udc00"}]}'
    body = (await client.post("/v1/countTokens:batch", content=content)).json()
    assert [row["warnings"] for row in body["results"]] == [
        [], [{"code": "lone_surrogate_replaced", "path": "items[1].text"}],
    ]


@pytest.mark.parametrize("items", [None, [], "x", [{}] * 1001])
async def test_a_batch_without_items_or_with_too_many_is_refused(client: httpx.AsyncClient, items: Any) -> None:
    answer = await client.post("/v1/countTokens:batch", json={"items": items})
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == "items"


# ---------------------------------------------------------------- tokenizers


async def test_tokenizers_are_listed_with_their_data(client: httpx.AsyncClient) -> None:
    body = TokenizersAnswer.model_validate_json((await client.get("/v1/tokenizers")).content)
    rows = {row.name: row for row in body.tokenizers}
    assert rows["o200k_base"].revision == "446a9538"
    assert set(body.providers.values()) <= set(rows)
