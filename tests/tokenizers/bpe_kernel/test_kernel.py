"""The compiled kernel: that it is what its source says, its memory, its threads, and what happens when it fails."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from service.tokenizers.bpe_kernel import kernel
from service.tokenizers.bpe_kernel.kernel import (
    BLOCK_CHARS,
    MAX_IDLE_BYTES,
    MAX_KERNELS,
    Kernel,
    KernelPool,
)
from service.tokenizers.bpe_kernel.tables import make_rank_tables, unpack
from service.tokenizers.data import read_verified
from service.tokenizers.registry import get_tokenizer
from service.tokenizers.wasm import WasmUnavailable
from tests.tokenizers.compiling import can_compile

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "service" / "tokenizers" / "bpe_kernel"
CLAUDE = unpack(read_verified("claude-words"))
PROSE = "It's 42 o'clock; the WIRED foxes don't care: 안녕하세요, dear reader. "


def test_the_built_kernel_is_of_this_source() -> None:
    noted = dict(reversed(line.split()) for line in (FOLDER / "kernel.built").read_text().splitlines()[:-1])
    parts = [*FOLDER.glob("*.[ch]"), FOLDER / "kernel.wasm"]
    assert noted == {part.name: hashlib.sha256(part.read_bytes()).hexdigest() for part in parts}


def test_the_built_kernel_is_what_the_same_compiler_makes_of_it(tmp_path: Path) -> None:
    """Where that compiler is; elsewhere the test above says that neither file changed since."""
    *_, compiler = (FOLDER / "kernel.built").read_text().splitlines()
    if can_compile(compiler):
        built = tmp_path / "kernel.wasm"
        subprocess.run(["sh", ROOT / "scripts" / "build_kernel.sh", built, "bpe_kernel"], check=True, timeout=60)
        assert built.read_bytes() == (FOLDER / "kernel.wasm").read_bytes()


def test_a_copy_counts_the_same_and_remembers_for_itself() -> None:
    first = Kernel.build(CLAUDE)
    copy = first.clone()
    assert copy.count(PROSE * 20) == first.count(PROSE * 20) == get_tokenizer("claude", "reference").count(PROSE * 20)


def test_the_memory_of_a_kernel_does_not_grow_with_the_text() -> None:
    one = Kernel.build(CLAUDE)
    one.count(PROSE * (2 * BLOCK_CHARS // len(PROSE)))
    before = one._instance.memory_bytes
    one.count(PROSE * (20 * BLOCK_CHARS // len(PROSE)))
    assert one._instance.memory_bytes == before < 16 << 20


@pytest.mark.parametrize("unit", ["x", " ", "\u0e01", "\u0301"])
def test_a_kernel_that_has_grown_is_replaced(unit: str) -> None:
    pool = KernelPool(CLAUDE)
    assert pool.count(unit * 4_000_000) is not None
    assert pool._first.memory_bytes <= MAX_IDLE_BYTES
    assert pool._idle.qsize() == pool.kernels == 1
    assert pool.count("hello") == 1
    assert pool.find_token(0) is None  # of a merge list


def test_a_copy_in_place_of_a_grown_kernel_has_its_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = KernelPool(make_rank_tables("cl100k", read_verified("cl100k_base"), {}))
    first = pool._first
    monkeypatch.setattr(kernel, "MAX_IDLE_BYTES", first.memory_bytes + (1 << 20))
    assert pool.count("x" * 4_000_000) == 500_000
    assert pool._first is not first
    assert pool.find_token(264) == b" a"
    assert pool.count(PROSE) == get_tokenizer("cl100k_base", "reference").count(PROSE)


def test_no_more_kernels_are_made_than_can_count_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MAX_KERNELS", 2)
    pool = KernelPool(CLAUDE)
    expected = pool.count(PROSE * 2_000)
    found: list[int | None] = []
    threads = [threading.Thread(target=lambda: found.append(pool.count(PROSE * 2_000))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 12
    assert pool.kernels <= 2
    assert MAX_KERNELS >= 1


def test_a_kernel_is_returned_to_the_pool_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MAX_KERNELS", 1)
    pool = KernelPool(CLAUDE)
    for _ in range(3):
        with contextlib.suppress(UnicodeEncodeError):
            assert pool.count("\ud800") is None
    assert pool.count("hello") == 1


def test_without_memory_the_text_is_left_to_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = KernelPool(CLAUDE)

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(pool._first._instance, "reserve", fail)
    assert pool.count("hello") is None
    monkeypatch.undo()
    assert pool.count("hello") == 1


def test_a_file_that_does_not_compile_is_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    from service.tokenizers.wasm import Module

    with pytest.raises(WasmUnavailable):
        Module(b"\0asm, but not really")


def test_other_threads_run_while_it_counts() -> None:
    """Python takes the lock from nobody here, so this thread comes on only if the other gives it away, often."""
    tokenizer = get_tokenizer("gemma3")
    text = PROSE * (8_000_000 // len(PROSE))
    thread = threading.Thread(target=tokenizer.count, args=(text,))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)
    steps = 0
    try:
        thread.start()
        while thread.is_alive():
            steps += 1
            time.sleep(0)  # gives the lock away
    finally:
        sys.setswitchinterval(interval)
    assert steps > 5  # hundreds on an idle machine; if the lock were kept, one or two
