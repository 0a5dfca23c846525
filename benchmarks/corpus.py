"""`tallystick count-corpus`: how fast it is with one worker and two, and how much memory it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.shared import prose
from tests.support.live import ROOT

MODEL = "gpt-4o"
MEGABYTES = 300
TEXTS = (("short", 300), ("middling", 3_000))
"""Characters of a record's text."""


def run() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, chars in TEXTS:
            _one_file(folder / f"{kind}.jsonl", chars, MEGABYTES)
        _as_parquet(folder / "middling.jsonl", folder / "middling.parquet")
        _one_file(folder / "tenth.jsonl", TEXTS[-1][1], MEGABYTES // 10)
        print(f"{'corpus':<18} workers     MB/s   records/s   processor s   MiB at most")
        for file, workers in (
            ("short.jsonl", 1), ("short.jsonl", 2), ("middling.jsonl", 1), ("middling.jsonl", 2),
            ("middling.parquet", 2), ("tenth.jsonl", 1),
        ):
            _measure(folder / file, workers)


def _one_file(path: Path, chars: int, megabytes: int) -> None:
    texts = [prose(i, chars)[:chars] for i in range(200)]
    with path.open("w") as file:
        for number in range(megabytes * 1_000_000 // (chars + 32)):
            file.write(json.dumps({"id": number, "text": texts[number % len(texts)]}) + "\n")


def _as_parquet(source: Path, target: Path) -> None:
    """In a single row group, which is the hardest case: it cannot be split between workers."""
    records = [json.loads(line) for line in source.read_text().splitlines()]
    pq.write_table(pa.Table.from_pylist(records), target, row_group_size=len(records), use_dictionary=False)


def _measure(path: Path, workers: int) -> None:
    output = path.with_name("rows.jsonl")
    command = [
        sys.executable, "-m", "service.cli", "count-corpus", str(path), "--model", MODEL, "--workers", str(workers),
        "--output", str(output), "--json",
    ]
    before = os.times()
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as running:
        peak = _Peak(running.pid)
        output_text = running.communicate()[0]
        peak_mib = peak.stop()
    after = os.times()
    for written in path.parent.glob("rows.*"):
        written.unlink()
    report = json.loads(output_text)
    records, speed, seconds = report["records"], report["this_run"]["mb_per_second"], report["this_run"]["seconds"]
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{path.name:<18} {workers:7} {speed:8.1f} {records / seconds:11,.0f} {spent:13.1f} {peak_mib:13.0f}")


class _Peak:
    """The most memory that a process and its children take. It is read ten times a second."""

    def __init__(self, process: int) -> None:
        self._process, self._most, self._stopped = process, 0.0, threading.Event()
        self._watching = threading.Thread(target=self._watch)
        self._watching.start()

    def stop(self) -> float:
        """The peak in MiB. Memory that the processes share counts once."""
        self._stopped.set()
        self._watching.join()
        return self._most

    def _watch(self) -> None:
        while not self._stopped.is_set():
            self._most = max(self._most, sum(map(_read_proportional_kib, _list_processes(self._process))) / 1024)
            time.sleep(0.1)


def _list_processes(process: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [process, *(one for child in children for one in _list_processes(child))]


def _read_proportional_kib(process: int) -> int:
    """The proportional set size in KiB; 0 when the process has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
