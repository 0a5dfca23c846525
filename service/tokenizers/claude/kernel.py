"""Counting in WebAssembly: `kernel.c`, compiled ahead, run by wasmtime. It releases the interpreter lock.

`kernel.wasm` is committed, only `make kernel` compiles. Where wasmtime does not import, or the kernel fails its
self-check, there is no kernel, and the tokenizer counts in Python (`memo.py`): the same numbers, slower.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from array import array
from collections.abc import Callable
from functools import cache
from importlib.resources import files

from service.tokenizers.claude.normalize import restore
from service.tokenizers.claude.tables import Family, Vocabulary, characters, vocabulary
from service.tokenizers.claude.tiler import Tiler
from service.tokenizers.wasm import Instance, Module, WasmUnavailable, errors

MAX_NEWLINES = 512
"""Prices of newline runs that the kernel is given: longer runs repeat the last ones (asserted)."""
PERIODIC_FROM = 1024
"""kernel.c shortens a run of one character to about this length; the vocabulary must allow it (asserted)."""
MAX_IDLE = min(os.cpu_count() or 1, 16)
"""Instances that are kept for each family (1.5 MB each): more threads than cores cannot count at the same time."""
MAX_IDLE_BYTES = 8 << 20
"""Linear memory never shrinks, so an instance that a text of more than some 3.5 million characters went through is
dropped. A fresh one costs 1 ms."""
NOT_NORMALIZED = -1
"""What the kernel returns for a text that it cannot normalize: 32 bits, all set, read as a signed integer."""


class KernelUnavailable(Exception):
    """No kernel here; the message says why."""


class Kernel:
    """One instance with the tables of one family. One thread at a time may use it."""

    def __init__(self, family: Family) -> None:
        self._instance = Instance(_module())
        base: int = self._instance.call("heap_base")
        tables = _tables(family, base)
        self._text = base + len(tables)
        self._instance.write(tables, base)
        self._instance.call("setup", base)
        self._count, self._count_normal = self._instance.function("count"), self._instance.function("count_normal")

    @property
    def memory_bytes(self) -> int:
        return self._instance.memory_bytes

    def count(self, units: bytes) -> int | None:
        """Tokens of a text in UTF-16 (little endian), not empty; None where it must be normalized first."""
        self._instance.write(units, self._text)
        tokens = self._count(self._text, len(units) // 2)
        return None if tokens == NOT_NORMALIZED else tokens

    def count_normal(self, units: bytes) -> int:
        """The same of a normalized text, not empty, without newlines at its end."""
        self._instance.write(units, self._text)
        return self._count_normal(self._text, len(units) // 2)


class KernelPool:
    """As many kernels of one family as count at the same time. Thread-safe."""

    def __init__(self, family: Family) -> None:
        """Raises KernelUnavailable."""
        self._family = family
        self._idle = [_checked(family)]

    def count(self, text: str) -> int | None:
        """Tokens of a text, or None where it must be normalized first: it composes, reorders, or holds half a pair.

        Raises KernelUnavailable when it does not fit in memory.
        """
        try:
            units = text.encode("utf-16-le")  # two halves that stand together must not become a pair: strictly
        except UnicodeEncodeError:
            return None
        return self._run(Kernel.count, units)

    def count_normal(self, text: str) -> int:
        """Tokens of a normalized text without newlines at its end; raises KernelUnavailable."""
        return self._run(Kernel.count_normal, text.encode("utf-16-le"))

    def _run[Tokens](self, count: Callable[[Kernel, bytes], Tokens], units: bytes) -> Tokens:
        try:
            try:
                kernel = self._idle.pop()
            except IndexError:
                kernel = Kernel(self._family)
            tokens = count(kernel, units)
        except errors() as error:
            raise KernelUnavailable(f"{type(error).__name__} on {len(units)} bytes") from error
        if len(self._idle) < MAX_IDLE and kernel.memory_bytes <= MAX_IDLE_BYTES:
            self._idle.append(kernel)
        return tokens


@cache
def _module() -> Module:
    return Module(files(__package__).joinpath("kernel.wasm").read_bytes())


def _checked(family: Family) -> Kernel:
    """A kernel that counted the golden texts right."""
    try:
        failures: tuple[type[Exception], ...] = (WasmUnavailable, *errors())
    except WasmUnavailable as error:
        raise KernelUnavailable(str(error)) from error
    try:
        kernel = Kernel(family)
        golden: dict[str, dict[str, int]] = json.loads(files(__package__).joinpath("data", "golden.json").read_bytes())
        for text, counts in golden.items():
            expected = counts[family.name]
            units, raw = text.encode("utf-16-le"), restore(text).encode("utf-16-le")
            if kernel.count_normal(units) != expected or kernel.count(raw) not in (expected, None):
                raise KernelUnavailable(f"the kernel miscounts a golden text of {len(text)} characters")
    except failures as error:
        raise KernelUnavailable(f"the kernel does not run: {type(error).__name__}") from error
    return kernel


@cache
def _tables(family: Family, base: int) -> bytes:
    """`struct tables` of kernel.c and what it points to, to be written at `base`."""
    chars, words = characters(), vocabulary(family.vocabulary)
    sections = (
        chars.records,
        chars.changes,
        _little(chars.composed),
        _little(chars.lower_pairs),
        words.symbols.encode("utf-16-le"),
        _little(words.floor_pages),
        words.floors,
        _little(words.cells),
        _newlines(words),
        _runs(words),
    )
    layout = "<" + "I" * 20
    at = base + struct.calcsize(layout)
    pointers, heap = [], bytearray()
    for section in sections:
        heap += bytes(-(at + len(heap)) % 8)
        pointers.append(at + len(heap))
        heap += section
    heap += bytes(-(at + len(heap)) % 8)
    records, changes, composed, lower, symbols, pages, floors, cells, newlines, runs = pointers
    head = struct.pack(
        layout, records, changes, composed, len(chars.composed) // 2, lower, len(chars.lower_pairs) // 2, symbols,
        len(words.symbols), pages, floors, cells, words.root, newlines, MAX_NEWLINES, words.runs["\n"][0], runs,
        len(words.runs), family.caps_from, family.frame_bow, family.fold_quotes,
    )
    return head + bytes(heap)


def _newlines(words: Vocabulary) -> bytes:
    """Prices of the first MAX_NEWLINES runs; longer ones repeat the last of them."""
    longest, periodic_from = words.runs["\n"]
    if periodic_from + longest > MAX_NEWLINES:
        raise KernelUnavailable("the newline ladder is too long for the kernel")
    tiler = Tiler(words)
    return _little(array("H", (tiler.newlines(n) for n in range(MAX_NEWLINES))))


def _runs(words: Vocabulary) -> bytes:
    """Pairs: a character, its longest piece of repeats."""
    pairs = array("H")
    for char, (longest, periodic_from) in words.runs.items():
        if periodic_from + 3 * longest > PERIODIC_FROM:
            raise KernelUnavailable("a run of one character is periodic too late for the kernel")
        pairs.extend((ord(char), longest))
    return _little(pairs)


def _little(values: array[int]) -> bytes:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()
