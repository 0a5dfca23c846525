"""Rows whose answers depend on the rows before them: budgets with their leases, and the ledger of usage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.golden.row import DROP, JSON_TYPE, TIMES, Row, get, variants
from tests.golden.validation import NOT_STRINGS, TEXT, each

CATALOG = """
[aliases]
"prod-chat" = "gpt-4o"

[models."acme-chat-1"]
like = "llama-3.1-8b-instruct"
window = 32768
max_output = 4096
prices = { input = "0.20", output = "0.60", cache_read = "0.02" }

[models."acme-unpriced"]
like = "llama-3.1-8b-instruct"
window = 1000
prices = { output = "0.60" }

[budgets.team-a]
limit_usd = "50"

[budgets.small]
limit_usd = "0.01"
per = "day"
zone = "Asia/Seoul"
lease_seconds = 60

[budgets.tokens]
limit_tokens = 1000
per = "total"
"""
"""The operator's file of every server here."""


REQUEST = {"model": "gpt-4o", "text": TEXT, "max_output_tokens": 500}


def post(name: str, path: str, body: Any, **more: Any) -> Row:
    """A row of /v1/budgets."""
    return Row(name, f"POST /v1/budgets/{path}", body, mask=TIMES, **more)


def budget_rows() -> Iterator[Row]:
    for path in ("", "/team-a", "/small", "/tokens", "/nobody", "/team%2Da", "?limit=1", "/team-a?x=1"):
        yield get(f"/v1/budgets{path}", mask=TIMES)
    yield from _lease_rows()
    yield get("/v1/budgets", "at the end", mask=TIMES)
    yield from _path_rows()
    yield from _amount_rows()
    yield from _field_rows()


def _lease_rows() -> Iterator[Row]:
    usage = {"prompt_tokens": 14, "completion_tokens": 120}
    yield post("a request is reserved", "team-a/reserve", REQUEST, keep={"lease_id": "lease"})
    yield get("/v1/budgets/team-a", "with a lease", mask=TIMES)
    yield post("settled by usage", "team-a/settle", {"lease_id": "<lease>", "model": "gpt-4o", "usage": usage})
    yield post("settled again", "team-a/settle", {"lease_id": "<lease>", "amount_usd": "1"})
    yield post("released after it was settled", "team-a/release", {"lease_id": "<lease>"})
    yield post("an amount is reserved", "small/reserve", {"amount_usd": "0.004"}, keep={"lease_id": "second"})
    yield post("more than is left", "small/reserve", {"amount_usd": "0.0061"})
    yield post("a lease of another budget", "team-a/release", {"lease_id": "<second>"})
    yield post("released", "small/release", {"lease_id": "<second>"})
    yield post("released again", "small/release", {"lease_id": "<second>"})
    yield post("what was too much fits now", "small/reserve", {"amount_usd": 0.0061}, keep={"lease_id": "third"})
    yield post("settled above the lease", "small/settle", {"lease_id": "<third>", "amount_usd": "0.02"})
    yield post("nothing is left", "small/reserve", {"amount_usd": "0.000000001"})
    yield post("tokens are reserved", "tokens/reserve", {"tokens": 400}, keep={"lease_id": "fourth"})
    yield post("more tokens than there are", "tokens/reserve", {"tokens": 601})
    yield post("tokens of a request", "tokens/reserve", REQUEST, keep={"lease_id": "fifth"})
    yield post("settled by tokens", "tokens/settle", {"lease_id": "<fourth>", "tokens": 350})
    yield post("settled by usage in tokens", "tokens/settle", {"lease_id": "<fifth>", "usage": usage})
    yield post("no price is known", "team-a/reserve", {"model": "acme-unpriced", "text": "x"})


def _path_rows() -> Iterator[Row]:
    """What is wrong with the path or with the whole body."""
    for name in ("reserve", "settle", "release"):
        body = {"lease_id": "x"} if name == "release" else {"lease_id": "x", "tokens": 1}
        yield post(f"{name} of nobody", f"nobody/{name}", body)
        yield Row(f"{name} with GET", f"GET /v1/budgets/team-a/{name}", headers={})
        yield post(f"{name} of bad JSON", f"team-a/{name}", b"{")
        yield post(f"{name} of an array", f"team-a/{name}", [])
        yield post(f"{name} of nothing", f"team-a/{name}", {})


def _amount_rows() -> Iterator[Row]:
    """Amounts that are wrong, or right and beside something else."""
    changes: tuple[dict[str, Any], ...] = (
        *each("amount_usd", "-1", "1_0", "x", "", True, [], 9_000_001, "NaN"),
        *each("tokens", 1, -1, 1.5, "1", True, 10**9 + 1),
        {"amount_usd": "1", "tokens": 1}, {"amount_usd": "1", "model": "gpt-4o"}, {"amount_usd": None, "tokens": None},
    )
    for change in changes:
        yield post(f"reserve {change}", "team-a/reserve", change)
        yield post(f"settle {change}", "team-a/settle", {"lease_id": "0-0", **change})


