"""Finding files to count and reading them as text."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

STDIN = "-"

SNIFF_BYTES = 8_192
"""A file with a NUL among its first bytes, this many, is binary. Git has the same rule."""

ENCODED = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
"""Byte order mark -> encoding. The mark is no part of the text."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file or standard input. `named` says that the user named it, so that failing to read it is an error."""

    path: str
    named: bool
    bytes: int


class NotText(Exception):
    """The file is no text. The message says why."""


def find_sources(paths: list[str]) -> Iterator[Source]:
    """The files in the order given. A folder is searched with all its subfolders, in the order of names.

    Hidden entries and links to folders are left out, since a link could lead back to its folder. Raises OSError for a
    path that is not there.
    """
    for path in paths:
        if path == STDIN:
            yield Source(STDIN, named=True, bytes=0)
        elif os.path.isdir(path):
            yield from _walk(path)
        else:
            yield Source(path, named=True, bytes=os.stat(path).st_size)


def _walk(folder: str) -> Iterator[Source]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(here, name)
            if not name.startswith(".") and path.is_file():
                yield Source(str(path), named=False, bytes=path.stat().st_size)


def read_text(source: Source) -> str:
    """The text of a source. Raises NotText, and OSError where it cannot be read."""
    data = sys.stdin.buffer.read() if source.path == STDIN else Path(source.path).read_bytes()
    encoding = next((name for mark, name in ENCODED if data.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in data[:SNIFF_BYTES]:
        raise NotText("binary")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise NotText(f"not UTF-8 at byte {error.start}") from None
