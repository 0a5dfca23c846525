"""The transcript as files, and what a new server answers to the same requests."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.golden.access import key_of
from tests.golden.play import Client, Entry, RolledOver, yesterday
from tests.golden.requests import SERVERS, rows_of
from tests.golden.state import CATALOG
from tests.support.live import running_server

FOLDER = Path(__file__).with_name("transcript")

KEYS = {f"{name} key": key_of(name) for name in ("count", "models")}
"""Words that rows write in place of a key."""

WARM = "o200k_base,cl100k_base,gemma3,claude-v3,claude-v4.7,claude-v4.8"


def read(group: str) -> list[Entry]:
    path = FOLDER / f"{group}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def write(group: str, entries: Iterable[Entry]) -> None:
    lines = [json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in entries]
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{group}.jsonl").write_text("\n".join([*lines, ""]), encoding="utf-8")


def answers_of(name: str) -> dict[str, list[Entry]]:
    """What a new server answers to the rows of each of its groups. Played once more where the minute of a rate limit
    ended in between."""
    for _ in range(2):
        try:
            return _play(name)
        except RolledOver:
            continue
    return _play(name)


def _play(name: str) -> dict[str, list[Entry]]:
    with tempfile.TemporaryDirectory() as folder:
        catalog = Path(folder, "catalog.toml")
        catalog.write_text(CATALOG, encoding="utf-8")
        settings = {"warm": WARM, "catalog_file": catalog, **SERVERS[name].settings(Path(folder))}
        with running_server(**settings) as server:
            client = Client(server.url, {"yesterday": yesterday(), **KEYS})
            client.learn_revision()
            return {group: [*client.play(rows_of(group))] for group in SERVERS[name].groups}
