from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from service.catalog import version
from service.cli.main import main
from service.cli.output import DAMAGED, OK, UNCOUNTED, USAGE
from service.errors import TokenizerUnavailable
from service.tokenizers.data import FileCheck

HELLO = "Hello, world! 안녕하세요."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "hello.txt").write_text(HELLO)
    (tmp_path / "sub" / "berry.txt").write_text("strawberry")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    return tmp_path


def test_files_are_counted_for_several_targets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", str(folder / "hello.txt"), "-m", "gpt-4o", "-t", "claude", "-t", "gemma3"]) == OK
    assert capsys.readouterr().out == (
        f"file\tgpt-4o\tclaude\tgemma3\tgpt-4o USD\n{folder}/hello.txt\t7\t12\t6\t0.0000175\n"
    )


def test_costs_are_summed_and_unknown_where_a_price_is_not_known(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["count", str(folder), "-m", "gpt-4o", "-m", "gpt-5.9-nova"]) == OK
    assert [line.split("\t")[1:] for line in capsys.readouterr().out.splitlines()] == [
        ["gpt-4o", "gpt-5.9-nova", "gpt-4o USD", "gpt-5.9-nova USD"],
        ["7", "7", "0.0000175", "unknown"], ["3", "3", "0.0000075", "unknown"], ["10", "10", "0.000025", "unknown"],
    ]


def test_a_folder_is_counted_all_the_way_down_with_a_total(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", str(folder), "-t", "o200k_base"]) == OK
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "file\to200k_base", f"{folder}/hello.txt\t7", f"{folder}/sub/berry.txt\t3", "total of 2 files\t10",
    ]
    assert said.err == f"tallystick: skipped {folder}/picture.png: binary\n"


def test_json_has_everything(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", str(folder), "-m", "openai/gpt-4o", "--json"]) == OK
    body = json.loads(capsys.readouterr().out)
    assert body["files"][0] == {
        "path": f"{folder}/hello.txt",
        "counts": [{
            "for": "openai/gpt-4o", "model": "gpt-4o", "tokenizer": "o200k_base", "input_tokens": 7, "method": "exact",
            "error_band": {"low": 7, "high": 7},
            "cost": {"currency": "USD", "input": "0.0000175", "price_status": "known", "prices_version": version()},
        }],
    }
    assert body["totals"] == [{"for": "openai/gpt-4o", "input_tokens": 10, "cost_usd": "0.000025"}]
    assert body["skipped"] == [{"path": f"{folder}/picture.png", "reason": "binary"}]


@pytest.mark.parametrize("name", ["picture.png", "nowhere"])
def test_what_was_named_and_cannot_be_counted_is_a_failure(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["count", str(folder / name), str(folder / "hello.txt"), "-t", "o200k_base"]) == UNCOUNTED
    said = capsys.readouterr()
    assert f"{folder}/hello.txt\t7" in said.out
    assert name in said.err


def test_usage_errors_tell_the_way_out(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(folder / "hello.txt")
    assert main(["count", file]) == USAGE
    assert "--model" in capsys.readouterr().err
    assert main(["count", file, "-m", "gtp-4o"]) == USAGE
    assert "gpt-4o" in capsys.readouterr().err
    assert main(["count", file, "-t", "nope"]) == USAGE
    assert "o200k_base" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert main(["count", "-m", "gpt-4o"]) == USAGE
    monkeypatch.setenv("TALLYSTICK_QUEUE", "many")
    assert main(["serve"]) == USAGE
    assert "TALLYSTICK_QUEUE" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        main(["count", "--nonsense"])
    assert left.value.code == USAGE


SETTINGS = {
    "scheme": ({"REDIS_URL": "ftp://user:S3cretPw@h/0", "KEYS_IN_REDIS": "1"}, "TALLYSTICK_REDIS_URL: a Redis URL "),
    "netloc": ({"REDIS_URL": "redis://u:S3cretPw@h\u2100/0", "KEYS_IN_REDIS": "1"}, "TALLYSTICK_REDIS_URL: a Redis "),
    "secret": (
        {"REDIS_URL": "redis://h", "KEYS_IN_REDIS": "1", "CACHE_SECRET": "S3cretPw"},
        "TALLYSTICK_REDIS_URL needs TALLYSTICK_CACHE_SECRET, at least 16 ",
    ),
    "number": ({"THREADS": "S3cretPw"}, "TALLYSTICK_THREADS: "),
    "names": ({"ALIASES": "S3cretPw"}, "TALLYSTICK_ALIASES: a JSON object is needed"),
}


@pytest.mark.parametrize(
    ("mistake", "command"),
    [
        *((mistake, command) for mistake in SETTINGS for command in ("serve", "keys list", "keys add a")),
        ("scheme", "keys revoke a"),
        ("names", "count - -m gpt-4o"), ("names", "fits - -m gpt-4o"), ("names", "compare - -m gpt-4o"),
        ("names", "count-corpus x -m gpt-4o"),
    ],
)
def test_a_wrong_setting_is_one_line_without_its_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], mistake: str, command: str
) -> None:
    variables, told = SETTINGS[mistake]
    for name, value in variables.items():
        monkeypatch.setenv(f"TALLYSTICK_{name}", value)
    assert main(command.split()) == USAGE
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith(f"tallystick: {told}")
    assert "S3cret" not in said.err
    assert "Value error" not in said.err


