"""How long /livez takes while four bodies of a million tokens each are being counted, on all cores."""

from __future__ import annotations

import http.client
import sys
import time
from functools import partial

from benchmarks import servers, texts
from benchmarks.client import Address, Load, drive
from benchmarks.servers import Server

TOKENS = 1_000_000
SECONDS = 6.0
BESIDE = 4

CHILD = "import sys; from benchmarks.probes import feed; feed(*sys.argv[1:])"


def run() -> None:
    rows = (
        ("ours", partial(servers.start_tallystick, cache_bytes=0), "/livez"),  # no cache: the texts are alike
        ("ordinary", partial(servers.start_baseline, "ordinary"), "/docs"),
    )
    for name, opened, path in rows:
        with opened(core=None) as server:
            idle = probe(server.url, path, 1.0)
            busy, counted = probe_under_load(server, path)
            print(
                f"{name:<9} {path:<7} ms: idle p50 {idle.median * 1e3:.1f}, p99 {idle.percentile(0.99) * 1e3:.1f}; "
                f"beside {BESIDE} bodies of {TOKENS:,} tokens p50 {busy.median * 1e3:.1f}, "
                f"p99 {busy.percentile(0.99) * 1e3:.1f}, longest {max(busy.latencies) * 1e3:.1f} "
                f"({len(busy.latencies)} probes, {counted} bodies counted)", flush=True,
            )


def probe_under_load(server: Server, path: str) -> tuple[Load, int]:
    """The probes, and how many bodies were counted meanwhile. Another process sends the bodies."""
    command = [sys.executable, "-c", CHILD, server.url, server.key or "-"]
    with servers.start_program(command) as child:
        assert child.stdout is not None
        child.stdout.readline()  # it has begun
        load = probe(server.url, path, SECONDS)
        child.wait(120)
        return load, int(child.stdout.read())


def feed(url: str, key: str) -> None:
    """Send four bodies at a time, for a little longer than probes are made. The server has seen none of them before."""
    text = texts.prose(round(TOKENS * 4.4))
    body = {"model": "gpt-4o", "text": f"{texts.MARK} {text}"}
    template = texts.post("/v1/countTokens", body, key)
    print("begun", flush=True)
    print(len(drive(url, template, connections=BESIDE, seconds=SECONDS + 0.5).latencies), flush=True)


def probe(url: str, path: str, seconds: float) -> Load:
    """One request after the other on one connection, with pauses of 5 ms."""
    address, load = Address.parse(url), Load(seconds)
    connection = http.client.HTTPConnection(address.host, address.port, timeout=60)
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        connection.request("GET", path)
        connection.getresponse().read()
        load.latencies.append(time.perf_counter() - began)
        time.sleep(0.005)
    connection.close()
    return load
