"""Requests a second and latency, beside an echo server and an ordinary FastAPI service (benchmarks.baselines).

The three servers share one core, and one of them is busy at a time. The client has the other core.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks import servers, texts
from benchmarks.client import Load, Template, drive
from benchmarks.rounds import measure_in_turns, ratio
from benchmarks.servers import CLIENT_CORE, Server
from service.tokenizers.registry import get_tokenizer

ROUNDS = 3
SECONDS = 0.6
CONNECTIONS = 8

CLAUDE, GPT, GEMINI = "claude-sonnet-4-5", "gpt-4o", "gemini-2.5-flash"

PATHS = {
    "native": "/v1/countTokens",
    "anthropic": "/v1/messages/count_tokens",
    "openai": "/v1/responses/input_tokens",
    "google": f"/v1beta/models/{GEMINI}:countTokens",
}


HEADINGS = """\
                                         requests/s       ms, 1 alone  cpu us a request ours: of the echo times the
                             ours     echo ordinary       p50       p99      ours    echo  by time  by cpu ordinary"""


def text_body(wire: str, size: int) -> texts.Body:
    """One text of a size, in the format of a provider's API."""
    text = texts.native_text(size)["text"]
    bodies: dict[str, texts.Body] = {
        "native": {"model": GPT, "text": text},
        "anthropic": {"model": CLAUDE, "messages": [{"role": "user", "content": text}]},
        "openai": {"model": GPT, "input": text},
        "google": {"contents": [{"role": "user", "parts": [{"text": text}]}]},
    }
    return bodies[wire]


def chat_body(wire: str, size: int) -> texts.Body:
    """A conversation of about a size, with five tools, calls and results. Only its last message is new each time."""
    make = {"native": texts.openai_chat, "anthropic": texts.anthropic, "openai": texts.openai_responses,
            "google": texts.google}[wire]
    request = make(size, CLAUDE if wire == "anthropic" else GPT)
    return {"model": GPT, "request": request} if wire == "native" else request


SHAPES: Mapping[str, tuple[Callable[[str, int], texts.Body], int]] = {
    "450 B text": (text_body, 450),
    "20 KB chat": (chat_body, 20_000),
    "200 KB chat": (chat_body, 200_000),
    "1 MB text": (text_body, 1 << 20),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """`cpu` is the processor time of the server for one request, in seconds."""

    load: Load
    cpu: float


def run() -> None:
    with ExitStack() as stack:
        sides = {
            "ours": stack.enter_context(servers.start_tallystick()),
            "echo": stack.enter_context(servers.start_baseline("echo")),
            "ordinary": stack.enter_context(servers.start_baseline("ordinary")),
        }
        stack.enter_context(servers.pin_to_core(CLIENT_CORE))
        print(HEADINGS)
        for shape, (make, size) in SHAPES.items():
            for wire, path in PATHS.items():
                print(f"{shape + ', ' + wire:<24}" + _format_row(sides, path, make(wire, size)), flush=True)
        with servers.start_tallystick(cache_bytes=0) as uncached:
            print(HEADING_NEW)
            for shape, (make, size) in SHAPES.items():
                for wire, path in PATHS.items():
                    row = _format_new_row(uncached, path, make(wire, size))
                    print(f"{'new: ' + shape + ', ' + wire:<29}{row}", flush=True)
            measure_one_text(sides["ours"], uncached)


def _format_new_row(server: Server, path: str, body: texts.Body) -> str:
    """A row about a server without a cache: how long a request takes that is not like any before it."""
    template = texts.post(path, body, server.key)
    drive(server.url, template, seconds=0.2)
    found = [measure(server, template) for _ in range(ROUNDS)]
    rate, cpu = (statistics.median(values) for values in zip(*((one.load.rate, one.cpu) for one in found), strict=True))
    return f"{rate:>11.0f}{cpu * 1e6:>9.0f}"


def _format_row(sides: Mapping[str, Server], path: str, body: texts.Body) -> str:
    templates = {name: texts.post(path, body, server.key) for name, server in sides.items()}
    for name, server in sides.items():
        drive(server.url, templates[name], seconds=0.2)
    found = measure_in_turns(
        {name: lambda name=name: measure(sides[name], templates[name]) for name in sides}, ROUNDS  # type: ignore[misc]
    )
    rates = {name: [one.load.rate for one in all_of_them] for name, all_of_them in found.items()}
    cpu = {name: statistics.median(one.cpu for one in all_of_them) * 1e6 for name, all_of_them in found.items()}
    alone = drive(sides["ours"].url, templates["ours"], connections=1, seconds=SECONDS)
    return (
        "".join(f"{statistics.median(rates[name]):>9.0f}" for name in sides)
        + f"{alone.median * 1e3:>10.2f}{alone.percentile(0.99) * 1e3:>10.2f}"
        + f"{cpu['ours']:>10.0f}{cpu['echo']:>8.0f}"
        + f"{ratio(rates['ours'], rates['echo']):>9.2f}{cpu['echo'] / cpu['ours']:>8.2f}"
        + f"{ratio(rates['ours'], rates['ordinary']):>9.1f}"
    )


def measure(server: Server, template: Template, connections: int = CONNECTIONS, seconds: float = SECONDS) -> Measured:
    before = server.cpu_seconds()
    load = drive(server.url, template, connections=connections, seconds=seconds)
    return Measured(load, (server.cpu_seconds() - before) / len(load.latencies))


HEADING_NEW = f"{'nothing remembered':<29}{'requests/s':>11}{'cpu us':>9}"


def measure_one_text(server: Server, uncached: Server) -> None:
    """A megabyte over HTTP, from the first byte sent to the last received, beside tiktoken in the caller's process."""
    body = text_body("native", 1 << 20)
    text = str(body["text"])
    encode = get_tokenizer("o200k_base", "reference")._encoding.encode_ordinary  # type: ignore[attr-defined]
    known, new = (texts.post(PATHS["native"], body, one.key) for one in (server, uncached))

    def in_process() -> float:
        began = time.perf_counter()
        encode(text)
        return time.perf_counter() - began

    found = measure_in_turns({
        "known": lambda: drive(server.url, known, connections=1, seconds=0.2).median,
        "new": lambda: drive(uncached.url, new, connections=1, seconds=0.2).median,
        "tiktoken": in_process,
    }, 7)
    print(
        f"1 MB of English, gpt-4o, end to end over HTTP {statistics.median(found['new']) * 1e3:.1f} ms, "
        f"{statistics.median(found['known']) * 1e3:.1f} where but for a few bytes it came before; "
        f"tiktoken.encode_ordinary in the caller's process {statistics.median(found['tiktoken']) * 1e3:.1f} ms "
        f"(x {ratio(found['tiktoken'], found['new']):.1f} and {ratio(found['tiktoken'], found['known']):.1f})"
    )
