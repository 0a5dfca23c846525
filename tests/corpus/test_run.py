from __future__ import annotations

import errno
import fcntl
import gzip
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from service.corpus import batches, pool, run
from service.corpus.counting import CountOptions
from service.corpus.inputs import Input, find_inputs
from service.corpus.journal import CannotResume, Journal
from service.corpus.run import Outcome, count_corpus
from service.counting.counter import Counter
from service.errors import InvalidRequest
from service.types import CountRequest

GPT = CountOptions(model="gpt-4o", field="text")


def text_of(number: int) -> str:
    return f"record {number}: " + "Hello, 안녕하세요! " * (number % 5)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """700 records in files of every form, some of them no records at all, in small batches."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(batches, "CHUNK_BYTES", 1500)
    monkeypatch.setattr(run, "ALONE_BYTES", 0)
    Path("in").mkdir()
    lines = [json.dumps({"text": text_of(number)}) if number % 50 else "no JSON" for number in range(300)]
    Path("in/a.jsonl").write_text("\n".join(lines))
    Path("in/b.jsonl.gz").write_bytes(gzip.compress("\n\n".join(lines[:100]).encode()))
    pq.write_table(pa.table({"text": [text_of(number) for number in range(200)]}), "in/c.parquet", row_group_size=64)
    Path("in/d.txt").write_text("\n".join(map(text_of, range(90))))
    for number in range(10):
        Path(f"in/e{number}.json").write_text(json.dumps({"text": text_of(number)}))
    return tmp_path


def inputs() -> list[Input]:
    return find_inputs(["in", "nowhere.txt"])


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def expected() -> list[tuple[str, int | None, int | None]]:
    counter = Counter.in_memory(0)
    count = [counter.count(CountRequest(model_ref="gpt-4o", texts=(text_of(n),))).input_tokens for n in range(300)]
    with_failures = [count[n] if n % 50 else None for n in range(300)]
    return [
        *(("in/a.jsonl", n + 1, with_failures[n]) for n in range(300)),
        *(("in/b.jsonl.gz", 2 * n + 1, with_failures[n]) for n in range(100)),
        *(("in/c.parquet", n + 1, count[n]) for n in range(200)),
        *(("in/d.txt", n + 1, count[n]) for n in range(90)),
        *((f"in/e{n}.json", 1, count[n]) for n in range(10)),
        ("nowhere.txt", None, None),
    ]


def check(outcome: Outcome, rows: list[dict[str, Any]]) -> None:
    assert [(row["file"], row["row"], row["input_tokens"]) for row in rows] == expected()
    sums = outcome.totals.all
    assert (sums.records, sums.failed, outcome.totals.failed_files) == (700, 8, 1)
    assert sums.input_tokens == sum(tokens or 0 for _, _, tokens in expected())
    assert outcome.totals.codes == {"invalid_json": 8, "unreadable": 1}


@pytest.mark.parametrize("workers", [1, 2])
def test_rows_are_in_the_order_of_the_records_and_right(folder: Path, workers: int) -> None:
    done: list[int] = []
    outcome = count_corpus(inputs(), GPT, Path("out.jsonl"), workers=workers, on_progress=done.append)
    check(outcome, rows_of(Path("out.jsonl")))
    assert sorted(path.name for path in folder.iterdir()) == ["in", "out.jsonl", "out.jsonl.summary.json"]
    assert len(done) > 20
    assert done == sorted(done)
    assert done[-1] == sum(item.bytes for item in inputs())
    summary = json.loads(Path("out.jsonl.summary.json").read_text())
    assert (summary["state"], summary["records"], summary["failed"]) == ("finished", 700, 8)


def test_parquet_has_the_same_rows(folder: Path) -> None:
    outcome = count_corpus(inputs(), GPT, Path("out.parquet"))
    check(outcome, pq.read_table("out.parquet").to_pylist())
    assert sorted(path.name for path in folder.iterdir()) == ["in", "out.parquet", "out.parquet.summary.json"]


def test_without_an_output_there_are_sums_alone(folder: Path) -> None:
    outcome = count_corpus(inputs(), GPT)
    assert outcome.totals.all.records == 700
    assert [path.name for path in folder.iterdir()] == ["in"]


def test_a_finished_run_that_goes_on_tells_what_it_came_to(folder: Path) -> None:
    first = count_corpus(inputs(), GPT, Path("out.jsonl"), resume=True)
    before = Path("out.jsonl").stat()
    again = count_corpus(inputs(), GPT, Path("out.jsonl"), resume=True)
    assert again.totals == first.totals
    assert (first.resumed, again.resumed, again.bytes) == (False, True, 0)
    assert Path("out.jsonl").stat() == before


def test_what_is_there_is_never_overwritten(folder: Path) -> None:
    for name in ("out.jsonl", "out.jsonl.part", "out.jsonl.summary.json"):
        Path(name).write_text("mine")
        for resume in (False, True):
            with pytest.raises(CannotResume, match=name):
                count_corpus(inputs(), GPT, Path("out.jsonl"), resume=resume)
        assert Path(name).read_text() == "mine"
        Path(name).unlink()


def stop_after(monkeypatch: pytest.MonkeyPatch, batches_written: int) -> None:
    """Make the run stop, as Ctrl-C does, once so many batches were written, with a checkpoint after each."""
    monkeypatch.setattr("service.corpus.journal.CHECKPOINT_SHARE", 0)
    write, left = Journal.write, [batches_written]

    def counted(journal: Journal, *arguments: Any) -> None:
        write(journal, *arguments)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(Journal, "write", counted)


@pytest.mark.parametrize("output", ["out.jsonl", "out.parquet"])
def test_a_run_that_was_stopped_goes_on(folder: Path, output: str) -> None:
    path, stops = Path(output), 0
    while not path.exists():
        with pytest.MonkeyPatch.context() as patch:
            stop_after(patch, 7)
            try:
                outcome = count_corpus(inputs(), GPT, path, resume=True)
            except KeyboardInterrupt:
                stops += 1
                with pytest.raises(CannotResume, match="--resume goes on"):
                    count_corpus(inputs(), GPT, path)
    assert stops > 3
    check(outcome, rows_of(path) if output == "out.jsonl" else pq.read_table(path).to_pylist())


CHANGES: dict[str, tuple[Callable[[], object], CountOptions]] = {
    "options": (lambda: None, CountOptions(model="gpt-4o", field="text", id_field="id")),
    "inputs": (lambda: os.utime("in/a.jsonl", (1, 1)), GPT),
    "inputs by size": (lambda: Path("in/new.txt").write_text("x"), GPT),
}


@pytest.mark.parametrize("what", CHANGES)
def test_another_job_does_not_go_on(folder: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    change, options = CHANGES[what]
    with pytest.MonkeyPatch.context() as patch:
        stop_after(patch, 5)
        with pytest.raises(KeyboardInterrupt):
            count_corpus(inputs(), GPT, Path("out.jsonl"))
    before = Path("out.jsonl.part").read_bytes()
    change()
    with pytest.raises(CannotResume, match=rf"another job \({what.split(' ', maxsplit=1)[0]} changed\)"):
        count_corpus(inputs(), options, Path("out.jsonl"), resume=True)
    assert Path("out.jsonl.part").read_bytes() == before


def test_other_tokenizer_data_or_prices_are_another_job(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count_corpus(inputs(), GPT, Path("out.jsonl"))
    monkeypatch.setattr("service.catalog.version", lambda: "another")
    with pytest.raises(CannotResume, match="tokenizer data and prices changed"):
        count_corpus(inputs(), GPT, Path("out.jsonl"), resume=True)


def test_rows_that_are_damaged_or_gone_do_not_go_on(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        stop_after(patch, 5)
        with pytest.raises(KeyboardInterrupt):
            count_corpus(inputs(), GPT, Path("out.jsonl"))
    summary, part = Path("out.jsonl.summary.json"), Path("out.jsonl.part")
    length, told = json.loads(summary.read_text())["length"], summary.read_text()
    assert 0 < length <= part.stat().st_size
    os.truncate(part, length - 1)
    with pytest.raises(CannotResume, match="damaged"):
        count_corpus(inputs(), GPT, Path("out.jsonl"), resume=True)
    part.unlink()
    with pytest.raises(CannotResume, match="gone"):
        count_corpus(inputs(), GPT, Path("out.jsonl"), resume=True)
    for broken in (told[:50], "[]", told.replace('"length"', '"else"')):
        summary.write_text(broken)
        with pytest.raises(CannotResume, match="cannot be read"):
            count_corpus(inputs(), GPT, Path("out.jsonl"), resume=True)


def test_two_runs_do_not_write_the_same(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        stop_after(patch, 5)
        with pytest.raises(KeyboardInterrupt):
            count_corpus(inputs(), GPT, Path("out.jsonl"))
    with Path("out.jsonl.part").open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(CannotResume, match="another run"):
            count_corpus(inputs(), GPT, Path("out.jsonl"), resume=True)
    check(count_corpus(inputs(), GPT, Path("out.jsonl"), resume=True), rows_of(Path("out.jsonl")))


def test_a_full_disk_stops_the_run_which_goes_on_when_there_is_room(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        write, room = Journal.write, [9000]

        def until_full(journal: Journal, rows: bytes, *rest: Any) -> None:
            room[0] -= len(rows)
            if room[0] < 0:
                write(journal, rows[:100], *rest)  # the piece that still had room, and the disk is full
                raise OSError(errno.ENOSPC, "No space left on device")
            write(journal, rows, *rest)

        patch.setattr(Journal, "write", until_full)
        patch.setattr("service.corpus.journal.CHECKPOINT_SHARE", 1e9)  # no checkpoint tells of that piece
        with pytest.raises(OSError, match="No space"):
            count_corpus(inputs(), GPT, Path("out.jsonl"))
    check(count_corpus(inputs(), GPT, Path("out.jsonl"), resume=True), rows_of(Path("out.jsonl")))


def test_a_process_that_is_killed_stops_the_run_which_goes_on(folder: Path) -> None:
    def kill(_: int) -> None:
        for process in threads_children():
            os.kill(process, 9)

    with pytest.raises(pool.ProcessDied):
        count_corpus(inputs(), GPT, Path("out.jsonl"), workers=2, on_progress=kill)
    check(count_corpus(inputs(), GPT, Path("out.jsonl"), resume=True), rows_of(Path("out.jsonl")))


def threads_children() -> Iterator[int]:
    """Process ids of what any thread of this process started in `pool`."""
    import multiprocessing

    assert threading.current_thread() is threading.main_thread()
    for process in multiprocessing.active_children():
        assert process.pid is not None
        yield process.pid


def test_nothing_is_begun_where_nothing_can_be_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidRequest, match="no such tokenizer"):
        count_corpus(inputs(), CountOptions(tokenizer="nope", field="text"), Path("out.jsonl"))
    with pytest.raises(InvalidRequest, match=r"must end in \.jsonl or \.parquet"):
        count_corpus(inputs(), GPT, Path("out.csv"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(InvalidRequest, match="pip install"):
        count_corpus(inputs(), GPT, Path("out.jsonl"))
    with pytest.raises(InvalidRequest, match="pip install"):
        count_corpus([], GPT, Path("out.parquet"))
    assert [path.name for path in folder.iterdir()] == ["in"]


def test_an_output_that_cannot_be_written_is_told_at_once(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        count_corpus(inputs(), GPT, Path("nowhere/out.jsonl"))


def test_an_empty_corpus_is_counted(folder: Path) -> None:
    Path("empty.jsonl").write_bytes(b"")
    for output in ("out.jsonl", "out.parquet"):
        outcome = count_corpus(find_inputs(["empty.jsonl"]), GPT, Path(output))
        assert (outcome.totals.is_clean, outcome.totals.all.records) == (True, 0)
    assert Path("out.jsonl").read_bytes() == b""
    assert pq.read_table("out.parquet").num_rows == 0


def test_names_mean_the_same_in_every_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from service import catalog

    before = catalog.current()
    try:
        catalog.use(catalog.Catalog(aliases={"my-model": "gpt-4o"}))
        outcome = count_corpus(inputs(), CountOptions(model="my-model", field="text"), Path("out.jsonl"), workers=2)
    finally:
        catalog.use(before)
    check(outcome, rows_of(Path("out.jsonl")))
