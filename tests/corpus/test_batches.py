from __future__ import annotations

import gzip
import hashlib
import importlib
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.corpus import batches
from service.corpus.batches import Batch, Failed, Lines, Position, Values, read_batches
from service.corpus.inputs import Form, find_inputs

zstd = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def read(*paths: Path, form: Form | None = None, start: Position | None = None, limit: int = 1 << 20) -> list[Batch]:
    return list(read_batches(find_inputs(map(str, paths), form), (), start, limit))


def records(read_batches: Sequence[Batch]) -> list[tuple[int | None, bytes | str]]:
    """(row, line or code of an error), with each line's end."""
    found: list[tuple[int | None, bytes | str]] = []
    for block in (block for batch in read_batches for block in batch.blocks):
        if isinstance(block, Failed):
            found.append((block.row, block.code))
        elif isinstance(block, Lines):
            found.extend(enumerate(block.data.splitlines(keepends=True), block.first))
        else:
            found.extend(enumerate(block.values, block.first))
    return found


LINES = st.lists(st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"").replace(b"\r", b"")), max_size=40)


@given(LINES, st.booleans(), st.booleans(), st.integers(1, 30), st.integers(1, 30))
@settings(deadline=None, max_examples=150)
def test_every_line_is_read_once_and_from_every_end_the_rest(
    lines: list[bytes], ends: bool, packed: bool, chunk_bytes: int, line_bytes: int
) -> None:
    """Whatever the sizes of chunks are; the obvious twin is a split of the whole file."""
    content = b"{}\n" + b"\n".join(lines) + (b"\n" if ends else b"")
    expected = [(row, line) for row, line in enumerate(content.splitlines(keepends=True), 1)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "CHUNK_BYTES", chunk_bytes)
        patch.setattr(batches, "LINE_BYTES", line_bytes)
        path = Path(folder) / ("a.jsonl.gz" if packed else "a.jsonl")
        path.write_bytes(gzip.compress(content) if packed else content)
        whole = read(path)
        assert records(whole) == expected
        for number, batch in enumerate(whole, 1):
            assert records(read(path, start=batch.end)) == records(whole[number:])


def test_a_line_that_is_too_long_is_an_error_and_kept_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "CHUNK_BYTES", 16)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"1\n" + b"x" * 500 + b"\n2\n" + b"y" * 300)
    found = read(path, limit=100)
    assert records(found) == [(1, b"1\n"), (2, "too_large"), (3, b"2\n"), (4, "too_large")]
    failures = [block for batch in found for block in batch.blocks if isinstance(block, Failed)]
    assert [failure.bytes for failure in failures] == [501, 300]
    assert records(read(path, limit=100, start=found[0].end)) == records(found)[len(records(found[:1])):]


def test_batches_are_bounded_by_bytes_by_lines_and_by_blocks(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\n" * 20_000 + b"x" * 299_999 + b"\n" + b"y\n" * 9)
    found = read(path)
    assert [len(records([batch])) for batch in found] == [4096] * 4 + [3616, 10]
    assert found[-1].bytes == 300_018
    small = tmp_path / "small"
    small.mkdir()
    for number in range(300):
        (small / f"{number:03}.txt").write_text("one\n")
    found = read(small)
    assert [len(batch.blocks) for batch in found] == [256, 44]
    assert found[0].end == Position(255, 1, 4, 4)


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\n\xef\xbb\xbftwo")
    (batch,) = read(path)
    assert records([batch]) == [(1, b"one\n"), (2, b"\xef\xbb\xbftwo")]


@pytest.mark.parametrize(("name", "content", "reason"), [
    ("a.txt", b"ab\0cd\n", "binary"),
    ("a.txt", "abc\n".encode("utf-16"), "UTF-16: convert it to UTF-8 first"),
    ("a.jsonl", "{}\n".encode("utf-16"), "UTF-16: convert it to UTF-8 first"),
    ("a.json", "{}\n".encode("utf-16"), "UTF-16: convert it to UTF-8 first"),
    ("a.txt.gz", b"no gzip\n", "the compressed data is damaged or cut off"),
    ("a.txt.zst", b"no zstd\n", "the compressed data is damaged or cut off"),
])
def test_what_is_no_text_is_told_of_the_file(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    path, good = tmp_path / name, tmp_path / "z.txt"
    path.write_bytes(content)
    good.write_bytes(b"good")
    (batch,) = read(path, good)
    assert batch.blocks == (Failed(str(path), None, "unreadable", reason), Lines(str(good), "text", 1, b"good"))


@pytest.mark.parametrize(("packed", "pack"), [(".gz", gzip.compress), (".zst", zstd.compress)])
def test_what_is_packed_is_read_as_far_as_it_goes_and_again_from_its_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: str, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(batches, "CHUNK_BYTES", 1000)
    whole, short = tmp_path / f"a.txt{packed}", tmp_path / f"b.txt{packed}"
    digests = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(10_000)]
    lines = [f"{digest}\n".encode() for digest in digests]
    whole.write_bytes(pack(b"".join(lines)))
    short.write_bytes(whole.read_bytes()[:-100_000])

    everything = read(whole)
    assert records(everything) == list(enumerate(lines, 1))
    assert records(read(whole, start=everything[99].end)) == records(everything[100:])
    *before, last = records(read(short))
    assert last == (None, "unreadable")
    assert before == list(enumerate(lines, 1))[:len(before)]
    assert len(before) > 1000


def test_a_file_that_vanishes_before_it_is_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x")
    inputs = find_inputs([str(path)])
    path.unlink()
    (batch,) = read_batches(inputs)
    assert batch.blocks == (Failed(str(path), None, "unreadable", "No such file or directory"),)


def test_whole_files(tmp_path: Path) -> None:
    for name, content in (("a", b"\xef\xbb\xbfone\ntwo\n"), ("b", b""), ("c", b"x" * 101), ("d", b"a\0b")):
        (tmp_path / name).write_bytes(content)
    (batch,) = read(tmp_path, form="file", limit=100)
    assert batch.blocks == (
        Values(f"{tmp_path}/a", "file", 1, (b"one\ntwo\n",)),
        Values(f"{tmp_path}/b", "file", 1, (b"",)),
        Failed(f"{tmp_path}/c", 1, "too_large", "longer than 100 bytes", 101),
        Failed(f"{tmp_path}/d", None, "unreadable", "binary"),
    )


def test_nothing_is_read_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"")
    assert read(tmp_path) == []
    assert list(read_batches([])) == []
