"""Finding the files of a corpus: their form, and the order in which they are read."""

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
"""What a record is: a line with a JSON value (`jsonl`), a file with a JSON value (`json`), a line of text (`text`), a
file of text (`file`), or the row of a table (`parquet`)."""
FORMS: tuple[Form, ...] = get_args(Form)

SUFFIXES: Mapping[str, Form] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".txt": "text", ".parquet": "parquet",
}
"""The files that are read in a folder. A file with another suffix is read only where it is named (as lines of text), or
where a form is given for all files."""

PACKED = (".gz", ".zst")

PART, SUMMARY = ".part", ".summary.json"
"""Suffixes that the journal adds to the name of an output. Such files are never part of a corpus."""


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read. `shown` is its path as valid Unicode, for the rows. `problem` says why it cannot be read."""

    path: str
    shown: str
    form: Form
    packed: str = ""
    bytes: int = 0
    mtime_ns: int = 0
    problem: str | None = None


def find_inputs(names: Iterable[str], form: Form | None = None, own: Iterable[str] = ()) -> list[Input]:
    """The files of a list of files, folders and patterns, in their order. Each file is there once.

    A folder is searched with all its subfolders, in the order of names. Hidden entries, links to folders and outputs of
    this command are left out. A pattern does not match such outputs, either. A path that is not there, and a folder
    with nothing to count, is an input with a problem. `own` are the real paths of the files that this run writes.
    """
    seen, found = set(own), []
    for name in names:
        for item in _find_inputs(name, form):
            real = os.path.realpath(item.path)
            if real not in seen:
                seen.add(real)
                found.append(item)
    return found


def _find_inputs(name: str, form: Form | None) -> Iterator[Input]:
    if not os.path.lexists(name) and glob.has_magic(name):
        matches = [path for path in sorted(_match_pattern(name)) if not _is_output(path)]
        if not matches:
            yield replace(_describe(name, form), problem="no file matches")
        for match in matches:
            yield from _find_path(match, form)
    else:
        yield from _find_path(name, form)


def _match_pattern(pattern: str) -> Iterator[str]:
    """The paths that a pattern matches. Hidden entries match only where the pattern names them. `**` does not follow
    links, since two links that lead back to their folder would never end."""
    parts = Path(pattern).parts
    first = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    root, rest = Path(*parts[:first]), parts[first:]
    names_hidden = any(part.startswith(".") for part in rest)
    for path in root.glob(os.path.join(*rest)):
        if names_hidden or not any(part.startswith(".") for part in path.relative_to(root).parts):
            yield str(path)


def _find_path(path: str, form: Form | None) -> Iterator[Input]:
    if not os.path.isdir(path):
        yield _inspect(path, form)
        return
    found = False
    refused: list[OSError] = []
    for inside in _walk(path, refused.append):
        if form is not None or _split_suffixes(inside)[0] in SUFFIXES:
            found = True
            yield _inspect(inside, form)
    for error in refused:
        found = True
        yield replace(_describe(os.fsdecode(error.filename), form), problem=error.strerror or "cannot be read")
    if not found:
        wanted = "" if form else f" ({', '.join(SUFFIXES)})"
        yield replace(_describe(path, form), problem=f"nothing to count in this folder{wanted}")


def _walk(folder: str, refuse: Callable[[OSError], None]) -> Iterator[str]:
    """The files in a folder. `refuse` is called for each folder that cannot be read."""
    for here, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(here, name)
            if not name.startswith(".") and os.path.isfile(path) and not _is_output(path):
                yield path


def _is_output(path: str) -> bool:
    return path.endswith((PART, SUMMARY)) or os.path.exists(path + SUMMARY)


def _inspect(path: str, form: Form | None) -> Input:
    item = _describe(path, form)
    try:
        status = os.stat(path)
    except OSError as error:
        return replace(item, problem=error.strerror or "cannot be read")
    problem = None if os.path.isfile(path) else "not a regular file"
    if item.packed and item.form == "parquet":
        problem = "a compressed Parquet file: decompress it first"
    elif item.packed and item.packed not in get_openers():
        problem = f"reading {item.packed} needs pip install 'tallystick[zstd]', or Python 3.14"
    return replace(item, bytes=status.st_size, mtime_ns=status.st_mtime_ns, problem=problem)


def _describe(path: str, form: Form | None) -> Input:
    suffix, packed = _split_suffixes(path)
    shown = path.encode("utf-8", "backslashreplace").decode()
    return Input(path, shown, form or SUFFIXES.get(suffix, "text"), packed)


def _split_suffixes(path: str) -> tuple[str, str]:
    """The suffix for the form, and the suffix for the compression."""
    stem, suffix = os.path.splitext(path.lower())
    return (os.path.splitext(stem)[1], suffix) if suffix in PACKED else (suffix, "")


# ---------------------------------------------------------------- opening

Unpack = Callable[[IO[bytes]], IO[bytes]]


class Damaged(Exception):
    """A file is not what its name says. The message says why."""


@cache
def get_openers() -> Mapping[str, Unpack]:
    """Suffix -> how the compression is undone, as far as this Python can."""
    known: dict[str, Unpack] = {".gz": lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file))}
    zstd = _find_zstd()
    return known if zstd is None else {**known, ".zst": zstd.ZstdFile}


@cache
def get_damage_errors() -> tuple[type[Exception], ...]:
    """The exceptions that are raised for damaged compressed data."""
    zstd = _find_zstd()
    return (EOFError, zlib.error, gzip.BadGzipFile, *(() if zstd is None else (zstd.ZstdError,)))


def _find_zstd() -> Any:
    """The zstd module of the standard library (Python 3.14 and later) or its backport."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None