def test_an_error_that_is_not_of_settings_is_not_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong() -> None:
        raise ValueError("a mistake of ours")

    monkeypatch.setattr("service.cli.tokenizers.describe_tokenizers", wrong)
    with pytest.raises(ValueError, match="of ours"):
        main(["tokenizers"])


def test_the_exit_codes_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["count", "--help"]):
        with pytest.raises(SystemExit):
            main(arguments)
        text = capsys.readouterr().out
        assert all(f"\n  {code}  " in text for code in (OK, UNCOUNTED, USAGE, DAMAGED))


def test_tokenizers_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokenizers"]) == OK
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0][:2] == ["tokenizer", "revision"]
    assert ["o200k_base", "446a9538"] in [row[:2] for row in rows]
    assert main(["tokenizers", "--json"]) == OK
    assert {"o200k_base", "claude-v4.8"} <= {row["name"] for row in json.loads(capsys.readouterr().out)}


def test_data_is_verified(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify-data"]) == OK
    said = capsys.readouterr()
    assert "ok       o200k_base.tiktoken.gz  446a9538" in said.out
    assert said.err == ""


def test_damaged_data_has_an_exit_code_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [FileCheck("a.gz", "1", None), FileCheck("b.gz", "2", "expected sha256 2, found 3")]
    monkeypatch.setattr("service.cli.verify_data.verify_data", lambda: iter(checks))
    assert main(["verify-data"]) == DAMAGED
    said = capsys.readouterr()
    assert "DAMAGED  b.gz" in said.out
    assert "found 3" in said.err

    def unavailable(*_: object) -> None:
        raise TokenizerUnavailable("expected sha256 2, found 3")

    monkeypatch.setattr("service.tokenizers.registry.get_tokenizer", unavailable)
    assert main(["count", str(folder), "-t", "gpt2"]) == DAMAGED


# ---------------------------------------------------------------- as a process


def run(*arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "service.cli", *arguments], capture_output=True, timeout=120, check=False, input=text
    )


def test_a_pipe_is_counted_with_and_without_a_dash() -> None:
    for arguments in (["count", "-t", "o200k_base"], ["count", "-", "-t", "o200k_base"]):
        done = run(*arguments, text=HELLO.encode())
        assert (done.returncode, done.stdout) == (OK, b"file\to200k_base\n(standard input)\t7\n"), done.stderr


HEAVY = {"fastapi", "starlette", "uvicorn", "pydantic", "tokenizers", "tiktoken", "splintr", "redis", "rich"}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_version_and_help_import_no_framework_and_no_engine(arguments: list[str]) -> None:
    code = f"""
import sys
from service.cli.main import main
try:
    main({arguments!r})
except SystemExit:
    print("imported:", *sorted({HEAVY!r} & {{name.partition(".")[0] for name in sys.modules}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shown, _, imported = done.stdout.rpartition("imported:")
    assert shown.startswith(("tallystick 0", "usage: tallystick "))
    assert imported == "\n"


@pytest.mark.parametrize("command", ["count", "count-corpus", "fits", "compare", "keys", "tokenizers", "verify-data"])
def test_a_command_imports_no_web_framework(command: str) -> None:
    code = f"""
import sys
from service.cli.main import main
try:
    main([{command!r}, "--help"])
except SystemExit:
    print("imported:", *sorted({{"fastapi", "starlette", "uvicorn"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"usage: tallystick {command} ")
    assert done.stdout.endswith("imported:\n")


def test_a_terminal_gets_a_table(folder: Path) -> None:
    main_end, child_end = pty.openpty()
    environment = os.environ | {"COLUMNS": "200", "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-m", "service.cli", "count", str(folder), "-m", "gpt-4o", "-t", "claude-v4.8"],
        stdout=child_end, stderr=subprocess.DEVNULL, env=environment,
    )
    os.close(child_end)
    shown = b""
    while True:
        try:
            piece = os.read(main_end, 4096)
        except OSError:  # the other end is closed: how a Linux terminal says end of file
            break
        if not piece:
            break
        shown += piece
    os.close(main_end)
    assert process.wait(timeout=60) == OK
    text = shown.decode()
    assert "gpt-4o" in text
    assert "total of 2 files" in text
    assert "\t" not in text


def test_an_address_in_use_is_told() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("serve", "--port", str(taken.getsockname()[1]))
    assert done.returncode == UNCOUNTED
    assert b"cannot listen" in done.stderr
