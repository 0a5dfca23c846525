"""The vocabulary files as shipped: found by the manifest, decompressed, and verified on every load.

Nothing is ever downloaded, and nothing outside the package is read: a file that is missing or was changed is one
`TokenizerUnavailable` that names the file, the expected and the found hash.
"""

from __future__ import annotations

import hashlib
import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from service.errors import ServiceError, TokenizerUnavailable

MANIFEST = "manifest.toml"
GZIP_WINDOW = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class DataFile:
    """A row of the manifest. `sha256` and `size` (bytes) are of the decompressed file."""

    tokenizer: str
    file: str
    sha256: str
    size: int
    origin_sha256: str
    origin: str
    licence: str


@dataclass(frozen=True, slots=True)
class FileCheck:
    """Whether one shipped file is the one in the manifest; `problem` is None when it is."""

    file: str
    sha256: str
    problem: str | None

    @property
    def ok(self) -> bool:
        return self.problem is None


def package_data() -> Traversable:
    """The folder that the vocabularies ship in."""
    return files("tokenizers_data")


def read_manifest(folder: Traversable | None = None) -> dict[str, DataFile]:
    """The rows by tokenizer name; raises TokenizerUnavailable when the manifest is missing or malformed."""
    try:
        text = ((folder or package_data()) / MANIFEST).read_text(encoding="utf-8")
        rows = tomllib.loads(text)["file"]
        return {row["tokenizer"]: _data_file(row) for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TokenizerUnavailable(
            f"tokenizers_data/{MANIFEST} cannot be read ({type(error).__name__}); reinstall the package"
        ) from error


def _data_file(row: dict[str, str]) -> DataFile:
    return DataFile(
        tokenizer=row["tokenizer"], file=row["file"], sha256=row["sha256"], size=int(row["bytes"]),
        origin_sha256=row["origin_sha256"], licence=row["licence"],
        origin=f"npm {row['origin_package']} {row['origin_version']} {row['origin_file']}",
    )


@cache
def shipped_files() -> dict[str, DataFile]:
    """The manifest of the installed package."""
    return read_manifest()


def read_verified(name: str, folder: Traversable | None = None) -> bytes:
    """The decompressed vocabulary `name` (a manifest row), its sha256 proved; raises TokenizerUnavailable otherwise."""
    row = (read_manifest(folder) if folder is not None else shipped_files()).get(name)
    if row is None:
        raise TokenizerUnavailable(f"tokenizers_data/{MANIFEST} has no row for {name}; reinstall the package")
    try:
        packed = ((folder or package_data()) / row.file).read_bytes()
    except OSError as error:
        raise _refusal(row, "no file") from error
    content = _decompress(packed, row)
    found = hashlib.sha256(content).hexdigest()
    if found != row.sha256:
        raise _refusal(row, found)
    return content


def _decompress(packed: bytes, row: DataFile) -> bytes:
    """At most one byte more than the manifest promises, so that a forged file cannot fill the memory."""
    try:
        return zlib.decompressobj(GZIP_WINDOW).decompress(packed, row.size + 1)
    except zlib.error as error:
        raise _refusal(row, "not gzip data") from error


def _refusal(row: DataFile, found: str) -> TokenizerUnavailable:
    return TokenizerUnavailable(
        f"tokenizers_data/{row.file} is not the file of the manifest: expected sha256 {row.sha256}, found {found}; "
        "reinstall the package or run scripts/rebuild_tokenizers_data.py"
    )


def verify_files(folder: Traversable | None = None) -> Iterator[FileCheck]:
    """One result a file of the manifest, in its order."""
    for name, row in read_manifest(folder).items():
        try:
            read_verified(name, folder)
        except ServiceError as error:
            yield FileCheck(row.file, row.sha256, error.message)
        else:
            yield FileCheck(row.file, row.sha256, None)
