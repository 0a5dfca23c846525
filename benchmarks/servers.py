"""The servers that are measured. Each is a process of its own on one core; the client uses another core."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.auth.key_store import FileStore
from service.auth.keys import make_key
from tests.support.live import ROOT, running_server

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORE = CORES[0], CORES[-1]
"""The same core when there is only one."""

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. `key` is its API key, empty when it needs none."""

    url: str
    pid: int
    key: str = ""

    def cpu_seconds(self) -> float:
        """Processor time of the process so far, user and system, with a resolution of 10 ms."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self, row: str = "VmRSS") -> int:
        """Resident memory in bytes: `VmRSS` is now, `VmHWM` the peak since `reset_peak`."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{row}:")) * 1024

    def reset_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")


@contextmanager
def pin_to_core(core: int | None) -> Iterator[None]:
    """Run on one core, with the processes that are started meanwhile. None is all cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CORES if core is None else {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def start_tallystick(core: int | None = SERVER_CORE, **settings: Any) -> Iterator[Server]:
    """Tallystick as one would run it: one worker, API keys, and the default settings but for `settings`."""
    with tempfile.TemporaryDirectory() as folder:
        text, key = make_key("bench", ("count", "models", "tokenize", "metrics"))
        file = Path(folder, "keys.json")
        FileStore(file).change(lambda keys: keys.update({key.id: key}))
        with pin_to_core(core), running_server(keys_file=file, **settings) as server, pin_to_core(None):
            yield Server(server.url, server.process.pid, text)


@contextmanager
def start_baseline(name: str, core: int | None = SERVER_CORE) -> Iterator[Server]:
    """One of the servers of `benchmarks.baselines`."""
    command = [sys.executable, "-m", "benchmarks.baselines", name]
    with pin_to_core(core), start_program(command) as process, pin_to_core(None):
        assert process.stdout is not None
        yield Server(process.stdout.readline().decode().strip(), process.pid)


@contextmanager
def start_program(command: list[str], **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is terminated at the end."""
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **more) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
