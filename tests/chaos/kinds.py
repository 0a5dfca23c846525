"""The requests of the load and their responses, which an idle server gives before anything is broken.

The requests of a kind differ in a number of twelve digits alone. The number has the same count of tokens whatever it is
(`learn` checks this). So a request can be new to the service, and its response is still known to the byte.
"""

from __future__ import annotations

import json
import random
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from benchmarks import texts
from benchmarks.client import NUMBER
from benchmarks.rates import CLAUDE, GEMINI, GPT, PATHS, chat_body, text_body
from tests.support.live import live_server

MARK = NUMBER.decode()

NUMBERS_ASKED = 3
"""How many requests of a kind the idle server answers. Two are enough to see a difference; one more costs little."""

USAGE = "/v1/usage"


@dataclass(frozen=True, slots=True)
class Shape:
    """A request as it is defined. `share` is its share of all requests."""

    name: str
    path: str
    body: Any
    share: float


@dataclass(frozen=True, slots=True)
class Kind:
    """A request and its response. `calls` and `tokens` are what one adds to the ledger."""

    name: str
    path: str
    body: bytes
    share: float
    status: int
    content: bytes
    calls: int
    tokens: int


def _shapes() -> Iterator[Shape]:
    for wire, path in PATHS.items():
        yield Shape(f"450 B text, {wire}", path, text_body(wire, 450), 6)
        yield Shape(f"20 KB chat, {wire}", path, chat_body(wire, 20_000), 4)
        yield Shape(f"200 KB chat, {wire}", path, chat_body(wire, 200_000), 0.5)
        yield Shape(f"1 MB text, {wire}", path, text_body(wire, 1 << 20), 0.1)
    short = f"Request {MARK}: how many tokens is this?"
    chat = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": short}]}
    count, contents = PATHS["native"], [{"role": "user", "parts": [{"text": short}]}]
    vertex = f"/v1beta1/projects/p/locations/l/publishers/google/models/{GEMINI}:countTokens"
    yield Shape("chat for Claude", count, {"model": "claude-opus-4-8", "request": chat}, 3)
    yield Shape("Vertex AI", vertex, {"contents": contents}, 2)
    yield Shape("Anthropic, below /anthropic", "/anthropic/v1/messages/count_tokens",
                {"model": CLAUDE, "messages": [{"role": "user", "content": short}]}, 2)
    items = [{"model": GPT, "text": texts.prose(400, 500 * at)} for at in range(40)]
    yield Shape("batch of 41", f"{count}:batch", {"items": [*items, {"model": CLAUDE, "text": short}]}, 2)
    yield Shape("compare", "/v1/compare", {"models": [GPT, CLAUDE, GEMINI], "text": short, "output_tokens": 100}, 2)
    yield Shape("check budget", "/v1/checkBudget", {"model": GPT, "text": short, "max_input_tokens": 100}, 2)
    yield Shape("truncate", "/v1/truncate", {"model": GPT, "text": texts.prose(4_000) + short, "max_tokens": 50}, 2)
    yield Shape("vLLM", "/tokenize", {"model": "llama-3.1-8b-instruct", "prompt": texts.prose(500, 9_000),
                                      "add_special_tokens": False, "return_token_strs": False, "user": MARK}, 1)
    yield Shape("LiteLLM", "/utils/token_counter", {"model": GPT, **chat}, 2)
    yield Shape("a model nobody knows", count, {"model": "no-such-model", "text": short}, 1)
    yield Shape("a wrong type", count, {"model": GPT, "text": [MARK]}, 1)


def learn(most_bytes: int = 1 << 21) -> tuple[Kind, ...]:
    """All kinds whose body is not larger than this. Their responses come from a server without Redis and without a
    cache, so that each was counted. Raises RuntimeError if a response depends on the number."""
    with live_server(cache_bytes=0, warm="o200k_base,gemma3,claude-v3,claude-v4.8,llama3") as url:
        shapes = [shape for shape in _shapes() if len(texts.encode(shape.body)) <= most_bytes]
        with httpx.Client(base_url=url, timeout=60) as client:
            return tuple(_learn(client, shape) for shape in shapes)


def _learn(client: httpx.Client, shape: Shape) -> Kind:
    url, body, rng = str(client.base_url).rstrip("/"), texts.encode(shape.body), random.Random(shape.name)
    before, answers = ledger(url), set()
    for _ in range(NUMBERS_ASKED):
        answer = client.post(shape.path, content=body.replace(NUMBER, b"%012d" % rng.randrange(10**12)))
        answers.add((answer.status_code, answer.content))
    if len(answers) != 1 or (answer.status_code >= 500):
        raise RuntimeError(f"{shape.name}: the answer is not always the same: {sorted(answers)[:2]!r}")
    calls, tokens = (now - then for now, then in zip(ledger(url), before, strict=True))
    return Kind(shape.name, shape.path, body, shape.share, answer.status_code, answer.content,
                calls // NUMBERS_ASKED, tokens // NUMBERS_ASKED)


def ledger(url: str, headers: Mapping[str, str] | None = None) -> tuple[int, int]:
    """(calls, input tokens) in the ledger for the days around now. Raises RuntimeError if the ledger is incomplete."""
    today = datetime.now(UTC).date()
    answer = get_json(f"{url}{USAGE}?from={today - timedelta(days=3)}&to={today + timedelta(days=4)}", headers)
    if not answer["complete"]:
        raise RuntimeError("the ledger cannot be read")
    return answer["total"]["calls"], answer["total"]["input_tokens"]


def get_json(url: str, headers: Mapping[str, str] | None = None) -> Any:
    """The JSON response to a GET."""
    request = urllib.request.Request(url, headers=dict(headers or {}))
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)
