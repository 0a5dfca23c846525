"""Write service/api/schemas/examples.json: a real request and its response for every operation, for OpenAPI and tests.

    python -m scripts.make_api_examples

Each request is sent to a new app, over HTTP in this process. Values that differ from run to run (lease ids, times) are
replaced by those of FIXED.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from service.api.schemas import examples
from tests.support.web import client_of, make_app

HELLO = "Hello, world! 안녕하세요."

CHAT = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is a token, a piece or a character?"},
        {"role": "assistant", "content": "A piece of text, often a word."},
        {"role": "user", "content": "And in Korean?"},
    ]
}

GENERATE_CONTENT = {
    "contents": [{"role": "user", "parts": [{"text": "The quick brown fox jumps over the lazy dog."}]}],
    "systemInstruction": {"role": "user", "parts": [{"text": "Answer briefly."}]},
}

BILL = {
    "model": "gpt-4o", "counted_tokens": 61,
    "usage": {"prompt_tokens": 61, "completion_tokens": 9, "total_tokens": 70},
}

TEAM, GEMINI = {"name": "team-a"}, {"model": "gemini-2.5-flash"}

REQUESTS: Mapping[str, tuple[Mapping[str, str], Any]] = {
    "count_tokens": ({}, {"model": "gpt-4o", "text": HELLO}),
    "count_tokens_batch": ({}, {"items": [
        {"model": "gpt-4o", "text": HELLO}, {"model": "my-own-model", "text": "hello, world"},
    ]}),
    "anthropic_count_tokens": ({}, {
        "model": "claude-sonnet-4-5", "system": "You are a scientist",
        "messages": [{"role": "user", "content": "Hello, Claude"}],
    }),
    "openai_input_tokens": ({}, {"model": "gpt-4.1-mini", "input": "What is the weather in Paris?"}),
    "gemini_count_tokens": (GEMINI, GENERATE_CONTENT),
    "gemini_tuned_count_tokens": ({"model": "my-tuned-model"}, GENERATE_CONTENT),
    "vertex_count_tokens": (
        {**GEMINI, "project": "my-project", "location": "us-central1", "publisher": "google"}, GENERATE_CONTENT,
    ),
    "litellm_token_counter": ({}, {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello, world!"}]}),
    "vllm_tokenize": ({}, {"model": "gpt-4o", "prompt": "Hello, world!"}),
    "vllm_detokenize": ({}, {"model": "gpt-4o", "tokens": [13225, 11, 2375, 0]}),
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
    "get_budget": (TEAM, None),
    "reserve": (TEAM, {"model": "gpt-4o", "text": HELLO, "max_output_tokens": 500}),
    "settle": (TEAM, {
        "lease_id": "", "model": "gpt-4o", "usage": {"prompt_tokens": 14, "completion_tokens": 120},
    }),
    "release": (TEAM, {"lease_id": ""}),
    "tokenize": ({}, {"model": "gpt-4o", "text": "안녕 🤖!"}),
    "detokenize": ({}, {"tokenizer": "o200k_base", "ids": [14307, 98931, 93643, 244, 0], "pieces": True}),
    "explain": ({}, {"tokenizer": "cl100k_base", "text": "low newest"}),
    "bpe_train": ({}, {
        "corpus": "low low low lower newer", "merges": 3, "level": "character", "top": 2, "encode": ["lowest"],
    }),
    "take_usage": ({}, BILL),
    "usage": ({"group_by": "day,model,project", "time_zone": "Asia/Kolkata"}, None),
    "usage_drift": ({"time_zone": "Asia/Kolkata"}, None),
    "tokenizers": ({}, None),
    "livez": ({}, None),
    "readyz": ({}, None),
    "metrics": ({}, None),
}

BEFORE: Mapping[str, tuple[str, ...]] = {
    "settle": ("reserve",), "release": ("reserve",), "usage": ("count_tokens", "take_usage"),
    "usage_drift": ("take_usage",),
}
"""Operations that are called before. If one of them returns a lease, the request uses it."""

FIXED: Mapping[str, str | bool] = {
    "lease_id": "6af87770-8d302e565fdb7a6d5ad2f785", "loaded": True,
    "period_start": "2026-11-14T15:00:00Z", "period_end": "2026-11-15T15:00:00Z", "expires_at": "2026-11-15T12:10:00Z",
    "from": "2026-11-15T00:00:00+05:30", "to": "2026-11-15T17:45:00+05:30",
    "start": "2026-11-15T00:00:00+05:30", "end": "2026-11-16T00:00:00+05:30",
}
"""The name of a field -> the value that replaces one of the same type, because it differs from run to run."""

FILES = {
    "budgets_file": '[budgets.team-a]\nlimit_usd = "50"\nper = "day"\nzone = "Asia/Seoul"\n',
    "catalog_file": '[aliases]\n"tunedModels/my-tuned-model" = "gemini-2.5-flash"\n',
}


@cache
def operations() -> Mapping[str, tuple[str, str]]:
    """The name of each operation -> its method and path."""
    return {
        operation["operationId"]: (method, path)
        for path, methods in make_app().openapi()["paths"].items() for method, operation in methods.items()
    }


@asynccontextmanager
async def open_client(**settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a new app that is ready. It has the files that the examples need, and has loaded one tokenizer."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            settings[name] = Path(folder, name)
            settings[name].write_text(text, encoding="utf-8")
        app = make_app(warm=("o200k_base",), **settings)
        async with app.router.lifespan_context(app), client_of(app) as client:
            await asyncio.to_thread(app.state.services.readiness.join)
            yield client


async def ask(client: httpx.AsyncClient, name: str, params: Mapping[str, str], request: Any) -> Any:
    """Call the operation `name`. Returns the response as JSON or text. Raises HTTPStatusError for an error."""
    method, path = operations()[name]
    in_path = re.findall(r"{(\w+)}", path)
    query = {key: value for key, value in params.items() if key not in in_path}
    url = path.format_map(params)
    answer = await client.request(method, url, params=query, **({} if request is None else {"json": request}))
    answer.raise_for_status()
    return answer.json() if answer.headers["content-type"] == "application/json" else answer.text


async def play(name: str) -> dict[str, Any]:
    """Make the example of one operation: params, request, response."""
    base = examples.base_name(name)
    params, request = REQUESTS[base]
    async with open_client() as client:
        for earlier in BEFORE.get(base, ()):
            answer = await ask(client, earlier, *REQUESTS[earlier])
            if "lease_id" in answer:
                request = {**request, "lease_id": answer["lease_id"]}
        response = await ask(client, name, params, request)
    if base == "metrics":
        response = "".join(line for line in response.splitlines(True) if "tallystick_requests_in_flight" in line)
    return {"params": dict(params), "request": fixed(request), "response": fixed(response)}


def fixed(value: Any) -> Any:
    """JSON in which the fields of FIXED have those values."""
    if isinstance(value, dict):
        return {
            key: FIXED[key] if key in FIXED and type(item) is type(FIXED[key]) else fixed(item)
            for key, item in value.items()
        }
    return [fixed(item) for item in value] if isinstance(value, list) else value


async def play_all() -> dict[str, Any]:
    return {name: await play(name) for name in REQUESTS}


if __name__ == "__main__":
    target = Path(__file__).parents[1] / "service" / "api" / "schemas" / examples.FILE
    target.write_text(json.dumps(asyncio.run(play_all()), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
