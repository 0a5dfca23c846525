"""kill -9, for real: at every write of the journal, and at any time; no record may be lost or come twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from service.corpus.counting import CountOptions
from service.corpus.inputs import find_inputs
from service.corpus.run import count_corpus
from tests.support.live import ROOT

COMMAND = ["count-corpus", "in", "--tokenizer", "o200k_base", "--resume", "--output"]

KILLED_AT = """
import os, signal, sys
left = int(sys.argv.pop(1))

def dying(call):
    def counted(*arguments):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments)
    return counted

for name in ("fsync", "replace", "unlink", "truncate"):
    setattr(os, name, dying(getattr(os, name)))
from service.corpus import batches, journal
batches.CHUNK_BYTES, journal.CHECKPOINT_SHARE = 2000, 0
from service.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""The command, killed at the n-th of the calls by which a journal comes to the disk."""


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)}


def make_corpus(folder: Path, records: int) -> list[dict[str, Any]]:
    """The rows that counting it gives without being disturbed."""
    (folder / "in").mkdir()
    for part in range(3):
        with (folder / "in" / f"{part}.jsonl").open("w") as file:
            for number in range(records // 3):
                text = f"Record {number} of part {part}. " * (1 + number % 3)
                file.write(json.dumps({"text": text}) + "\n" if number % 100 else "no JSON\n")
    here = Path.cwd()
    os.chdir(folder)
    try:
        options = CountOptions(tokenizer="o200k_base", field="text")
        count_corpus(find_inputs(["in"]), options, Path("undisturbed.jsonl"))
    finally:
        os.chdir(here)
    return rows_of(folder / "undisturbed.jsonl")


@pytest.mark.parametrize("output", ["out.jsonl", "out.parquet"])
def test_killed_at_every_write_of_the_journal(tmp_path: Path, output: str) -> None:
    expected = make_corpus(tmp_path, 60)
    kills, code = 0, -signal.SIGKILL
    while code == -signal.SIGKILL:
        kills += 1
        command = [sys.executable, "-c", KILLED_AT, str(kills), *COMMAND, output]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
        code = done.returncode
        told = tmp_path / f"{output}.summary.json"
        part = tmp_path / f"{output}.part"
        if told.exists() and part.exists():  # what it tells of is there, as far as it tells
            summary = json.loads(told.read_text())
            rows = part.read_bytes()[:summary["length"]].splitlines()
            assert [json.loads(row) for row in rows] == expected[:len(rows)]
            assert summary["records"] == len(rows)
    assert code == 1, done.stderr  # the records that are no JSON
    assert kills > 8
    assert rows_of(tmp_path / output) == expected
    left = {output, f"{output}.summary.json", "in", "undisturbed.jsonl", "undisturbed.jsonl.summary.json"}
    assert {path.name for path in tmp_path.iterdir()} == left
    assert json.loads((tmp_path / f"{output}.summary.json").read_text())["records"] == len(expected)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_killed_at_any_time(tmp_path: Path, workers: str) -> None:
    """Killed once some more rows were written, wherever it is then, again and again."""
    expected = make_corpus(tmp_path, 30_000)
    chance, kills, code = random.Random(int(workers)), 0, -signal.SIGKILL
    part = tmp_path / "out.jsonl.part"
    script = "import sys; from service.corpus import run; run.ALONE_BYTES = 0; from service.cli.main import main; "
    command = [sys.executable, "-c", f"{script} sys.exit(main(sys.argv[1:]))", *COMMAND, "out.jsonl"]
    while code == -signal.SIGKILL:
        running = subprocess.Popen(
            [*command, "--workers", workers], cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = size(part) + chance.randrange(300_000, 1_200_000)
        children: list[int] = []
        while running.poll() is None and size(part) < until:
            time.sleep(0.001)
        if running.poll() is None:
            children = children_of(running.pid)
            running.kill()
            kills += 1
        code = running.wait()
        assert all_end(children)
    assert code == 1
    assert kills >= 2
    assert rows_of(tmp_path / "out.jsonl") == expected


def size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def children_of(process: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            found += map(int, (task / "children").read_text().split())
    return found


def all_end(processes: list[int]) -> bool:
    """Whether they end soon, though nobody tells them to."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not any(is_running(process) for process in processes):
            return True
        time.sleep(0.01)
    return False


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def rows_of(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return rows
    return [json.loads(line) for line in path.read_bytes().splitlines()]
