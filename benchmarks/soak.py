"""`make soak SECONDS=600`: a mixed load on two workers with API keys and rate limits, to find leaks.

It prints a line every ten seconds: requests and failures so far, the median and the 99th percentile of the latencies
since the line before, resident and proportional memory of all processes, open files. At the end it prints whether
memory and open files still grow.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import os
import random
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from service.auth.key_store import FileStore
from service.auth.keys import Key, make_key
from tests.support.live import LiveServer, running_server

CLIENTS = 8
LINE_SECONDS = 10
WORDS = ("count", "token", "Größe", "한국어", "日本語", "🧠", "def f(x):", "0x7f", "price", "window", "\n\n", "budget")

Request = tuple[str, Any, int]
"""Path, body, expected status."""


def text(rng: random.Random, words: int) -> str:
    """A random text. No text comes twice."""
    return " ".join(f"{rng.choice(WORDS)}{rng.getrandbits(16):x}" for _ in range(words))


def conversation(rng: random.Random) -> Iterator[Request]:
    """The requests of a coding agent: each has the messages of the one before, and one more turn."""
    messages: list[Any] = [{"role": "user", "content": text(rng, 2_000)}]
    for turn in range(10):
        model = ("claude-opus-4-8", "claude-sonnet-4-5")[turn % 2]
        yield "/v1/messages/count_tokens", {"model": model, "messages": messages}, 200
        messages = [
            *messages, {"role": "assistant", "content": text(rng, 100)}, {"role": "user", "content": text(rng, 30)},
        ]


def mixed(rng: random.Random) -> Iterator[Request]:
    """An endless mix of requests."""
    while True:
        yield "/v1/countTokens", {"model": "gpt-4o", "text": text(rng, 20)}, 200
        yield "/v1/countTokens", {"tokenizer": "gemma3", "text": text(rng, 3_000)}, 200
        yield "/v1/responses/input_tokens", {"model": "gpt-5", "input": text(rng, 300)}, 200
        contents = [{"role": "user", "parts": [{"text": text(rng, 500)}]}]
        yield "/v1beta/models/gemini-2.5-flash:countTokens", {"contents": contents}, 200
        items = [{"model": "gpt-4o", "text": text(rng, 10)} for _ in range(50)]
        yield "/v1/countTokens:batch", {"items": items}, 200
        yield "/v1/compare", {"models": ["gpt-4o", "claude-opus-4-8"], "text": text(rng, 200)}, 200
        yield "/tokenize", {"model": "gpt-4o", "prompt": text(rng, 200)}, 200
        yield "/v1/countTokens", {"model": f"unknown-{rng.getrandbits(40)}", "text": "x"}, 404
        yield "/v1/countTokens", {"model": "gpt-4o", "text": 1}, 400
        yield f"/nothing/{rng.getrandbits(40)}", {}, 404
        if rng.random() < 0.3:
            yield "/v1/countTokens", {"model": "gpt-4o", "text": text(rng, 60_000)}, 200  # 1 MB
        yield from conversation(rng)


@dataclass
class Tally:
    """What the clients saw. `latencies` are those since `take_latencies` was called last."""

    requests: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, seconds: float, failure: str | None) -> None:
        with self.lock:
            self.requests += 1
            self.latencies.append(seconds)
            if failure is not None:
                self.failures[failure] += 1

    def take_latencies(self) -> list[float]:
        with self.lock:
            taken, self.latencies = sorted(self.latencies), []
        return taken


def client(number: int, url: str, key: str, tally: Tally, is_over: Callable[[], bool]) -> None:
    """Sends one request after the other. Now and then it opens a new connection."""
    rng = random.Random(number)
    address = urlsplit(url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)
    for path, body, expected in mixed(rng):
        if is_over():
            break
        data, headers = json.dumps(body).encode(), {"x-api-key": key}
        if rng.random() < 0.1:
            data, headers["content-encoding"] = gzip.compress(data, 1), "gzip"
        if rng.random() < 0.1:
            connection.close()
        began = time.perf_counter()
        try:
            connection.request("POST", path, data, headers)
            answer = connection.getresponse()
            answer.read()
            failure = None if answer.status == expected else f"{path.split('/')[1]} {answer.status}"
        except (OSError, http.client.HTTPException) as error:
            failure = type(error).__name__
            connection.close()
        tally.add(time.perf_counter() - began, failure)
    connection.close()


def processes(server: LiveServer) -> list[int]:
    parent = server.process.pid
    return [parent, *map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split())]


def memory(server: LiveServer) -> tuple[float, float]:
    """MiB of all processes: resident (shared memory counts in each) and proportional (shared memory counts once)."""
    sums = {"Rss": 0, "Pss": 0}
    for process_id in processes(server):
        for line in Path(f"/proc/{process_id}/smaps_rollup").read_text().splitlines()[1:]:
            name, _, rest = line.partition(":")
            if name in sums:
                sums[name] += int(rest.split()[0])
    return sums["Rss"] / 1024, sums["Pss"] / 1024


def open_files(server: LiveServer) -> int:
    return sum(len(os.listdir(f"/proc/{process_id}/fd")) for process_id in processes(server))


def compare_thirds(values: list[float]) -> str:
    """The mean of the last third, beside that of the third before it."""
    third = max(1, len(values) // 3)
    before, last = statistics.mean(values[-2 * third : -third] or values), statistics.mean(values[-third:])
    return f"{before:8.1f} -> {last:8.1f}  ({(last / before - 1) * 100:+.1f}%)"


def run(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = FileStore(Path(folder, "keys.json"))
        text_of_key, key = make_key("soak", ["count", "tokenize", "metrics"], requests_per_minute=10**9)

        def add(keys: dict[str, Key]) -> None:
            keys[key.id] = key

        store.change(add)
        with running_server(workers=2, keys_file=store.path, projects="soak") as server:
            soak(server, text_of_key, seconds)


def soak(server: LiveServer, key: str, seconds: float) -> None:
    tally, ends_at = Tally(), time.monotonic() + seconds
    threads = [
        threading.Thread(target=client, args=(i, server.url, key, tally, lambda: time.monotonic() >= ends_at))
        for i in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    resident, proportional, files = [], [], []
    print("  seconds   requests  failed    p50 ms    p99 ms   RSS MiB   PSS MiB  files")
    began = time.monotonic()
    while (now := time.monotonic()) < ends_at:
        time.sleep(min(LINE_SECONDS, ends_at - now))
        rss, pss = memory(server)
        resident.append(rss)
        proportional.append(pss)
        files.append(float(open_files(server)))
        took = [x * 1000 for x in tally.take_latencies()] or [0.0]
        print(
            f"{time.monotonic() - began:9.0f} {tally.requests:10d} {sum(tally.failures.values()):7d} "
            f"{statistics.median(took):9.1f} {took[int(0.99 * (len(took) - 1))]:9.1f} {rss:9.0f} {pss:9.0f} "
            f"{files[-1]:6.0f}",
            flush=True,
        )
    for thread in threads:
        thread.join()
    for name, values in (("RSS MiB", resident), ("PSS MiB", proportional), ("open files", files)):
        print(f"{name:<12} second third -> last third: {compare_thirds(values)}")
    print(f"failures: {dict(tally.failures) or 'none'}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=60.0, help="how long (60)")
    run(parser.parse_args().seconds)


if __name__ == "__main__":
    main()
