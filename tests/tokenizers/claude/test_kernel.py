"""The compiled kernel: when it is used, what happens without it, and that it gives its memory back."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import unicodedata
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.tokenizers import claude, wasm
from service.tokenizers.claude import kernel, tables
from service.tokenizers.claude.kernel import KernelPool, KernelUnavailable
from service.tokenizers.claude.memo import MemoCounter
from service.tokenizers.claude.tokenizer import KERNEL_MIN_CHARS, ClaudeTokenizer
from tests.tokenizers.compiling import can_compile

ROOT = Path(__file__).resolve().parents[3]
FAMILY = tables.FAMILIES["claude-v3"]
TOKENIZERS = {name: claude.load(name) for name in claude.NAMES}
PROSE = "It's 42 o'clock; the WIRED foxes — 漢字 and ½ — don't care. "


def test_the_kernel_is_there_and_passed_its_self_check() -> None:
    for name in claude.NAMES:
        assert claude.load(name).kernel_missing is None


def test_long_texts_go_to_the_kernel_and_short_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    original = KernelPool.count

    def count(pool: KernelPool, text: str) -> int | None:
        sizes.append(len(text))
        return original(pool, text)

    monkeypatch.setattr(KernelPool, "count", count)
    tokenizer = claude.load("claude-v4.7")
    tokenizer.count("x" * (KERNEL_MIN_CHARS - 1))
    assert sizes == []
    tokenizer.count("x" * KERNEL_MIN_CHARS)
    assert sizes == [KERNEL_MIN_CHARS]


def test_without_wasmtime_the_memo_counts_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROSE * 50
    with_kernel = claude.load("claude-v3").count(text)
    wasm.errors.cache_clear()
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    try:
        tokenizer = claude.load("claude-v3")
    finally:
        wasm.errors.cache_clear()
    assert tokenizer.kernel_missing == "wasmtime does not import"
    assert tokenizer.count(text) == with_kernel


def test_a_wasmtime_that_looks_different_inside_is_called_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROSE * 50
    expected = claude.load("claude-v3").count(text)
    monkeypatch.delattr("wasmtime._ffi.dll")
    tokenizer = claude.load("claude-v3")
    assert tokenizer.kernel_missing is None
    assert tokenizer._kernels is not None
    assert isinstance(tokenizer._kernels._idle[0]._count, partial)
    assert tokenizer.count(text) == expected


def test_a_kernel_that_miscounts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = kernel._tables(replace(FAMILY, caps_from=0), 0)
    assert len(wrong) == len(kernel._tables(FAMILY, 0))
    with pytest.raises(KernelUnavailable, match="golden"):
        KernelPool(replace(FAMILY, caps_from=0))
    tokenizer = ClaudeTokenizer(replace(FAMILY, frame_bow=False))
    assert tokenizer.kernel_missing is not None
    assert tokenizer.count("12") == 1


def test_a_damaged_module_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    content = (Path(kernel.__file__).parent / "kernel.wasm").read_bytes()
    (tmp_path / "kernel.wasm").write_bytes(content[: len(content) // 2])
    kernel._module.cache_clear()
    monkeypatch.setattr(kernel, "files", lambda package: tmp_path)
    with pytest.raises(KernelUnavailable, match="does not run"):
        KernelPool(FAMILY)


def test_an_instance_comes_back_to_the_pool_but_not_after_a_very_large_text() -> None:
    pool = KernelPool(FAMILY)
    (first,) = pool._idle
    assert pool.count("Hello") == 1
    assert pool._idle == [first]
    large = "word " * 900_000
    assert pool.count(large + "end") > 900_000
    assert pool._idle == []
    assert first.memory_bytes > kernel.MAX_IDLE_BYTES
    assert pool.count("Hello") == 1
    assert pool._idle[0].memory_bytes < 2 << 20


def test_no_more_instances_are_kept_than_may_be_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MAX_IDLE", 1)
    pool = KernelPool(FAMILY)
    pool._idle.append(kernel.Kernel(FAMILY))
    taken = pool._idle.pop()
    assert pool.count("Hello") == 1
    pool._idle.append(taken)
    assert pool.count("Hello") == 1
    assert len(pool._idle) == 2 - 1


def test_a_text_that_does_not_fit_is_counted_by_the_memo(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROSE * 20_000
    expected = claude.load("claude-v3").count(text)
    tokenizer = claude.load("claude-v3")

    def grow(self: object, store: object, pages: int) -> int:
        import wasmtime

        raise wasmtime.WasmtimeError("failed to grow memory")

    monkeypatch.setattr("wasmtime.Memory.grow", grow)
    with pytest.raises(KernelUnavailable, match="bytes"):
        KernelPool.count(tokenizer._kernels, text)  # type: ignore[arg-type]
    assert tokenizer.count(text) == expected


def both_ways(tokenizer: ClaudeTokenizer, text: str) -> tuple[int | None, int]:
    """The kernel's count of the text as it is, and its count of what Python normalized."""
    assert tokenizer._kernels is not None
    return tokenizer._kernels.count(text), tokenizer._count_normalized(text, tokenizer._kernels.count_normal)


