from __future__ import annotations

import gzip
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.corpus.inputs import PACKED, Input, find_inputs, get_openers


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b.jsonl", "a.parquet", "sub/c.txt", "sub/d.ndjson.gz", "sub/deep/e.JSON", "note.md", ".hidden.jsonl"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("x")
    return tmp_path


def shown(inputs: list[Input]) -> list[tuple[str, str]]:
    return [(item.shown, item.form) for item in inputs if item.problem is None]


def test_a_folder_is_searched_in_order_for_what_its_suffix_tells(folder: Path) -> None:
    assert shown(find_inputs(["."])) == [
        ("./a.parquet", "parquet"), ("./b.jsonl", "jsonl"), ("./sub/c.txt", "text"), ("./sub/d.ndjson.gz", "jsonl"),
        ("./sub/deep/e.JSON", "json"),
    ]


def test_a_given_form_is_that_of_every_file(folder: Path) -> None:
    assert {form for _, form in shown(find_inputs([".", "note.md"], "file"))} == {"file"}
    assert ("./note.md", "file") in shown(find_inputs(["."], "file"))


def test_patterns_match_in_order_and_a_name_that_is_there_is_no_pattern(folder: Path) -> None:
    assert shown(find_inputs(["sub/**/*.*"])) == [
        ("sub/c.txt", "text"), ("sub/d.ndjson.gz", "jsonl"), ("sub/deep/e.JSON", "json"),
    ]
    Path("x[1].txt").write_text("x")
    Path("x1.txt").write_text("x")
    assert shown(find_inputs(["x[1].txt"])) == [("x[1].txt", "text")]


def test_a_pattern_does_not_run_in_circles_through_links(folder: Path) -> None:
    for name in ("a", "b"):  # two links to the folder they are in: 2 ** 40 paths
        Path("sub", name).symlink_to(".")
    assert shown(find_inputs(["sub/**/*.txt"])) == [("sub/c.txt", "text")]
    assert shown(find_inputs(["**/*.jsonl"])) == [("b.jsonl", "jsonl")]
    assert shown(find_inputs([".hid*.jsonl"])) == [(".hidden.jsonl", "jsonl")]


def test_a_folder_that_cannot_be_read_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def refuse(path: str) -> Iterator[os.DirEntry[str]]:  # root may read any folder, so permissions would not do
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert [(item.shown, item.problem) for item in find_inputs(["sub"]) if item.problem] == [
        ("sub/deep", "Permission denied"),
    ]


def test_any_other_file_that_is_named_is_text(folder: Path) -> None:
    assert shown(find_inputs(["note.md"])) == [("note.md", "text")]


def test_a_file_is_read_once_however_often_it_is_named(folder: Path) -> None:
    Path("link.jsonl").symlink_to("b.jsonl")
    assert shown(find_inputs(["b.jsonl", "./b.jsonl", "*.jsonl", "."]))[:2] == [
        ("b.jsonl", "jsonl"), ("./a.parquet", "parquet"),
    ]


def test_what_this_command_writes_is_no_corpus(folder: Path) -> None:
    for name in ("old.jsonl", "old.jsonl.summary.json", "now.jsonl", "new.jsonl.part"):
        Path(name).write_text("x")
    own = [os.path.realpath("now.jsonl")]
    assert [name for name, _ in shown(find_inputs([".", "*.jsonl"], own=own))] == [
        "./a.parquet", "./b.jsonl", "./sub/c.txt", "./sub/d.ndjson.gz", "./sub/deep/e.JSON",
    ]
    assert [name for name, _ in shown(find_inputs(["*.jsonl"], own=own))] == ["b.jsonl"]


def test_what_cannot_be_read_says_why(folder: Path) -> None:
    Path("empty").mkdir()
    Path("empty/picture.png").write_bytes(b"x")
    os.mkfifo("pipe.txt")
    Path("table.parquet.gz").write_bytes(b"x")
    names = ["empty", "nowhere.jsonl", "no*.jsonl", "pipe.txt", "table.parquet.gz"]
    assert [item.problem for item in find_inputs(names)] == [
        "nothing to count in this folder (.jsonl, .ndjson, .json, .txt, .parquet)", "No such file or directory",
        "no file matches", "not a regular file", "a compressed Parquet file: decompress it first",
    ]


def test_pipes_and_broken_links_of_a_folder_are_left_out(folder: Path) -> None:
    os.mkfifo("sub/pipe.txt")
    Path("sub/gone.txt").symlink_to("nowhere")
    assert [name for name, _ in shown(find_inputs(["sub"]))] == ["sub/c.txt", "sub/d.ndjson.gz", "sub/deep/e.JSON"]


def test_packed_files_are_unpacked(tmp_path: Path) -> None:
    zstd = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    assert set(get_openers()) == set(PACKED)
    for packed, pack in ((".gz", gzip.compress), (".zst", zstd.compress)):
        path = tmp_path / f"a.jsonl{packed}"
        path.write_bytes(pack(b"text"))
        (item,) = find_inputs([str(path)])
        assert (item.form, item.problem) == ("jsonl", None)
        with path.open("rb") as file:
            assert get_openers()[packed](file).read() == b"text"


def test_zst_says_what_it_needs_where_python_cannot_read_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.corpus.inputs.get_openers", lambda: {".gz": gzip.GzipFile})
    Path("z.jsonl.zst").write_bytes(b"x")
    (item,) = find_inputs(["z.jsonl.zst"])
    assert item.problem == "reading .zst needs pip install 'tallystick[zstd]', or Python 3.14"


def test_a_name_that_is_no_unicode_is_shown_all_the_same(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.txt"
    with open(path, "wb") as file:
        file.write(b"x")
    (item,) = find_inputs([os.fsdecode(path)])
    assert item.problem is None
    assert item.shown.endswith(r"/\udcff.txt")
