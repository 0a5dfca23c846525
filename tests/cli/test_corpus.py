from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from service.cli import corpus
from service.cli.main import main
from service.cli.output import DAMAGED, OK, UNCOUNTED, USAGE
from service.corpus.counting import COLUMNS
from service.corpus.journal import CHECKPOINT_SHARE
from service.errors import TokenizerUnavailable
from tests.support.live import ROOT

HELLO = "Hello, world! 안녕하세요."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("in/a.jsonl").write_text(json.dumps({"text": HELLO}) + "\n" + json.dumps({"text": "strawberry"}) + "\n")
    Path("in/b.txt").write_text("strawberry\n")
    return tmp_path


def run(*arguments: str) -> int:
    return main(["count-corpus", *arguments])


def test_a_corpus_is_summed_on_stdout_and_its_speed_told_on_stderr(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("in", "-m", "gpt-4o") == OK
    said = capsys.readouterr()
    size = sum(len(line) for line in Path("in/a.jsonl").read_bytes().splitlines()) + 10
    assert said.out == f"model\trecords\tfailed\ttokens\tbytes\tUSD\ngpt-4o\t3\t0\t13\t{size}\t0.0000325\n"
    assert re.fullmatch(rf"tallystick: {size} bytes in [\d.]+ s: [\d.]+ MB/s\n", said.err)
    assert [path.name for path in folder.iterdir()] == ["in"]


def test_what_fails_is_told_by_its_place_and_not_by_its_words(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in/c.jsonl").write_text('{"text": "a"}\n{"other": "secret"}\nsecret\n')
    Path("in/d.txt").write_bytes(b"\0secret")
    assert run("in", "nowhere.jsonl", "-t", "o200k_base", "-o", "out.jsonl") == UNCOUNTED
    said = capsys.readouterr()
    assert said.out.splitlines()[1].startswith("o200k_base\t6\t2\t14\t")
    assert "secret" not in said.out + said.err + Path("out.jsonl").read_text()
    assert said.err.splitlines()[:5] == [
        "tallystick: in/c.jsonl:2: text is missing",
        "tallystick: in/c.jsonl:3: The record is not valid JSON: Expecting value at line 1 column 1.",
        "tallystick: in/d.txt: binary",
        "tallystick: nowhere.jsonl: No such file or directory",
        "tallystick: not counted: 2 records, 2 files (invalid_json 1, missing_field 1, unreadable 2)",
    ]


def test_json_has_the_sums_by_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bodies = [
        {"model": model, "messages": [{"role": "user", "content": "Hello!"}]} for model in ("gpt-4o", "claude-opus-4-5")
    ]
    Path("in/bodies.jsonl").write_text("\n".join(map(json.dumps, bodies)))
    assert run("in/bodies.jsonl", "--request", "--json") == OK
    told = json.loads(capsys.readouterr().out)
    assert (told["records"], told["failed"], set(told["models"])) == (2, 0, {"gpt-4o", "claude-opus-4-5"})
    assert told["input_tokens"] == sum(sums["input_tokens"] for sums in told["models"].values())
    assert set(told["this_run"]) == {"resumed", "bytes", "seconds", "mb_per_second"}
    assert run("in/bodies.jsonl", "--request") == OK
    assert capsys.readouterr().out.splitlines()[-1].startswith("total\t2\t0\t")


def test_options_reach_the_records(folder: Path) -> None:
    Path("batch.jsonl").write_text(json.dumps(
        {"custom_id": "r1", "body": {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello!"}]}}
    ))
    options = ("--request", "--field", "body", "--id", "custom_id", "-o", "out.jsonl", "--workers", "2")
    assert run("batch.jsonl", *options) == OK
    (row,) = map(json.loads, Path("out.jsonl").read_text().splitlines())
    assert (row["id"], row["model"], row["input_tokens"]) == ("r1", "gpt-4o", 9)
    assert run("in/a.jsonl", "--format", "file", "-m", "gpt-4o", "-o", "whole.jsonl") == OK
    assert len(Path("whole.jsonl").read_text().splitlines()) == 1


def test_usage_errors_tell_the_way_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, told in (
        (["in"], "a model or a tokenizer"), (["in", "-m", "gtp-4o"], "gpt-4o"), (["in", "-t", "nope"], "o200k_base"),
        (["in", "-m", "gpt-4o", "-t", "gemma3"], "not both"), (["in", "-m", "gpt-4o", "--resume"], "--output"),
        (["-", "-m", "gpt-4o"], "name files"), (["in", "-m", "gpt-4o", "--format", "csv"], "jsonl, text, json"),
        (["in", "-m", "gpt-4o", "-o", "out.csv"], ".parquet"),
        (["in", "-m", "gpt-4o", "-o", "in/a.jsonl"], "a.jsonl"),
        (["in/a.jsonl", "-m", "gpt-4o", "-o", "in/a.jsonl"], "the output is one of the inputs"),
    ):
        assert run(*arguments) == USAGE, arguments
        assert told in capsys.readouterr().err
    for arguments in (["in", "-m", "gpt-4o", "--workers", "0"], ["in", "--nonsense"], ["-m", "gpt-4o"]):
        with pytest.raises(SystemExit) as left:
            run(*arguments)
        assert left.value.code == USAGE


def test_an_output_within_the_corpus_is_no_part_of_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for output in ("in/one.jsonl", "in/two.jsonl"):
        assert run("in", "in/*.jsonl", "-m", "gpt-4o", "-o", output) == OK
        assert run("in", "in/*.jsonl", "-m", "gpt-4o", "-o", output) == USAGE
        assert run("in", "in/*.jsonl", "-m", "gpt-4o", "-o", output, "--resume") == OK
    assert Path("in/one.jsonl").read_bytes() == Path("in/two.jsonl").read_bytes()
    capsys.readouterr()


def test_an_output_that_cannot_be_written_is_a_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("in", "-m", "gpt-4o", "-o", "nowhere/out.jsonl") == UNCOUNTED
    told = "tallystick: cannot write nowhere/out.jsonl: No such file or directory.\n"
    assert capsys.readouterr().err == told  # and not that --resume goes on with what was not begun


def test_a_disk_that_is_full_is_told_and_the_run_goes_on_later(folder: Path) -> None:
    """A limit of the size of files stands for it: writes fail in their middle, too."""
    Path("in/long.txt").write_text("some words\n" * 20_000)
    command = f'exec "{sys.executable}" -m service.cli count-corpus in -t o200k_base -o out.jsonl'
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    full = subprocess.run(
        ["sh", "-c", f"ulimit -f 1000; {command}"], env=environment, capture_output=True, text=True, check=False
    )
    assert (full.returncode, "cannot write out.jsonl: File too large; --resume goes on" in full.stderr) == (1, True)
    assert not Path("out.jsonl").exists()
    subprocess.run(["sh", "-c", f"{command} --resume"], env=environment, capture_output=True, check=True)
    rows = [json.loads(line) for line in Path("out.jsonl").read_bytes().splitlines()]
    assert [row["row"] for row in rows if row["file"] == "in/long.txt"] == list(range(1, 20_001))
    assert len(rows) == 20_003


def test_damaged_data_has_its_exit_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise TokenizerUnavailable("o200k_base is damaged")

    monkeypatch.setattr("service.cli.corpus.count_corpus", fail)
    assert run("in", "-m", "gpt-4o", "-o", "out.jsonl") == DAMAGED
    assert "damaged" in capsys.readouterr().err


def test_a_bar_is_shown_on_a_terminal_alone(folder: Path) -> None:
    primary, secondary = pty.openpty()
    command = [sys.executable, "-m", "service.cli", "count-corpus", "in", "-m", "gpt-4o"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=secondary, env=environment) as running:
        os.close(secondary)
        shown = b""
        while running.poll() is None or b"MB/s\r\n" not in shown:
            try:
                shown += os.read(primary, 4096)
            except OSError:  # nobody is at the other end any more
                break
        assert running.stdout is not None
        assert b"gpt-4o\t3" in running.stdout.read()
    os.close(primary)
    assert b"counting" in shown
    assert running.returncode == OK


def test_the_help_names_every_column_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run("--help")
    text = capsys.readouterr().out
    assert ", ".join(COLUMNS) in text
    assert all(f"\n  {code}  " in text for code in (OK, UNCOUNTED, USAGE, DAMAGED, "130, 143"))
    assert f"the time between two is {CHECKPOINT_SHARE} times what one takes" in text
    assert (corpus.ALL_COUNTED, corpus.SOME_FAILED, corpus.USAGE) == (OK, UNCOUNTED, USAGE)
