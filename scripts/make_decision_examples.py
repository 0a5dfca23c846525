"""Write service/api/schemas/decision_examples.json: real exchanges of every decision route, for OpenAPI and the tests.

    python -m scripts.make_decision_examples
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from service.api.decision_rows import DECISIONS, EXAMPLES_FILE
from service.api.routers.decisions import Deciders

from service.budgets.leases import MemoryLeases
from service.budgets.named import NANOS, Budget
from service.counting.counter import Counter

HELLO = "Hello, world! 안녕하세요."

CHAT = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is a token, a piece or a character?"},
        {"role": "assistant", "content": "A piece of text, often a word."},
        {"role": "user", "content": "And in Korean?"},
    ]
}

REQUESTS: dict[str, tuple[dict[str, str], Any]] = {
    "estimate_cost": ({}, {
        "model": "claude-opus-4-8", "at": "2026-11-15",
        "usage": {"input_tokens": 10_000, "cache_read_input_tokens": 40_000, "output_tokens": 15_000},
    }),
    "check_budget": ({}, {
        "model": "gpt-4o", "text": HELLO, "max_output_tokens": 500, "max_cost_usd": "0.05", "at": "2026-11-15",
    }),
    "compare": ({}, {"models": ["gpt-4o", "gpt-4o-mini", "grok-4"], "text": HELLO, "output_tokens": 100}),
    "truncate": ({}, {"model": "gpt-4o", "request": CHAT, "max_tokens": 24}),
    "split": ({}, {
        "model": "gpt-4o", "text": "One sentence here. Another one there.", "max_tokens": 6, "split_at": "sentence",
    }),
    "list_models": ({"search": "gpt-4o", "limit": "1"}, None),
    "get_model": ({"model_id": "openai/gpt-4o-2024-08-06"}, None),
    "list_budgets": ({}, None),
    "get_budget": ({"name": "team-a"}, None),
    "reserve": ({"name": "team-a"}, {"model": "gpt-4o", "text": HELLO, "max_output_tokens": 500}),
    "settle": ({"name": "team-a"}, {
        "lease_id": "", "model": "gpt-4o", "usage": {"prompt_tokens": 14, "completion_tokens": 120},
    }),
    "release": ({"name": "team-a"}, {"lease_id": ""}),
}

LEASE = "6af87770-8d302e565fdb7a6d5ad2f785"


def play() -> dict[str, Any]:
    """Every exchange, with the lease ids, which are random, replaced by one of the same form."""
    budgets = {"team-a": Budget("team-a", "usd", 50 * NANOS, "day", ZoneInfo("Asia/Seoul"))}
    leases = MemoryLeases(lambda: datetime(2026, 11, 15, 12, tzinfo=UTC))
    deciders = Deciders(Counter.in_memory(), leases, lambda: budgets)
    handlers = {row.name: row.handle for row in DECISIONS}
    found: dict[str, Any] = {}
    for name, (params, request) in REQUESTS.items():
        if name in ("settle", "release"):
            lease = handlers["reserve"]({"amount_usd": "0.01"}, params, deciders).body["lease_id"]
            request = {**request, "lease_id": lease}  # noqa: PLW2901
        response = handlers[name](request, params, deciders).body
        if name == "reserve":
            handlers["release"]({"lease_id": response["lease_id"]}, params, deciders)
        request, response = (_with_one_lease(value) for value in (request, response))  # noqa: PLW2901
        found[name] = {"params": params, "request": request, "response": response}
    return found


def _with_one_lease(value: Any) -> Any:
    return {**value, "lease_id": LEASE} if isinstance(value, dict) and value.get("lease_id") else value


if __name__ == "__main__":
    target = Path(__file__).parents[1] / "service" / "api" / "schemas" / EXAMPLES_FILE
    target.write_text(json.dumps(play(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
