"""Instances of the service: a parent and its workers on a port, which stays the same after a restart."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.servers import TICKS
from tests.chaos.stores import until
from tests.support.live import ROOT, LiveServer

WORKERS = 2

ENDED = frozenset({"Z", "X"})
"""States of a process that has ended, but is still in the process table."""


@dataclass
class Instance:
    """An instance. `settings` are fields of Settings. `environment` is added to our own for its processes."""

    port: int
    folder: Path
    settings: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)
    server: LiveServer | None = None
    started: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns at once."""
        ours = {key: value for key, value in os.environ.items() if not key.startswith("TALLYSTICK_")}
        ours |= {"TMPDIR": str(self.folder), **self.environment}
        ours |= {f"TALLYSTICK_{name.upper()}": str(value) for name, value in self.settings.items()}
        self.started += 1
        log_file = self.folder / f"log-{self.port}-{self.started}"
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "service.cli", "serve", "--host", "127.0.0.1", "--port", str(self.port)],
                cwd=ROOT, env=ours, stdin=subprocess.DEVNULL, stderr=log,
            )
        self.server = LiveServer(self.url, process, log_file)

    @property
    def parent(self) -> int:
        assert self.server is not None
        return self.server.process.pid

    @property
    def workers(self) -> list[int]:
        """Process ids."""
        with suppress(OSError):
            children = Path(f"/proc/{self.parent}/task/{self.parent}/children").read_text()
            return [int(child) for child in children.split()]
        return []

    @property
    def processes(self) -> list[int]:
        return [self.parent, *self.workers]

    def open_files(self) -> int:
        """Open files of all its processes."""
        return sum(len(os.listdir(f"/proc/{process_id}/fd")) for process_id in self.processes)

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.processes)

    def metric(self, name: str) -> float:
        """The sum of all series of a metric. -1 when there is none."""
        with suppress(OSError), urllib.request.urlopen(f"{self.url}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
            found = [line for line in lines if line.startswith((f"{name} ", f"{name}{{"))]
            return sum(float(line.rpartition(" ")[2]) for line in found) if found else -1.0
        return -1.0

    # ------------------------------------------------------------ health

    def is_healthy(self, with_redis: bool = True) -> bool:
        """Whether all workers run, are ready and reach Redis."""
        workers = int(self.settings.get("workers", 1))
        if workers > 1 and len(self.workers) != workers:
            return False
        if not all(self._says_ready() for _ in range(2 * workers)):
            return False
        if not with_redis:
            return True
        return (
            self.metric("tallystick_workers") == workers and self.metric("tallystick_redis_up") == workers
            and self.metric("tallystick_redis_degraded") == 0
        )

    def _says_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                return b'"status":"ready"' in answer.read()
        except OSError:
            return False

    def is_listening(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    # ------------------------------------------------------------ ends

    def terminate(self) -> None:
        """Stop it as a container engine does, and wait until it has ended. Raises RuntimeError if it fails."""
        assert self.server is not None
        code = self.server.stop()
        if code:
            raise RuntimeError(f"an instance stopped with exit code {code}:\n{self.server.story()}")

    def kill(self) -> None:
        """Kill all its processes at once, as when a machine fails. Returns when they have ended."""
        assert self.server is not None
        lost = self.processes
        for process_id in lost:
            with suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        self.server.process.wait()
        until(lambda: not any(is_running(process_id) for process_id in lost), "a killed instance is gone")

    def end(self) -> None:
        """End all its processes, whatever state they are in."""
        if self.server is None:
            return
        left = self.processes
        for process_id in left:
            with suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGCONT)
        self.server.process.terminate()
        try:
            self.server.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
        until(lambda: not any(is_running(process_id) for process_id in left), "an instance's workers end with it")


def is_running(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] not in ENDED
    except OSError:
        return False


def cpu_seconds(processes: list[int]) -> float:
    """Processor time so far, user and system, in steps of 10 ms. That of children that have ended is included."""
    total = 0
    for process_id in processes:
        with suppress(OSError):
            fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
            total += sum(int(value) for value in fields[11:13])
    return total / TICKS


def wait_until_ready(instances: list[Instance], with_redis: bool = True) -> float:
    """Wait until all are healthy. Returns the seconds that it took."""
    began = time.monotonic()
    for one in instances:
        until(lambda one=one: one.is_healthy(with_redis), f"{one.url} is healthy", 60)  # type: ignore[misc]
    return time.monotonic() - began
