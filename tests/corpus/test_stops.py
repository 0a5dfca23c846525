"""Ctrl-C and SIGTERM, for real: what is whole is kept, so that short runs come to the end together."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from service.cli.main import main
from service.corpus import stops
from service.corpus.batches import Batch, Position
from service.corpus.counting import CorpusCounter, Counted
from service.corpus.stops import Stopped, Stops
from tests.corpus.test_kill import COMMAND, all_end, children_of, environment, make_corpus, rows_of, size

SMALL_STEPS = """
import sys, time
from service.corpus import batches, journal, run
batches.CHUNK_BYTES, journal.CHECKPOINT_SHARE, run.ALONE_BYTES = 4000, 1e9, 0
pause, write = float(sys.argv.pop(1)), journal.Journal.write

def write_slowly(*arguments):
    time.sleep(pause)
    write(*arguments)

journal.Journal.write = write_slowly
from service.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""The command, in small batches and with no checkpoint of its own: what goes on was saved by the stop. It rests for so
many seconds before each batch: then it is not done before it can be stopped, however busy the machine is."""

SAID = re.compile(r"tallystick: stopped after (\d+) records; --resume goes on\.\n")


def start(folder: Path, workers: str, pause: float = 0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SMALL_STEPS, str(pause), *COMMAND, "out.jsonl", "--workers", workers], cwd=folder,
        text=True, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    )


def to_one(process: int, number: int) -> None:
    os.kill(process, number)


def to_all(process: int, number: int) -> None:
    """As a terminal does, and as `timeout`: it tells the process first."""
    os.kill(process, number)
    os.killpg(process, number)


@pytest.mark.parametrize(
    ("workers", "number", "send", "times"),
    [
        ("1", signal.SIGINT, to_one, 2), ("2", signal.SIGINT, to_all, 1), ("2", signal.SIGTERM, to_one, 1),
        ("2", signal.SIGTERM, to_all, 1),
    ],
)
def test_a_run_that_is_told_to_stop_keeps_what_is_whole(
    tmp_path: Path, workers: str, number: signal.Signals, send: Callable[[int, int], None], times: int
) -> None:
    expected = make_corpus(tmp_path, 6_000)
    part, summary = tmp_path / "out.jsonl.part", tmp_path / "out.jsonl.summary.json"
    kept = 0
    for _ in range(times):
        before = size(part)
        running = start(tmp_path, workers, pause=0.05)
        while running.poll() is None and size(part) <= before + 100_000:
            time.sleep(0.01)
        children = children_of(running.pid)
        send(running.pid, number)
        _, err = running.communicate(timeout=60)
        assert running.returncode == 128 + number, err
        said = SAID.fullmatch(err)
        assert said, err
        assert int(said[1]) > kept
        kept = int(said[1])
        told = json.loads(summary.read_text())
        assert (told["records"], told["length"]) == (kept, size(part))
        assert rows_of(part) == expected[:kept]
        assert all_end(children)
    done = start(tmp_path, "1")
    _, err = done.communicate(timeout=60)
    assert done.returncode == 1, err  # the records that are no JSON
    assert rows_of(tmp_path / "out.jsonl") == expected


def test_without_an_output_there_is_nothing_to_go_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("a text\n")
    count = CorpusCounter.count_batch

    def counted(counter: CorpusCounter, batch: Batch) -> Counted:
        signal.raise_signal(signal.SIGTERM)
        return count(counter, batch)

    monkeypatch.setattr(CorpusCounter, "count_batch", counted)
    assert main(["count-corpus", str(tmp_path), "-t", "o200k_base"]) == 128 + signal.SIGTERM
    assert capsys.readouterr() == ("", "tallystick: stopped after 1 records.\n")


BATCHES = [Batch((), 0, Position(row=row)) for row in range(5)]


def test_the_batch_that_was_begun_is_kept_and_the_next_is_not_read() -> None:
    read: list[Batch] = []

    def reading() -> Iterator[Batch]:
        for batch in BATCHES:
            read.append(batch)
            yield batch

    def count(batches: Iterator[Batch]) -> None:
        for batch in batches:
            if batch is BATCHES[2]:
                signal.raise_signal(signal.SIGTERM)
                signal.raise_signal(signal.SIGTERM)  # as `timeout` does

    with Stops() as asked, pytest.raises(Stopped) as stopped:
        count(asked.between(reading()))
    assert read == BATCHES[:3]
    assert (stopped.value.signal, asked.signal) == (signal.SIGTERM, signal.SIGTERM)


def test_what_takes_long_to_read_does_not_hold_it_up() -> None:
    def reading() -> Iterator[Batch]:
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("it went on")
        yield

    with Stops() as asked, pytest.raises(Stopped):
        list(asked.between(reading()))


def test_a_second_signal_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stops, "SECOND_SIGNAL_SECONDS", 0)
    with Stops() as asked:
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt) as raised:
            signal.raise_signal(signal.SIGTERM)
    assert not isinstance(raised.value, Stopped)
    assert asked.signal == signal.SIGTERM


def test_what_was_ignored_stays_so_and_handlers_come_back() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    ours = signal.getsignal(signal.SIGTERM)
    try:
        with Stops() as asked:
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGTERM) != ours
        assert asked.signal is None
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is ours
    finally:
        signal.signal(signal.SIGINT, before)
