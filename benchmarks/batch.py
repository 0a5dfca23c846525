"""Many texts: how many a second in one batch call, in a call each, and by tiktoken in the caller's process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from benchmarks import servers, texts
from benchmarks.client import drive
from benchmarks.rounds import measure_in_turns
from benchmarks.servers import CLIENT_CORE, Server
from service.tokenizers.registry import get_tokenizer

ITEMS = 1_000
ROUNDS = 5


def run() -> None:
    with servers.start_tallystick() as server, servers.pin_to_core(CLIENT_CORE):
        for size in (450, 4_000):
            found = measure_in_turns(_sides(server, size), ROUNDS)
            cells = (f"{name} {statistics.median(rates):,.0f}" for name, rates in found.items())
            print(f"texts of {size:>5} B, items/s: " + "; ".join(cells))


def _sides(server: Server, size: int) -> dict[str, Callable[[], float]]:
    one = texts.native_text(size)
    text = str(one["text"])
    others = [{"model": "gpt-4o", "text": texts.prose(len(text), 31 * place)} for place in range(1, ITEMS)]
    batch = texts.post("/v1/countTokens:batch", {"items": [one, *others]}, server.key)
    alone = texts.post("/v1/countTokens", one, server.key)
    encode = get_tokenizer("o200k_base", "reference")._encoding.encode_ordinary  # type: ignore[attr-defined]

    def in_process() -> float:
        began = time.perf_counter()
        for item in others:
            encode(str(item["text"]))
        return len(others) / (time.perf_counter() - began)

    return {
        f"batches of {ITEMS}": lambda: ITEMS * drive(server.url, batch, connections=2, seconds=0.6).rate,
        "one call each": lambda: drive(server.url, alone, seconds=0.6).rate,
        "tiktoken in-process": in_process,
    }
