"""Which files a corpus is made of, what form each has, and in which order they are read."""

from __future__ import annotations

import glob
import gzip
import importlib
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import IO, Any, Literal, cast, get_args

Form = Literal["jsonl", "text", "json", "file", "parquet"]
"""A record is a JSON value a line (`jsonl`) or a file (`json`), a text a line (`text`) or a file (`file`), or the row
of a table (`parquet`)."""
FORMS: tuple[Form, ...] = get_args(Form)

SUFFIXES: Mapping[str, Form] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".txt": "text", ".parquet": "parquet",
}
"""What a folder is searched for; a file of another kind is read only where it is named (as text, a line each) or where
the form of all is given."""

PACKED = (".gz", ".zst")

PART, SUMMARY = ".part", ".summary.json"
"""What the journal puts behind the name of an output: no corpus, whatever folder they are in."""


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read. `shown` is its path as valid Unicode, as rows name it; `problem` says why it cannot be read."""

    path: str
    shown: str
    form: Form
    packed: str = ""
    bytes: int = 0
    mtime_ns: int = 0
    problem: str | None = None


def find_inputs(names: Iterable[str], form: Form | None = None, own: Iterable[str] = ()) -> list[Input]:
    """Files, folders and patterns in the order given, each file once.

    A folder is searched all the way down in order of names, without hidden entries, links to folders, and what this
    command wrote; a pattern does not match the latter, either. What is not there, or is a folder with nothing to count,
    is an input with a problem. `own` are the real paths of what this run writes.
    """
    seen, found = set(own), []
    for name in names:
        for item in _find(name, form):
            real = os.path.realpath(item.path)
            if real not in seen:
                seen.add(real)
                found.append(item)
    return found


def _find(name: str, form: Form | None) -> Iterator[Input]:
    if not os.path.lexists(name) and glob.has_magic(name):
        matches = [path for path in sorted(_match(name)) if not _is_output(path)]
        if not matches:
            yield replace(_describe(name, form), problem="no file matches")
        for match in matches:
            yield from _find_path(match, form)
    else:
        yield from _find_path(name, form)


def _match(pattern: str) -> Iterator[str]:
    """What a pattern matches: hidden entries only where it names them, and `**` not through links (two that lead back
    to their folder would be walked for ever)."""
    parts = Path(pattern).parts
    first = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    root, rest = Path(*parts[:first]), parts[first:]
    names_hidden = any(part.startswith(".") for part in rest)
    for path in root.glob(os.path.join(*rest)):
        if names_hidden or not any(part.startswith(".") for part in path.relative_to(root).parts):
            yield str(path)


def _find_path(path: str, form: Form | None) -> Iterator[Input]:
    if not os.path.isdir(path):
        yield _look_at(path, form)
        return
    found = False
    refused: list[OSError] = []
    for inside in _walk(path, refused.append):
        if form is not None or _split(inside)[0] in SUFFIXES:
            found = True
            yield _look_at(inside, form)
    for error in refused:
        found = True
        yield replace(_describe(os.fsdecode(error.filename), form), problem=error.strerror or "cannot be read")
    if not found:
        wanted = "" if form else f" ({', '.join(SUFFIXES)})"
        yield replace(_describe(path, form), problem=f"nothing to count in this folder{wanted}")


def _walk(folder: str, refuse: Callable[[OSError], None]) -> Iterator[str]:
    """Files to look at; `refuse` is told of each folder that cannot be read."""
    for here, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(here, name)
            if not name.startswith(".") and os.path.isfile(path) and not _is_output(path):
                yield path


def _is_output(path: str) -> bool:
    return path.endswith((PART, SUMMARY)) or os.path.exists(path + SUMMARY)


def _look_at(path: str, form: Form | None) -> Input:
    item = _describe(path, form)
    try:
        status = os.stat(path)
    except OSError as error:
        return replace(item, problem=error.strerror or "cannot be read")
    problem = None if os.path.isfile(path) else "not a regular file"
    if item.packed and item.form == "parquet":
        problem = "a compressed Parquet file: decompress it first"
    elif item.packed and item.packed not in openers():
        problem = f"reading {item.packed} needs pip install 'tallystick[zstd]', or Python 3.14"
    return replace(item, bytes=status.st_size, mtime_ns=status.st_mtime_ns, problem=problem)


def _describe(path: str, form: Form | None) -> Input:
    suffix, packed = _split(path)
    shown = path.encode("utf-8", "backslashreplace").decode()
    return Input(path, shown, form or SUFFIXES.get(suffix, "text"), packed)


def _split(path: str) -> tuple[str, str]:
    """The suffix that tells the form and the one that tells the compression."""
    stem, suffix = os.path.splitext(path.lower())
    return (os.path.splitext(stem)[1], suffix) if suffix in PACKED else (suffix, "")


# ---------------------------------------------------------------- opening

Unpack = Callable[[IO[bytes]], IO[bytes]]


class Damaged(Exception):
    """A file is not what its name says; the message says in what."""


@cache
def openers() -> Mapping[str, Unpack]:
    """How each compression is undone, as far as this Python can."""
    known: dict[str, Unpack] = {".gz": lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file))}
    zstd = _find_zstd()
    return known if zstd is None else {**known, ".zst": zstd.ZstdFile}


@cache
def damage() -> tuple[type[Exception], ...]:
    """What is raised for compressed data that is damaged."""
    zstd = _find_zstd()
    return (EOFError, zlib.error, gzip.BadGzipFile, *(() if zstd is None else (zstd.ZstdError,)))


def _find_zstd() -> Any:
    """The module of the standard library, from Python 3.14 on, or its backport."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None
