"""The decision routes as rows: method, path, what they take, what they answer, an example of both.

The examples are real exchanges, kept in decision_examples.json; tests/api/test_decisions.py plays them again.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from service.api.routers import budgets as leases
from service.api.routers import decisions
from service.api.routers.decisions import Decision
from service.api.schemas.decision_bodies import (
    CheckBody,
    CompareBody,
    EstimateBody,
    ReleaseBody,
    ReserveBody,
    SettleBody,
    SplitBody,
    TruncateBody,
)
from service.dialects.endpoints import any_of
from service.types import Json

EXAMPLES_FILE = "decision_examples.json"

_PAGE = {
    "search": "Part of a model's id.",
    "provider": "Of this provider alone.",
    "family": "Of this family alone.",
    "limit": "Models a page: 1 to 500, 100 when absent.",
    "prices": "true: each with today's prices, as /v1/models/{model_id} has them.",
    "page_token": "next_page_token of the page before.",
}

DECISIONS: tuple[Decision, ...] = (
    Decision(
        "estimate_cost", "post", "/v1/estimateCost", "What usage costs, by the price list of its host",
        decisions.estimate_cost, EstimateBody,
    ),
    Decision(
        "check_budget", "post", "/v1/checkBudget", "Does a request fit window, tokens and money",
        decisions.check, CheckBody,
    ),
    Decision(
        "compare", "post", "/v1/compare", "The same input over up to 50 models, the cheapest first",
        decisions.compare_models, CompareBody,
    ),
    Decision(
        "truncate", "post", "/v1/truncate", "Cut a text or a conversation to at most N tokens",
        decisions.cut_text_or_chat, TruncateBody,
    ),
    Decision(
        "split", "post", "/v1/split", "Split a text into pieces of at most N tokens", decisions.split_text, SplitBody
    ),
    Decision(
        "list_models", "get", "/v1/models", "Models that can be counted, with limits and methods",
        decisions.list_models, None, query=_PAGE,
    ),
    Decision(
        "get_model", "get", "/v1/models/{model_id:path}", "What a model's name means, its limits, methods and prices",
        decisions.get_model, None,
    ),
    Decision(
        "list_budgets", "get", "/v1/budgets", "Every named budget", leases.list_budgets, None, asks_store=True
    ),
    Decision(
        "get_budget", "get", "/v1/budgets/{name}", "A named budget now", leases.get_budget, None, asks_store=True
    ),
    Decision(
        "reserve", "post", "/v1/budgets/{name}/reserve", "Lease a part of a budget before a call",
        leases.reserve, ReserveBody, asks_store=True,
    ),
    Decision(
        "settle", "post", "/v1/budgets/{name}/settle", "Charge what was billed and end the lease",
        leases.settle, SettleBody, asks_store=True,
    ),
    Decision(
        "release", "post", "/v1/budgets/{name}/release", "Give a lease back unused",
        leases.release, ReleaseBody, asks_store=True,
    ),
)


@cache
def examples() -> dict[str, Any]:
    """By the name of a row: `params`, `request` (null for a GET) and `response` of a real exchange."""
    found: dict[str, Any] = json.loads((resources.files("service.api.schemas") / EXAMPLES_FILE).read_text("utf-8"))
    return found


def schema_like(example: Json) -> dict[str, Any]:
    """The JSON schema of answers shaped like `example`. Every leaf may be null: it is where a thing is not known."""
    if isinstance(example, dict):
        return {"type": ["object", "null"], "properties": {key: schema_like(value) for key, value in example.items()}}
    if isinstance(example, list):
        schemas = [schema_like(item) for item in example]
        distinct = [schema for i, schema in enumerate(schemas) if schema not in schemas[:i]]
        return {"type": "array", "items": any_of(*distinct) if len(distinct) > 1 else next(iter(distinct), {})}
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {} if example is None else {"type": [names[type(example)], "null"]}
