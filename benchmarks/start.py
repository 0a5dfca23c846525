"""From the command to a ready service: how long it takes, how much memory, and how long each tokenizer loads."""

from __future__ import annotations

import compileall
import re
import statistics
import subprocess
import sys
import time
import urllib.request

from tests.support.live import ROOT, running_server

RUNS = 3


def run() -> None:
    compileall.compile_dir(ROOT / "service", quiet=1)  # an installed package is compiled, too
    seconds, memory, loads = [], [], {}
    for _ in range(RUNS):
        began = time.perf_counter()
        with running_server() as server:
            seconds.append(time.perf_counter() - began)
            with urllib.request.urlopen(f"{server.url}/metrics") as answer:
                metrics = answer.read().decode()
        resident = re.findall(r"^process_resident_memory_bytes (\S+)", metrics, re.MULTILINE)
        memory.append(float(resident[0]) / 2**20)
        loads = dict(re.findall(r'^tallystick_tokenizer_load_seconds{tokenizer="(.*?)"} (\S+)', metrics, re.MULTILINE))
    print(f"start to ready    {statistics.median(seconds):6.2f} s   (median of {RUNS}, default set warmed)")
    print(f"resident memory   {statistics.median(memory):6.0f} MiB (one worker, warmed)")
    for name, load in loads.items():
        print(f"  load {name:<12} {float(load):6.2f} s")
    print("slowest imports of the app (ms, own time):")
    for milliseconds, module in _imports("service.server.run")[:8]:
        print(f"  {milliseconds:6.0f}  {module}")


def _imports(module: str) -> list[tuple[float, str]]:
    """(milliseconds, module) of all modules that `module` imports, the slowest first."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", f"import {module}"], capture_output=True, text=True, check=True
    )
    rows = re.findall(r"^import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", done.stderr, re.MULTILINE)
    return sorted(((int(own) / 1000, name) for own, name in rows), reverse=True)
