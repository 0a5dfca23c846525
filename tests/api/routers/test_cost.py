"""The decision routes below HTTP: their examples played again, their refusals, and what they promise."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from service.api.decision_rows import DECISIONS
from service.api.routers.decisions import Deciders, without_messages

from service.budgets.leases import MemoryLeases
from service.budgets.named import NANOS, Budget
from service.counting.counter import Counter
from service.errors import InvalidRequest, NotFound, ServiceError, TooLarge, UnknownModel
from service.types import CountRequest

ROWS = {row.name: row for row in DECISIONS}
BUDGETS = {"usd": Budget("usd", "usd", NANOS), "tok": Budget("tok", "tokens", 1_000)}
COUNTER = Counter.in_memory()


def _deciders() -> Deciders:
    return Deciders(COUNTER, MemoryLeases(), lambda: BUDGETS)


def _ask(row: str, body: Any, deciders: Deciders | None = None, /, **params: str) -> Any:
    return ROWS[row].handle(body, params, deciders or _deciders()).body


# ---------------------------------------------------------------- cost


def test_cost_of_cached_tokens_is_the_same_in_every_provider_s_words() -> None:
    """86 fresh and 17,817 cached tokens, said inclusively and exclusively."""
    openai = {"input_tokens": 17_903, "input_tokens_details": {"cached_tokens": 17_817}, "output_tokens": 10}
    anthropic = {"input_tokens": 86, "cache_read_input_tokens": 17_817, "output_tokens": 10}
    google = {"promptTokenCount": 17_903, "cachedContentTokenCount": 17_817, "candidatesTokenCount": 10}
    answers = [_ask("estimate_cost", {"model": "gpt-5.4", "usage": usage}) for usage in (openai, anthropic, google)]
    totals = {answer["total"] for answer in answers}
    assert totals == {"0.00481925"}


def test_unknown_price_is_null() -> None:
    answer = _ask("estimate_cost", {"model": "gpt-5.9-nova", "usage": {"input": 1_000_000}})
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
def test_bad_estimate_is_refused_by_path(body: Any, field: str | None) -> None:
    with pytest.raises(InvalidRequest) as caught:
        _ask("estimate_cost", body)
    assert caught.value.field == field


# ---------------------------------------------------------------- checks


def test_check_says_why_it_cannot_decide() -> None:
    answer = _ask("check_budget", {"model": "gpt-5.9-nova", "text": "hello", "max_cost_usd": 1})
    assert (answer["decision"], answer["fits"]) == ("cannot_decide", None)
    assert len(answer["reasons"]) == 2
    with pytest.raises(UnknownModel) as caught:
        _ask("check_budget", {"model": "gtp-4o", "text": "hello"})
    assert caught.value.suggestions[0] == "gpt-4o"


@pytest.mark.parametrize("cost", ["0.05", 0.05, "5e-2"])
def test_money_may_be_a_string_or_a_number(cost: Any) -> None:
    answer = _ask("check_budget", {"model": "gpt-4o", "text": "hello", "max_cost_usd": cost})
    (found,) = [row for row in answer["constraints"] if row["constraint"] == "max_cost_usd"]
    assert Decimal(found["allowed"]) == Decimal("0.05")


@pytest.mark.parametrize(("field", "value"), [
    ("max_cost_usd", "cheap"), ("max_cost_usd", -1), ("max_cost_usd", "NaN"), ("max_cost_usd", True),
    ("max_cost_usd", [1]), ("max_cost_usd", "1e999999999"), ("max_input_tokens", -1),
    ("max_input_tokens", "7"), ("max_output_tokens", 1.5),
    ("max_input_tokens", 10**30), ("service_tier", 3), ("at", 3),
])
def test_bad_limit_is_refused_by_path(field: str, value: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        _ask("check_budget", {"model": "gpt-4o", "text": "hello", field: value})
    assert caught.value.field == field


def test_check_of_a_whole_request_uses_its_upper_end() -> None:
    body = {"model": "gpt-4o", "request": {"messages": [{"role": "user", "content": "hello " * 100}]}}
    answer = _ask("check_budget", body)
    high = answer["error_band"]["high"]
    assert _ask("check_budget", {**body, "max_input_tokens": high})["fits"] is True
    assert _ask("check_budget", {**body, "max_input_tokens": high - 1})["fits"] is False


# ---------------------------------------------------------------- comparing


def test_comparison_is_cheapest_first_and_keeps_errors_apart() -> None:
    answer = _ask("compare", {"models": ["gpt-4", "grok-4", "gpt-4o", "gpt-4o-mini"], "text": "hello"})
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
def test_bad_comparison_is_refused_by_path(body: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        _ask("compare", body)
    assert caught.value.field == field


# ---------------------------------------------------------------- cutting


@pytest.mark.parametrize("model", ["gpt-4o", "gemini-2.5-flash", "claude-opus-4-8"])
@pytest.mark.parametrize("cut_from", ["end", "start", "middle"])
def test_truncated_text_recounts_to_what_was_said(model: str, cut_from: str) -> None:
    text = "The quick brown fox 🦊 jumps over the lazy dog. 안녕하세요! " * 50
    answer = _ask("truncate", {"model": model, "text": text, "max_tokens": 60, "cut_from": cut_from, "marker": " […] "})
    again = COUNTER.count(CountRequest(model_ref=model, texts=(answer["text"],)))
    assert again.input_tokens == answer["tokens"] <= 60
    assert answer["truncated"]
    for start, end in answer["kept"]:
        assert text[start:end] in answer["text"]


CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "one " * 30},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}},
    ]},
    {"role": "tool", "tool_call_id": "c", "content": "42"},
    {"role": "assistant", "content": "So it is 42."},
    {"role": "user", "content": "Thanks. And two?"},
]


def test_truncated_conversation_is_a_body_that_recounts() -> None:
    answer = _ask("truncate", {"model": "gpt-4o", "request": {"messages": CHAT, "temperature": 0}, "max_tokens": 40})
    assert answer["request"] == {"messages": [CHAT[0], CHAT[5]], "temperature": 0}
    assert answer["dropped"] == ["messages[1]", "messages[2]", "messages[3]", "messages[4]"]
    again = _ask("check_budget", {"model": "gpt-4o", "request": answer["request"]})
    assert again["input_tokens"] == answer["tokens"] == answer["input_tokens"] <= 40
    assert answer["count_before"] > 40


def test_conversation_that_fits_is_left_alone() -> None:
    answer = _ask("truncate", {"model": "gpt-4o", "request": {"messages": CHAT}, "max_tokens": 4_000})
    assert (answer["request"], answer["dropped"], answer["truncated"]) == ({"messages": CHAT}, [], False)


@pytest.mark.parametrize(("request_", "model"), [
    ({"system": "Be brief.", "messages": [
        {"role": "user", "content": "one " * 50}, {"role": "assistant", "content": "first"},
        {"role": "user", "content": "two"},
    ]}, "claude-opus-4-8"),
    ({"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [
        {"role": "user", "parts": [{"text": "one " * 50}]}, {"role": "model", "parts": [{"text": "first"}]},
        {"role": "user", "parts": [{"text": "two"}]},
    ]}, "gemini-2.5-flash"),
    ({"instructions": "Be brief.", "input": [
        {"role": "user", "content": "one " * 50}, {"role": "assistant", "content": "first"},
        {"role": "user", "content": "two"},
    ]}, "gpt-5"),
])
def test_conversations_of_every_dialect_are_cut(request_: dict[str, Any], model: str) -> None:
    answer = _ask("truncate", {"model": model, "request": request_, "max_tokens": 45})
    (name,) = {"messages", "contents", "input"} & request_.keys()
    assert answer["request"] == {**request_, name: request_[name][2:]}
    assert answer["dropped"] == [f"{name}[0]", f"{name}[1]"]


@pytest.mark.parametrize(("body", "field"), [
    ({"text": "x", "max_tokens": 1}, "model"),
    ({"model": "gpt-4o", "tokenizer": "o200k_base", "text": "x", "max_tokens": 1}, "model"),
    ({"model": "gpt-4o", "max_tokens": 1}, "text"),
    ({"model": "gpt-4o", "text": "x", "request": {"messages": []}, "max_tokens": 1}, "text"),
    ({"model": "gpt-4o", "text": "x", "max_tokens": 0}, "max_tokens"),
    ({"model": "gpt-4o", "text": "x"}, "max_tokens"),
    ({"model": "gpt-4o", "text": "x", "max_tokens": 1, "cut_from": "top"}, "cut_from"),
    ({"model": "gpt-4o", "text": "one two three", "max_tokens": 1, "marker": " and so on"}, "marker"),
    ({"model": "gpt-4o", "request": {"messages": CHAT}, "max_tokens": 5}, "max_tokens"),
    ({"model": "gpt-4o", "request": {"messages": CHAT}, "max_tokens": 5, "marker": "x"}, "request"),
    ({"tokenizer": "no-such", "text": "x", "max_tokens": 1}, "tokenizer"),
])
def test_bad_truncation_is_refused_by_path(body: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        _ask("truncate", body)
    assert caught.value.field == field


def test_messages_are_taken_out_where_they_stand() -> None:
    source = {"generateContentRequest": {"contents": ["a", "b", "c"], "tools": []}}
    left, dropped = without_messages(source, [
        "request.generateContentRequest.contents[0].parts[1]", "request.generateContentRequest.contents[2]",
    ])
    assert left == {"generateContentRequest": {"contents": ["b"], "tools": []}}
    assert dropped == ["generateContentRequest.contents[0]", "generateContentRequest.contents[2]"]
    assert source["generateContentRequest"]["contents"] == ["a", "b", "c"]


def test_split_pieces_are_the_text() -> None:
    text = "One two three four five. " * 100
    answer = _ask("split", {"tokenizer": "o200k_base", "text": text, "max_tokens": 50})
    assert "".join(piece["text"] for piece in answer["pieces"]) == text
    assert max(piece["tokens"] for piece in answer["pieces"]) <= 50
    with pytest.raises(InvalidRequest) as caught:
        _ask("split", {"tokenizer": "o200k_base", "text": text, "max_tokens": 50, "overlap_tokens": 50})
    assert caught.value.field == "overlap_tokens"


# ---------------------------------------------------------------- the catalog


def test_models_are_listed_page_by_page() -> None:
    whole = _ask("list_models", None, limit="500", provider="openai")
    assert whole["total"] == len(whole["models"]) > 50
    seen: list[str] = []
    token = ""
    while token is not None:
        page = _ask("list_models", None, limit="20", provider="openai", page_token=token)
        seen += [model["id"] for model in page["models"]]
        token = page["next_page_token"]
    assert seen == [model["id"] for model in whole["models"]]
    assert {model["id"] for model in _ask("list_models", None, search="GPT-4o")["models"]} >= {"gpt-4o", "gpt-4o-mini"}
    assert _ask("list_models", None, search="no such")["models"] == []


def test_models_are_listed_with_prices_where_asked() -> None:
    listed = _ask("list_models", None, search="gpt-4o", prices="true")["models"]
    (model,) = (row for row in listed if row["id"] == "gpt-4o")
    assert model == _ask("get_model", None, model_id="gpt-4o")
    assert "prices" not in _ask("list_models", None, search="gpt-4o")["models"][0]
    with pytest.raises(InvalidRequest) as caught:
        _ask("list_models", None, prices="yes")
    assert caught.value.field == "prices"


@pytest.mark.parametrize("limit", ["0", "501", "-1", "x", "", "١"])
def test_bad_page_is_refused(limit: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        _ask("list_models", None, limit=limit)
    assert caught.value.field == "limit"


def test_model_says_the_rule_and_whether_it_was_inferred() -> None:
    answer = _ask("get_model", None, model_id="bedrock/us-east-2/us.anthropic.claude-3-haiku-20240307-v1:0")
    assert (answer["id"], answer["model_match"]) == ("claude-3-haiku", "alias")
    assert answer["rule"] == "bedrock/+bedrock-id+cloud-version"
    assert answer["prices"]["provider"] == "aws"
    assert _ask("get_model", None, model_id="gpt-5.9-nova")["model_match"] == "inferred"
    assert _ask("get_model", None, model_id="gpt-5.9-nova")["prices"] is None
    steps = _ask("get_model", None, model_id="gemini-2.5-pro")["prices"]["rates"]["input"]["steps"]
    assert steps == [{"above_input_tokens": 0, "price": "1.25"}, {"above_input_tokens": 200_000, "price": "2.5"}]


# ---------------------------------------------------------------- named budgets


def test_reserve_by_counting_and_settle_by_usage() -> None:
    deciders = _deciders()
    body = {"model": "gpt-4o", "text": "hello", "max_output_tokens": 100}
    lease = _ask("reserve", body, deciders, name="usd")
    assert (lease["granted"], lease["amount"], lease["budget"]["kept_in"]) == (True, "0.0010025", "memory")
    settled = _ask("settle", {"lease_id": lease["lease_id"], "model": "gpt-4o", "usage": {
        "prompt_tokens": 8, "completion_tokens": 10,
    }}, deciders, name="usd")
    assert (settled["billed"], settled["budget"]["held"], settled["budget"]["spent"]) == ("0.00012", "0", "0.00012")
    tokens = _ask("reserve", body, deciders, name="tok")
    assert (tokens["amount"], tokens["budget"]["remaining"]) == (101, 899)
    assert _ask("release", {"lease_id": tokens["lease_id"]}, deciders, name="tok")["budget"]["remaining"] == 1_000


def test_counts_and_checks_touch_no_budget() -> None:
    deciders = _deciders()
    for _ in range(50):
        _ask("check_budget", {"model": "gpt-4o", "text": "hello", "max_cost_usd": "0.01"}, deciders)
        _ask("compare", {"models": ["gpt-4o"], "text": "hello"}, deciders)
    assert _ask("get_budget", None, deciders, name="usd")["remaining"] == "1"


def test_what_has_no_price_is_not_granted() -> None:
    answer = _ask("reserve", {"model": "gpt-5.9-nova", "text": "hello"}, name="usd")
    assert (answer["granted"], answer["amount"], answer["cost"]["price_status"]) == (False, None, "unknown")
    assert _ask("reserve", {"model": "gpt-5.9-nova", "text": "hello"}, name="tok")["granted"] is True


def test_refused_reservation_is_an_answer() -> None:
    answer = _ask("reserve", {"tokens": 1_001}, name="tok")
    assert (answer["granted"], answer["lease_id"], answer["retry_at"]) == (False, None, None)


@pytest.mark.parametrize(("row", "budget", "body", "error", "field"), [
    ("reserve", "nope", {"tokens": 1}, NotFound, "name"),
    ("get_budget", "nope", None, NotFound, "name"),
    ("reserve", "usd", {"tokens": 1}, InvalidRequest, "tokens"),
    ("reserve", "tok", {"amount_usd": "1"}, InvalidRequest, "amount_usd"),
    ("reserve", "usd", {"amount_usd": "1", "tokens": 1}, InvalidRequest, "tokens"),
    ("reserve", "usd", {"amount_usd": "lots"}, InvalidRequest, "amount_usd"),
    ("reserve", "usd", {"amount_usd": "1_0"}, InvalidRequest, "amount_usd"),
    ("reserve", "usd", {"amount_usd": "１"}, InvalidRequest, "amount_usd"),
    ("reserve", "usd", {"amount_usd": " 1"}, InvalidRequest, "amount_usd"),
    ("reserve", "usd", {"amount_usd": "1", "model": "gpt-4o", "text": "x"}, InvalidRequest, "model"),
    ("settle", "usd", {"lease_id": "x", "amount_usd": "1", "usage": {"input": 1}}, InvalidRequest, "usage"),
    ("reserve", "usd", {"tokenizer": "o200k_base", "text": "x"}, InvalidRequest, "model"),
    ("reserve", "usd", {}, InvalidRequest, "model"),
    ("settle", "usd", {"lease_id": "x"}, InvalidRequest, "usage"),
    ("settle", "usd", {"lease_id": "x", "amount_usd": "1"}, NotFound, "lease_id"),
    ("settle", "usd", {"lease_id": "x", "usage": {"input": 1}}, InvalidRequest, "model"),
    ("settle", "usd", {"lease_id": "x", "usage": {"input": 1}, "model": "gpt-5.9-nova"}, InvalidRequest, "usage"),
    ("settle", "usd", {"amount_usd": "1"}, InvalidRequest, "lease_id"),
    ("release", "usd", {"lease_id": "x"}, NotFound, "lease_id"),
    ("release", "usd", {"lease_id": "x" * 101}, InvalidRequest, "lease_id"),
])
def test_bad_budget_call_is_refused(
    row: str, budget: str, body: Any, error: type[ServiceError], field: str | None
) -> None:
    with pytest.raises(error) as caught:
        _ask(row, body, name=budget)
    assert caught.value.field == field


# ---------------------------------------------------------------- hostile bodies

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=8,
)
NAMES = st.sampled_from(sorted({
    "model", "models", "tokenizer", "text", "texts", "request", "usage", "max_tokens", "max_cost_usd", "at", "lease_id",
    "amount_usd", "tokens", "service_tier", "marker", "cut_from", "overlap_tokens", "max_output_tokens", "dialect",
}))


@pytest.mark.parametrize("name", [row.name for row in DECISIONS if row.method == "post"])
@given(body=st.dictionaries(NAMES, VALUES, max_size=6) | VALUES)
def test_no_body_raises_anything_but_a_refusal(name: str, body: Any) -> None:
    params: Mapping[str, str] = {"name": "usd"}
    answer: Any = None
    with contextlib.suppress(InvalidRequest, UnknownModel, NotFound, TooLarge):
        answer = ROWS[name].handle(body, params, _deciders()).body
    json.dumps(answer, allow_nan=False)