def _field_rows() -> Iterator[Row]:
    yield from variants(
        "/v1/budgets/team-a/reserve", {**REQUEST, "max_output_tokens": 501},
        *each("max_output_tokens", -1, 1.5, "1", 10**9 + 1, True), *each("model", 3, DROP, "no-such"),
        *each("text", 3, DROP), *each("service_tier", 3, "slow"), {"surprise": "x", "text": 3}, {"amount_usd": "1"},
        {"tokens": 1}, {"engine": "warp"}, {"model": DROP, "tokenizer": "gemma3"}, mask=(*TIMES, "lease_id"),
    )
    yield from variants(
        "/v1/budgets/team-a/settle", {"lease_id": "0-0", "model": "gpt-4o", "usage": {"input": 1}},
        *each("lease_id", 3, None, DROP, "x" * 101), *each("usage", 3, [], {"x": 1}, {"input": -1}, DROP),
        *each("model", 3, "no-such", DROP, "acme-unpriced"), *each("dialect", "klingon", "google", 3),
        *each("service_tier", "slow", 3), {"surprise": 1}, {"amount_usd": "1"},
    )
    yield from variants(
        "/v1/budgets/team-a/release", {"lease_id": "0-0"}, *each("lease_id", 3, None, DROP, "x" * 101, ""),
        {"amount_usd": "1"}, {"surprise": "x"},
    )


# ---------------------------------------------------------------- the ledger

BILL = {
    "model": "gpt-4o", "counted_tokens": 61,
    "usage": {"prompt_tokens": 61, "completion_tokens": 9, "total_tokens": 70},
}


def usage_rows() -> Iterator[Row]:
    chat = {"messages": [{"role": "user", "content": TEXT}]}
    yield from variants(
        "/v1/usage", BILL, *each("model", *NOT_STRINGS, None, DROP, "no-such", "acme-unpriced", "claude-opus-4-8"),
        *each("counted_tokens", 0, -1, 1.5, "61", True, None, 10**12 + 1, DROP),
        *each("usage", None, DROP, 3, {}, {"input": 5}, {"input": -1}, {"x": 1}, {"input": 10**13}),
        *each("usage_dialect", "openai.chat", "anthropic", "klingon", 3), *each("service_tier", "batch", "slow", 3),
        *each("at", "<yesterday>", "2020-01-01", "2099-01-01", "x", 3), {"surprise": "x"},
        {"surprise": "x", "usage": 3}, {"text": "x"}, {"engine": "warp"},
        *({"counted_tokens": DROP, **change} for change in (
            {"text": TEXT}, {"text": 3}, {"texts": ["a", "b"]}, {"texts": ["a", 3]}, {"request": chat},
            {"request": {"messages": 3}}, {"request": chat, "dialect": "x"},
        )),
    )
    yield Row("bad JSON", "POST /v1/usage", b"{")
    yield Row("an array", "POST /v1/usage", [])
    yield Row("PUT", "PUT /v1/usage", BILL)
    yield Row("HEAD", "HEAD /v1/usage", headers={})
    yield Row("POST of drift", "POST /v1/usage/drift", BILL)
    yield Row("another project", "POST /v1/usage", BILL, {**JSON_TYPE, "x-tallystick-project": "team-b"})
    yield from _report_rows()


SINCE = "from=<yesterday>"

REPORTS = (
    "", SINCE, f"{SINCE}&group_by=", f"{SINCE}&group_by=model", f"{SINCE}&group_by=project,model",
    f"{SINCE}&group_by=model&model=gpt-4o", f"{SINCE}&group_by=&project=team-b", f"{SINCE}&group_by=&project=nobody",
    f"{SINCE}&group_by=model&format=csv", f"{SINCE}&group_by=project&format=prometheus", f"{SINCE}&format=prometheus",
    f"{SINCE}&group_by=&format=json", "from=2026-10-01&to=2026-10-03",
    "from=2026-10-01&to=2026-10-03&time_zone=Asia/Kolkata&group_by=day,model",
    "from=2026-10-01T09:30:00%2B01:00&to=2026-10-01T12:00:00+01:00&group_by=hour", "from=x", "to=x",
    "from=2026-10-03&to=2026-10-01", "from=2021-01-01&to=2026-01-01", "from=1999-01-01", "time_zone=Mars",
    "time_zone=../etc", "group_by=hour,day", "group_by=x", "format=xml", "format=prometheus&group_by=day",
    "surprise=1", "limit=3", f"{SINCE}&{SINCE}&group_by=",
)

DRIFTS = (
    "", SINCE, "from=2026-10-01&to=2026-10-03&time_zone=Asia/Seoul", "from=x", "time_zone=Mars", "group_by=x",
    "surprise=1",
)


def _report_rows() -> Iterator[Row]:
    for query in REPORTS:
        yield get(f"/v1/usage?{query}", mask=() if "to=" in query else TIMES)
    for query in DRIFTS:
        yield get(f"/v1/usage/drift?{query}", mask=() if "to=" in query else TIMES)
    path = f"/v1/usage?{SINCE}&group_by=model"
    for accept in ("text/csv", "text/csv;q=0.9", "application/json", "text/plain", "application/json, text/csv"):
        yield get(path, f"accept {accept}", {"accept": accept}, mask=TIMES)
    yield get(f"{path}&format=json", "format before accept", {"accept": "text/csv"}, mask=TIMES)
