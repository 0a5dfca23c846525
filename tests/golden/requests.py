"""The requests of the golden transcript: which servers there are, and which groups of rows each of them is asked.

The groups of a server are played in this order, on a new server, since some answers depend on those before. A group is
a file of the transcript. To add a request, add a row to its table and record that group anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.golden import access, bodies, faults, state, validation
from tests.golden.row import TIMES, Row, Show, as_json, get

EXAMPLES = Path(__file__).with_name("examples.jsonl")

ENGINES = "engines"
"""The group that names the engines of tokenizers: recorded anew only when it is named."""


@dataclass(frozen=True)
class Server:
    """`settings` makes its settings, given a folder that holds catalog.toml."""

    groups: Mapping[str, Callable[[], Iterable[Row]]]
    settings: Callable[[Path], Mapping[str, Any]] = lambda _: {}


# ---------------------------------------------------------------- rows that have no table of their own


def example_rows() -> Iterator[Row]:
    """What /openapi.json gave as examples when this was recorded, for every operation there was."""
    for line in EXAMPLES.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        headers = {"content-type": row["type"]} if "type" in row else {}
        show: Show = "families" if row["name"] == "metrics" else "all"
        if row["name"] not in ("tokenizers", "readyz"):
            yield Row(row["name"], row["sent"], row.get("body"), headers, (*TIMES, "lease_id"), show=show)


def engine_rows() -> Iterator[Row]:
    yield get("/v1/tokenizers")
    yield get("/readyz")


GROWING = ("/openapi.json", "/metrics", "/v1/tokenizers")
"""Paths whose answers are compared in another group, or only in part."""


def plain_rows() -> Iterator[Row]:
    """What takes no body: operations, and paths that are none."""
    for path in ("/livez", "/v1/tokenizers", "/v1/models", "/v1/budgets", "/openapi.json", "/metrics",
        "/v1/usage/drift"):
        for method in ("HEAD", "OPTIONS", "POST", "DELETE"):
            hide = ("content-length",) if method == "HEAD" and path in GROWING else ()
            yield Row(f"{method} {path}", f"{method} {path}", None, {}, hide=hide)
        yield get(f"{path}/", mask=TIMES)
    yield get("/openapi.json", show="head")
    for accept in ("", "application/openmetrics-text; version=1.0.0", "text/plain"):
        yield get("/metrics", f"/metrics, accept {accept}", {"accept": accept}, show="families")
    yield get("/livez?verbose=1")
    yield get("/livez", "a request id of its own", {"x-request-id": "golden-get-1"})
    for path in (
        "/nothing", "/v1", "/v1/", "/v1/chat/completions", "/v1/messages", "/v1beta/nothing", "/v1/responses",
        "/anthropic/nothing", "/utils/nothing", "/tokenize/nothing", "/v1/embeddings", "/v1/projects/x",
        "/v1/publishers/x", "/v1/tunedModels/x", "/redoc", "/favicon.ico", "/%00", "/..", "//",
    ):
        yield get(path)
        yield Row(f"POST {path}", f"POST {path}", {})


def model_rows() -> Iterator[Row]:
    for query in (
        "limit=2", "limit=2&prices=true&search=gpt-4o", "search=gpt-4o-mini&limit=3", "search=GPT-4O-MINI&limit=1",
        "provider=anthropic&limit=2", "provider=nobody",
        "family=nobody", "search=claude-opus-4&provider=anthropic&limit=5", "search=acme", "search=acme&prices=true",
        "limit=0", "limit=501", "limit=x", "limit=", "limit=-1", "limit=1.5",
        "limit=%C2%B2", "prices=yes", "prices=", "page_token=gpt-4o&limit=1&search=gpt-4o", "page_token=zzzz",
        "surprise=1", "Limit=3", "limit=1&limit=2", "search=&limit=1", "limit=1&surprise",
        "limit=1&%E2%82%AC=1",
    ):
        yield get(f"/v1/models?{query}")
    for name in (
        "gpt-4o", "GPT-4o", "openai/gpt-4o-2024-08-06", "claude-opus-4-8", "claude-sonnet-4-5",
        "anthropic.claude-3-haiku-20240307-v1:0", "models/gemini-2.5-flash", "gemini-2.5-flash",
        "llama-3.1-8b-instruct", "prod-chat", "acme-chat-1", "acme-unpriced", "no-such-model", "gpt-4oo",
        "text-embedding-3-small", "gpt-4o?x=1", "gpt-4o/", "%20", "a%2Fb", "gpt-4%6F",
        "azure/gpt-4o", "tunedModels/mine",
    ):
        yield get(f"/v1/models/{name}")
    yield Row("POST of a model", "POST /v1/models/gpt-4o", {})


def page_rows() -> Iterator[Row]:
    """The page and its files. The page and its scripts may change: of them only status and headers are compared."""
    may_change: dict[str, Any] = {"show": "head", "hide": ("etag",)}
    yield get("/", **may_change)
    yield Row("HEAD /", "HEAD /", headers={}, **may_change)
    yield get("/", "the page, as it is known", {"if-none-match": "*"}, **may_change)
    yield get("/", "the page, as another one is known", {"if-none-match": '"other"'}, **may_change)
    for path in ("js/main.js", "index.html", "js/nothing.js", "nothing", "", "../app.py", "css"):
        scripts: dict[str, Any] = may_change if path == "js/main.js" else {}
        yield get(f"/web/<revision>/{path}", **scripts)
    for name in ("theme", "layout", "controls", "tokens", "charts"):
        yield get(f"/web/<revision>/css/{name}.css", show="sha256")
    yield get("/web/<revision>/icon.svg", show="sha256")
    yield get("/web/000000000000/icon.svg", "an old revision", show="sha256")
    yield get("/web/<revision>/icon.svg", "as it is known", {"if-none-match": "*"})
    yield Row("HEAD of a file", "HEAD /web/<revision>/icon.svg", headers={})
    for method in ("POST", "OPTIONS", "DELETE"):
        yield Row(f"{method} of a file", f"{method} /web/<revision>/icon.svg", headers={})
        yield Row(f"{method} of the page", f"{method} /", headers={})
    for path in ("/web", "/web/", "/web/icon.svg", "/index.html"):
        yield get(path)


def large_rows() -> Iterator[Row]:
    """Bodies that a thread counts, answers that are known the second time, and conversations that grow."""
    text = "The quick brown fox jumps over the lazy dog, 그리고 다시. " * 2_000
    for model in ("gpt-4o", "claude-opus-4-8", "gemini-2.5-flash"):
        for time in ("first", "second"):
            yield Row(f"{model}: a large text, {time}", "POST /v1/countTokens", {"model": model, "text": text})
    for model, path in (("claude-sonnet-4-5", "/v1/messages/count_tokens"), ("gpt-4o", "/utils/token_counter")):
        for turns in (1, 20, 21, 22, 22, 60, 61):
            roles = ("user", "assistant")
            messages = [{"role": roles[i % 2], "content": f"Turn {i}: {text[i : i + 300]}"} for i in range(turns)]
            yield Row(f"{model}: {turns} turns", f"POST {path}", {"model": model, "messages": messages})
    said = [{"role": "user", "content": text[:9_000]}, {"role": "king", "content": "x"}]
    broken = as_json({"model": "gpt-4o", "messages": said})
    yield Row("a wrong role in a large body", "POST /utils/token_counter", broken)
    yield Row("a large body cut off", "POST /utils/token_counter", broken[:-3])
    yield Row("a large text with a lone surrogate", "POST /v1/countTokens",
        as_json({"model": "gpt-4o", "text": text + "!"})[:-2] + rb'\ud83d"}')
    yield Row("a large plain text", "POST /v1/countTokens?model=gpt-4o", text, {"content-type": "text/plain"})
    yield Row("100,001 texts", "POST /v1/countTokens", {"model": "gpt-4o", "texts": [""] * 100_001})


def numbered(rows: Iterable[Row]) -> list[Row]:
    """The rows, with a number at the end of a name that was there before."""
    seen: dict[str, int] = {}
    out = []
    for row in rows:
        seen[row.name] = seen.get(row.name, 0) + 1
        name = row.name if seen[row.name] == 1 else f"{row.name} ({seen[row.name]})"
        out.append(Row(**{**row.__dict__, "name": name}))
    return out


# ---------------------------------------------------------------- the servers

MAIN: Mapping[str, Callable[[], Iterable[Row]]] = {
    "examples": example_rows,
    ENGINES: engine_rows,
    "plain": plain_rows,
    "page": page_rows,
    "models": model_rows,
    **{f"faults_{name.replace('-', '_')}": partial(faults.fault_rows, name) for name in faults.TARGETS},
    "count": validation.count_rows,
    "plain_text": validation.plain_text_rows,
    "batch": validation.batch_rows,
    "estimate_cost": validation.estimate_rows,
    "check_budget": validation.check_rows,
    "compare": validation.compare_rows,
    "truncate": validation.truncate_rows,
    "split": validation.split_rows,
    "tokenize": validation.tokenize_rows,
    "detokenize": validation.detokenize_rows,
    "explain_and_train": validation.merge_rows,
    "foreign": validation.foreign_rows,
    "responses": partial(bodies.provider_rows, "/v1/responses/input_tokens", "gpt-4o", bodies.RESPONSES),
    "messages": partial(bodies.provider_rows, "/v1/messages/count_tokens", "claude-opus-4-8", bodies.MESSAGES),
    "generate": partial(bodies.provider_rows, "/v1beta/models/gemini-2.5-flash:countTokens", None, bodies.GENERATE),
    "chat": bodies.native_request_rows,
    "large": large_rows,
}

SERVERS: Mapping[str, Server] = {
    "main": Server(MAIN),
    "state": Server(
        {"budgets": state.budget_rows, "usage": state.usage_rows}, lambda _: {"projects": "team-a,team-b"}
    ),
    "origins": Server({"origins": access.origin_rows}, lambda _: {
        "max_body_bytes": 1_024, "cors_origins": "https://app.example,https://b.example:8443",
        "projects": "team-a,team-b",
    }),
    "keys": Server({"keys": access.key_rows, "rates": access.rate_rows}, lambda folder: {
        "keys_file": access.write_keys(folder / "keys.json"), "cors_origins": "*",
    }),
}

GROUPS: Mapping[str, str] = {group: name for name, server in SERVERS.items() for group in server.groups}
"""Group -> its server."""


def rows_of(group: str) -> list[Row]:
    return numbered(SERVERS[GROUPS[group]].groups[group]())
