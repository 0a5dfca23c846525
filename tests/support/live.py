"""The real server, as a user starts it: a process of its own on a free loopback port."""

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
    """`process` is the server's, `log_file` holds what it wrote to stderr."""

    url: str
    process: subprocess.Popen[bytes]
    log_file: Path

    @property
    def log(self) -> list[str]:
        return self.log_file.read_text().splitlines()

    def is_ready(self) -> bool:
        """Raises RuntimeError where it never will be."""
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
        """What it logged, without the lines of requests."""
        return "\n".join(line for line in self.log if '"tallystick.request"' not in line)

    def stop(self) -> int:
        """Ask it to stop, by its own process id, and wait; the exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(timeout=PATIENCE_SECONDS)


@contextmanager
def running_server(*, wait: bool = True, **settings: Any) -> Iterator[LiveServer]:
    """A server that is ready, unless `wait` is off; stopped at the end, with exit code 0 if it did not end before.

    `settings` are fields of Settings (warm="o200k_base"); there is no grace at the end unless they say so.
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
    """Takes the address from the log line that says it; the server picks a free port itself."""
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
    """The base URL of a server that is ready; stopped at the end."""
    with running_server(**settings) as server:
        yield server.url


@pytest.fixture(scope="session")
def live() -> Iterator[LiveServer]:
    """One server for all tests that do not change its settings."""
    with running_server() as server:
        yield server
