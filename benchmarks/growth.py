"""Time and memory by the size of a text, 1 KB to 16 MB over HTTP. Both must grow in proportion to it, no faster."""

from __future__ import annotations

import statistics

from benchmarks import servers, texts
from benchmarks.client import Template, drive
from benchmarks.servers import CLIENT_CORE, Server

SIZES = tuple(1 << power for power in range(10, 25, 2))
MODELS = ("gpt-4o", "claude-sonnet-4-5", "claude-opus-4-8", "gemini-2.5-flash")
LARGEST = 16 << 20


def run() -> None:
    # Without a cache: the texts are alike, and most of each would already be counted.
    with servers.start_tallystick(cache_bytes=0) as server, servers.pin_to_core(CLIENT_CORE):
        print(f"{'ms (us a KB)':<20}" + "".join(f"{size >> 10:>9} KB" for size in SIZES))
        for model in MODELS:
            cells = []
            for size in SIZES:
                seconds = _seconds(server, _template(server, model, size))
                cells.append(f"{seconds * 1e3:.1f} ({seconds * 1e6 / (size >> 10):.0f})")
            print(f"{model:<20}" + "".join(f"{cell:>12}" for cell in cells), flush=True)
    with servers.start_tallystick(cache_bytes=0) as server:
        for model in MODELS:
            print(f"memory for one body of {LARGEST >> 20} MB, {model:<18} " + _memory(server, model), flush=True)


def _template(server: Server, model: str, size: int) -> Template:
    body = {"model": model, "text": f"{texts.MARK} " + texts.prose(size)}
    return texts.post("/v1/countTokens", body, server.key)


def _seconds(server: Server, template: Template) -> float:
    return statistics.median(drive(server.url, template, connections=1, seconds=0.25).latencies)


def _memory(server: Server, model: str) -> str:
    """Resident memory before and after, and the most in between."""
    template = _template(server, model, LARGEST)
    before = server.memory()
    server.reset_peak()
    drive(server.url, template, connections=1, seconds=0.01)
    peak, after = server.memory("VmHWM"), server.memory()
    return f"{before >> 20} MiB before, at most {peak >> 20}, {after >> 20} after"
