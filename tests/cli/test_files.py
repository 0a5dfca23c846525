from __future__ import annotations

from pathlib import Path

import pytest

from service.cli.files import NotText, Source, find_sources, read_text


def source(path: Path) -> Source:
    return Source(str(path), named=True, bytes=0)


def test_a_folder_is_walked_in_order_without_hidden_entries_and_links_to_folders(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "a/b/c.txt", ".git/config", ".hidden"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    found = [str(Path(found.path).relative_to(tmp_path)) for found in find_sources([str(tmp_path)])]
    assert found == ["b.txt", "a/z.txt", "a/b/c.txt"]
    assert not any(found.named for found in find_sources([str(tmp_path)]))


def test_what_is_named_is_taken_even_if_hidden_and_must_be_there(tmp_path: Path) -> None:
    hidden = tmp_path / ".env"
    hidden.write_text("A=1")
    assert list(find_sources([str(hidden)])) == [Source(str(hidden), named=True, bytes=3)]
    with pytest.raises(FileNotFoundError):
        list(find_sources([str(tmp_path / "nope")]))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_byte_order_mark_tells_the_encoding_and_is_no_text(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "text"
    path.write_bytes("안녕, world".encode(encoding))
    assert read_text(source(path)) == "안녕, world"


@pytest.mark.parametrize(("content", "reason"), [(b"\x89PNG\r\n\0\0", "binary"), (b"caf\xe9", "not UTF-8 at byte 3")])
def test_what_is_no_text_is_said_to_be_none(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "data"
    path.write_bytes(content)
    with pytest.raises(NotText, match=reason):
        read_text(source(path))
