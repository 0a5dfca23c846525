from __future__ import annotations

import gzip
import hashlib
import re
import shutil
from pathlib import Path

import pytest

from service.errors import TokenizerUnavailable
from service.tokenizers import data
from service.tokenizers.registry import Registry

R50K = "r50k_base.tiktoken.gz"
R50K_SHA256 = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the manifest and of one small vocabulary that may be damaged."""
    shipped = Path(str(data.package_data()))
    for name in ("manifest.toml", R50K):
        shutil.copy(shipped / name, tmp_path / name)
    return tmp_path


def refusal(folder: Path) -> str:
    with pytest.raises(TokenizerUnavailable) as refused:
        data.read_verified("r50k_base", folder)
    assert R50K in refused.value.message
    assert R50K_SHA256 in refused.value.message
    return refused.value.message


def test_an_intact_copy_is_read(folder: Path) -> None:
    assert data.read_verified("r50k_base", folder).startswith(b"IQ== 0\n")


def test_a_changed_file_names_both_hashes(folder: Path) -> None:
    content = gzip.decompress((folder / R50K).read_bytes()).replace(b"IQ== 0\n", b"IQ== 1\n", 1)
    (folder / R50K).write_bytes(gzip.compress(content))
    assert f"found {hashlib.sha256(content).hexdigest()}" in refusal(folder)


def test_a_truncated_file_is_refused(folder: Path) -> None:
    packed = (folder / R50K).read_bytes()
    (folder / R50K).write_bytes(packed[:len(packed) // 2])
    assert re.search("found [0-9a-f]{64}", refusal(folder))


def test_a_file_that_is_not_gzip_is_refused(folder: Path) -> None:
    (folder / R50K).write_bytes(b"not gzip")
    assert "not gzip data" in refusal(folder)


def test_a_missing_file_is_refused(folder: Path) -> None:
    (folder / R50K).unlink()
    assert "found no file" in refusal(folder)


def test_a_bomb_is_not_unpacked(folder: Path) -> None:
    bomb = folder / R50K
    bomb.write_bytes(gzip.compress(b"\0" * 200_000_000, 1))
    size = data.shipped_files()["r50k_base"].size
    assert f"found {hashlib.sha256(bytes(size + 1)).hexdigest()}" in refusal(folder)


@pytest.mark.parametrize("content", [
    "", "[[file]]\n", "not toml =", "[[file]]\ntokenizer = 'r50k_base'\nbytes = 'x'\n",
])
def test_a_malformed_manifest_is_refused(folder: Path, content: str) -> None:
    (folder / "manifest.toml").write_text(content)
    with pytest.raises(TokenizerUnavailable, match=r"manifest\.toml"):
        data.read_verified("r50k_base", folder)


def test_a_missing_manifest_is_refused(folder: Path) -> None:
    (folder / "manifest.toml").unlink()
    with pytest.raises(TokenizerUnavailable, match=r"manifest\.toml"):
        data.read_manifest(folder)


def test_a_name_without_a_row_is_refused() -> None:
    with pytest.raises(TokenizerUnavailable, match="no row for klingon"):
        data.read_verified("klingon")


def test_the_check_of_all_files_tells_good_from_bad(folder: Path) -> None:
    checks = {check.file: check for check in data.verify_files(folder)}
    assert checks[R50K].ok
    assert not checks["gemma3.tokenizer.json.gz"].ok
    assert "no file" in str(checks["gemma3.tokenizer.json.gz"].problem)


def test_all_shipped_files_are_intact() -> None:
    checks = list(data.verify_files())
    assert [check.problem for check in checks] == [None] * 8


def test_a_tokenizer_with_damaged_data_is_refused_and_recovers_with_the_file(folder: Path) -> None:
    registry = Registry(read=lambda name: data.read_verified(name, folder))
    packed = (folder / R50K).read_bytes()
    (folder / R50K).write_bytes(b"")
    for _ in range(2):
        with pytest.raises(TokenizerUnavailable, match=R50K):
            registry.get("gpt2")
    (folder / R50K).write_bytes(packed)
    assert registry.get("gpt2").count("토큰") == 6
