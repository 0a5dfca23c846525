"""The real server, started as a user starts it: in a process of its own, on a free loopback port."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]

PATIENCE_SECONDS = 60

HTTP = httpx.Client(timeout=PATIENCE_SECONDS, limits=httpx.Limits(max_keepalive_connections=0))
"""As httpx.get and httpx.post: a connection for each request. Those also give up after 5 s, and read the certificates
of the system for each request, which takes 33 ms of a core."""


@dataclass
class LiveServer:
    """A running server. `process` is its process; its stderr is written to `log_file`."""

    url: str
    process: subprocess.Popen[bytes]
    log_file: Path

    @property
    def log(self) -> list[str]:
        return self.log_file.read_text().splitlines()

    def is_ready(self) -> bool:
        """Raises RuntimeError when it failed and will never be ready."""
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=60) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError as error:
            report = json.load(error)
            if report["status"] == "failed":
                raise RuntimeError(f"the server is not ready: {report}") from None
        except OSError:
            pass  # not listening yet
        return False

    def story(self) -> str:
        """Its log without the lines of requests."""
        return "\n".join(line for line in self.log if '"tallystick.request"' not in line)

    def stop(self) -> int:
        """Stop it with SIGTERM and wait until it has ended. Returns the exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(timeout=PATIENCE_SECONDS)


@contextmanager
def running_server(*, wait: bool = True, **settings: Any) -> Iterator[LiveServer]:
    """A server that is ready, unless `wait` is off. At the end it is stopped; its exit code must be 0.

    `settings` are fields of Settings (warm="o200k_base"). There is no grace period unless they set one.
    """
    settings = {"grace_seconds": 0, **settings}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TALLYSTICK_")}
    environment |= {f"TALLYSTICK_{name.upper()}": str(value) for name, value in settings.items()}
    with tempfile.TemporaryDirectory() as folder:
        log_file = Path(folder, "log")
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "service.cli", "serve", "--host", "127.0.0.1", "--port", "0"],
                cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stderr=log,
            )
        server = LiveServer("", process, log_file)
        try:
            _wait_for(server, lambda: _listening(server))
            if wait:
                _wait_for(server, server.is_ready)
            yield server
        finally:
            code = server.stop()
        assert code == 0, server.story()


def _listening(server: LiveServer) -> bool:
    """Whether it listens. The server chooses a free port; its address is read from the log."""
    lines = [json.loads(line) for line in server.log if '"listening"' in line and line[-1] == "}"]
    if lines:
        server.url = lines[0]["url"]
    return bool(lines)


def _wait_for(server: LiveServer, done: Any) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not done():
        if server.process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the server did not start:\n{server.story()}")
        time.sleep(0.05)


@contextmanager
def live_server(**settings: Any) -> Iterator[str]:
    """The base URL of a server that is ready. It is stopped at the end."""
    with running_server(**settings) as server:
        yield server.url


@pytest.fixture(scope="session")
def live() -> Iterator[LiveServer]:
    """One server for all tests that do not change its settings."""
    with running_server() as server:
        yield server
