"""Servers under measurement: each a process of its own, kept to one core, while we keep to another."""

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
"""The same where there is only one."""

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Server:
    """`key` opens it, where it asks for one."""

    url: str
    pid: int
    key: str = ""

    def cpu_seconds(self) -> float:
        """Processor time of the process so far, user and system, in steps of 10 ms."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self, row: str = "VmRSS") -> int:
        """Bytes: `VmRSS` now, `VmHWM` at its highest since `reset_peak`."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{row}:")) * 1024

    def reset_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")


@contextmanager
def pin_to_core(core: int | None) -> Iterator[None]:
    """Keep to a core, and so do processes started in here; None is all of them."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CORES if core is None else {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def start_tallystick(core: int | None = SERVER_CORE, **settings: Any) -> Iterator[Server]:
    """Tallystick as it would be run: one worker, keys asked for, all else by its defaults but for `settings`."""
    with tempfile.TemporaryDirectory() as folder:
        text, key = make_key("bench", ("count", "models", "tokenize", "metrics"))
        file = Path(folder, "keys.json")
        FileStore(file).change(lambda keys: keys.update({key.id: key}))
        with pin_to_core(core), running_server(keys_file=file, **settings) as server, pin_to_core(None):
            yield Server(server.url, server.process.pid, text)


@contextmanager
def start_baseline(name: str, core: int | None = SERVER_CORE) -> Iterator[Server]:
    """One of `benchmarks.baselines`."""
    command = [sys.executable, "-m", "benchmarks.baselines", name]
    with pin_to_core(core), start_program(command) as process, pin_to_core(None):
        assert process.stdout is not None
        yield Server(process.stdout.readline().decode().strip(), process.pid)


@contextmanager
def start_program(command: list[str], **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Ended at the end."""
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **more) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
