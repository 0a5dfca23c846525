from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path

import pytest
import tiktoken_ext.openai_public as published

from service.tokenizers.data import package_data, read_verified, shipped_files


def pinned_by_tiktoken(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """File name -> sha256, as tiktoken's own constructors ask for them; nothing is fetched."""
    pins: dict[str, str] = {}

    def record(url: str, expected_hash: str) -> dict[bytes, int]:
        pins[url.rsplit("/", 1)[1]] = expected_hash
        return {}

    monkeypatch.setattr(published, "load_tiktoken_bpe", record)
    for construct in (published.o200k_base, published.cl100k_base, published.p50k_base, published.r50k_base):
        construct()
    return pins


def test_rank_files_are_the_ones_tiktoken_pins(monkeypatch: pytest.MonkeyPatch) -> None:
    pins = pinned_by_tiktoken(monkeypatch)
    assert len(pins) == 4
    for file, sha256 in pins.items():
        row = shipped_files()[file.removesuffix(".tiktoken")]
        assert row.sha256 == row.origin_sha256 == sha256


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "p50k_base", "r50k_base", "claude", "gemma3"])
def test_sizes_and_hashes_are_of_the_decompressed_bytes(name: str) -> None:
    row, content = shipped_files()[name], read_verified(name)
    assert len(content) == row.size
    assert hashlib.sha256(content).hexdigest() == row.sha256
    assert row.licence


@pytest.mark.parametrize("name", ["claude", "gemma3"])
def test_tokenizer_json_is_stored_without_insignificant_blanks(name: str) -> None:
    content = read_verified(name)
    assert json.dumps(json.loads(content), ensure_ascii=False, separators=(",", ":")).encode() == content


def test_nothing_ships_that_the_manifest_does_not_name() -> None:
    shipped = {path.name for path in package_data().iterdir()}
    known = {row.file for row in shipped_files().values()} | {"__init__.py", "README.md", "manifest.toml"}
    assert shipped - {"__pycache__"} == known


def test_the_notice_names_every_licence_and_origin() -> None:
    notice = (Path(str(files("service"))).parent / "NOTICE").read_text(encoding="utf-8")
    for row in shipped_files().values():
        assert row.origin.split()[1] in notice
    assert "Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms" in notice