@pytest.mark.parametrize("name", claude.NAMES)
def test_the_kernel_normalizes_every_character_as_python_does_or_leaves_it(name: str) -> None:
    tokenizer = claude.load(name)
    asked = []
    for code in [*range(0x10000), *range(0x10000, 0x110000, 61)]:
        char = chr(code)
        for text in (char, f"a{char}", f" {char}'s\n", f"a\u0316{char}\u05b0{char}b"):
            got, expected = both_ways(tokenizer, text)
            if got is None and text == char:
                asked.append(char)
            if got is not None:
                assert got == expected, text.encode("unicode_escape")
    alone = {char for char in asked if unicodedata.category(char) not in ("Cn", "Cs", "Mn", "Mc")}
    assert len(alone) < 3_000, "only what composes, decomposes or is not known may be asked about"
    assert not alone & set("aé가漢字かな»—“”‘’€½")


ALPHABET = (
    "ab Z'\n\t\"\u2019\u201c\u0301\u0323\u0345e\u00e9\u1100\u1161\u11a8\uac00\u093c\u0928\u0e4d\u0e32\u0e48\x00\x01\x9f"
    "\xa0\u2028\u3000\ue000\ufdd0\ufdd4\ud83d\ude00\U0001f600\U0001d165\U000110ba\U00011099\U0002f800\uffff\ufe0f\u0344"
)


@given(st.text(ALPHABET, min_size=1, max_size=40), st.sampled_from(claude.NAMES))
def test_the_kernel_normalizes_texts_as_python_does_or_leaves_them(text: str, name: str) -> None:
    got, expected = both_ways(TOKENIZERS[name], text)
    assert got in (None, expected)


@pytest.mark.parametrize("text", [
    "plain ASCII, \x01 controls\x7f and NUL\x00", "It’s “quoted” — naïve Ünïcødé", "한국어 텍스트입니다.",
    "漢字かな交じり文",
    "ภาษาไทยกำลัง", "עִבְרִית", "العَرَبِيَّة", "👩‍👧 ok", "Việt Nam", "\ue000 private\uf8ff", " leading", "\n\n\n",
])
def test_texts_in_nfc_need_no_python(text: str) -> None:
    got, expected = both_ways(TOKENIZERS["claude-v3"], text)
    assert got == expected


@pytest.mark.parametrize("text", [
    "e\u0301", "\u0301\u0323", "\u1112\u1161", "\ud83d", "\ude00\ud83d", "\u0e4d\u0e32",
])
def test_text_that_composes_or_reorders_or_is_half_a_pair_is_left_to_python(text: str) -> None:
    assert both_ways(TOKENIZERS["claude-v3"], text)[0] is None
    assert TOKENIZERS["claude-v3"].count(text * KERNEL_MIN_CHARS) == TOKENIZERS["claude-v3"]._count_normalized(
        text * KERNEL_MIN_CHARS, MemoCounter(FAMILY).count
    )


def test_many_threads_count_the_same() -> None:
    tokenizer = claude.load("claude-v4.8")
    texts = [PROSE * n + str(n) for n in range(1, 60)]
    expected = [tokenizer.count(text) for text in texts]
    results: dict[int, list[int]] = {}

    def work(number: int) -> None:
        results[number] = tokenizer.count_batch(texts)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(results[number] == expected for number in range(6))
    assert tokenizer._kernels is not None
    assert len(tokenizer._kernels._idle) <= kernel.MAX_IDLE


def test_the_committed_kernel_is_what_its_source_compiles_to(tmp_path: Path) -> None:
    """Everywhere: neither file changed since they were built. Where the same compiler is: building gives the bytes."""
    folder = Path(kernel.__file__).parent
    *hashes, compiler = (folder / "kernel.built").read_text(encoding="utf-8").splitlines()
    for line in hashes:
        expected, name = line.split()
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == expected, f"{name}: run make kernel"
    if can_compile(compiler):
        built = tmp_path / "kernel.wasm"
        subprocess.run(["sh", ROOT / "scripts" / "build_kernel.sh", built], check=True, timeout=60)
        assert built.read_bytes() == (folder / "kernel.wasm").read_bytes()


@pytest.mark.parametrize("text", [
    "=" * 3_000, "." * 5_001 + "x", "a" * 4_000, "\n" * 3_000 + "x", " " * 4_000 + "x", "'" * 2_500, "½\ufe0f" * 1_200,
    "-*-" * 900, "😀" * 700, "\u0301" * 1_500, "x" + "·" * 4_100 + "!", "#" * 2_047, "#" * 2_048, "#" * 2_049,
], ids=lambda text: ascii(text[:2]))
def test_long_runs_cost_the_same_in_both_counters(text: str) -> None:
    for name in claude.NAMES:
        tokenizer = claude.load(name)
        assert tokenizer._kernels is not None
        assert tokenizer._kernels.count_normal(text) == tokenizer._memo.count(text)
