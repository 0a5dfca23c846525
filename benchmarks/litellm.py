"""Beside LiteLLM's proxy: the same bodies, sent to its count endpoints and to ours of the same names.

The proxy has no models configured and no network, so it counts by itself and asks no provider. Each server has one
worker, on the same core. `benchmarks/install_litellm.sh` installs the proxy into an environment of its own; without it
this part is skipped.
"""

from __future__ import annotations

import os
import secrets
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks import servers, texts
from benchmarks.rates import CLAUDE, GPT, chat_body, measure, text_body
from benchmarks.rounds import measure_in_turns, ratio
from benchmarks.servers import CLIENT_CORE, SERVER_CORE, Server

VENV = Path(os.environ.get("LITELLM_VENV", Path(tempfile.gettempdir(), "tallystick-litellm")))
ROUNDS = 3
START_SECONDS = 120

COUNTER, COUNT_TOKENS = "/utils/token_counter", "/v1/messages/count_tokens"


def bodies() -> Mapping[str, tuple[str, texts.Body]]:
    prompt = {"model": GPT, "prompt": text_body("native", 450)["text"]}
    chat = {name: value for name, value in texts.openai_chat(20_000, GPT).items() if name in ("model", "messages")}
    large = {"model": GPT, "prompt": text_body("native", 1 << 20)["text"]}
    return {
        "450 B text": (COUNTER, prompt),
        "20 KB chat": (COUNTER, chat),
        "450 B text, Anthropic": (COUNT_TOKENS, text_body("anthropic", 450)),
        "20 KB chat, 5 tools, Anthropic": (COUNT_TOKENS, chat_body("anthropic", 20_000)),
        "1 MB text": (COUNTER, large),
    }


def run() -> None:
    if not (VENV / "bin" / "litellm").exists():
        print("LiteLLM is not installed: benchmarks/install_litellm.sh does it, into an environment of its own")
        return
    print(f"LiteLLM {_version()}; models {GPT} and {CLAUDE}")
    with servers.start_tallystick() as ours:
        for name, (path, body) in bodies().items():
            with proxy() as theirs, servers.pin_to_core(CLIENT_CORE):  # a new one each time: it has been seen to stall
                try:
                    row = _format_row({"ours": ours, "LiteLLM": theirs}, path, body)
                except RuntimeError as error:
                    row = str(error)
                print(f"{name:<32}{row}", flush=True)


def _format_row(sides: Mapping[str, Server], path: str, body: texts.Body) -> str:
    templates = {name: texts.post(path, body, server.key) for name, server in sides.items()}

    def one(name: str) -> tuple[float, float]:
        found = measure(sides[name], templates[name])
        return found.load.rate, found.cpu * 1e6

    for name in sides:
        one(name)
    found = measure_in_turns({name: lambda name=name: one(name) for name in sides}, ROUNDS)  # type: ignore[misc]
    rates = {name: [rate for rate, _ in rows] for name, rows in found.items()}
    cpu = {name: statistics.median(spent for _, spent in rows) for name, rows in found.items()}
    cells = (f"{name} {statistics.median(rates[name]):,.0f} requests/s ({cpu[name]:,.0f} us)" for name in sides)
    return "; ".join(cells) + f"; x {ratio(rates['ours'], rates['LiteLLM']):.1f}"


@contextmanager
def proxy() -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    nowhere, key = "http://127.0.0.1:9", f"sk-{secrets.token_hex(32)}"
    environment = {
        "PATH": os.environ["PATH"], "HOME": tempfile.gettempdir(), "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "HTTP_PROXY": nowhere, "HTTPS_PROXY": nowhere, "NO_PROXY": "127.0.0.1",
        "LITELLM_MASTER_KEY": key,
    }
    command = [str(VENV / "bin" / "litellm"), "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1",
               "--telemetry", "False"]
    with servers.pin_to_core(SERVER_CORE), servers.start_program(
        command, env=environment, stderr=subprocess.DEVNULL
    ) as process, servers.pin_to_core(None):
        server = Server(f"http://127.0.0.1:{port}", process.pid, key)
        _wait_until_ready(server, process)
        yield server


def _wait_until_ready(server: Server, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/health/liveliness", timeout=5):
                return
        except (OSError, urllib.error.URLError):
            time.sleep(0.2)
    raise RuntimeError("LiteLLM's proxy did not start")


def _version() -> str:
    code = "import importlib.metadata as m; print(m.version('litellm'))"
    command = [str(VENV / "bin" / "python"), "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
