"""Instances of `kernel.c` with the tables of one vocabulary."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from service.tokenizers.wasm import Instance, Module, WasmUnavailable, errors

from .tables import ADDED_BYTES, Scheme, WordTables

MAX_IDLE = min(os.cpu_count() or 1, 16)
"""Instances kept for later: more threads than cores cannot count at the same time for long."""
BLOCK = 128 << 10
"""Characters that the kernel is given at once: what it reads stays in the processor's cache, and its memory small."""
LONGEST_UNIT = 1 << 20
"""Bytes in a row without a place to cut from which the kernel is not tried any more."""
SLOTS_A_MERGE = 1.6
"""Size of the open-addressed table of pairs."""
TOO_LONG = -1
"""What the kernel returns for a block with a word of some 65,536 symbols: 32 bits, all set, read as signed."""
LAST = -1 << 31
"""Set in the length of a block that nothing follows."""
MARGIN = 64
"""Bytes that the kernel may read behind a block."""

_SCHEMES: tuple[Scheme, ...] = ("between_characters", "gpt2")
_SECTIONS = ("made", "byte_ids", "characters", "beside", "beside_bits", "added", "kind_pages", "kinds")
_HEAD = "<13I"


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things are in linear memory: `head` at `start`, sections, the table of pairs, then texts."""

    start: int
    head: bytes
    sections: tuple[tuple[str, int], ...]
    text: int
    merges: int


class Kernel:
    """One instance. One thread at a time may use it. What it does may raise one of `wasm.errors()`."""

    def __init__(self, instance: Instance, layout: _Layout, block: int) -> None:
        self._instance = instance
        self._layout = layout
        self._block = block
        instance.call("setup", layout.start)
        self._consumed_at: int = instance.call("consumed_at")
        self._count = instance.function("count")

    @classmethod
    def build(cls, tables: WordTables, block: int = BLOCK) -> Kernel:
        instance = Instance(_module())
        layout = _lay_out(tables, instance.call("heap_base"))
        instance.reserve(layout.text)
        instance.write(layout.head, layout.start)
        for name, at in layout.sections:
            instance.write(tables.sections[name], at)
        kernel = cls(instance, layout, block)
        instance.write(tables.sections["sides"], layout.text)  # only for now: texts will lie there
        instance.call("build", layout.text, layout.merges)
        return kernel

    def clone(self) -> Kernel:
        """Another with the same tables; this one may be counting meanwhile."""
        instance = Instance(_module())
        instance.copy(self._instance, self._layout.start, self._layout.text)
        return Kernel(instance, self._layout, self._block)

    def count(self, text: str) -> int | None:
        """Tokens of a text, not empty; None where a word of it is too long for the kernel.

        Raises UnicodeEncodeError on surrogates.
        """
        if len(text) <= self._block:
            return self._count_block(text.encode(), LAST)
        total, rest, at, length = 0, b"", 0, self._block
        while at < len(text):
            block = rest + text[at : at + length].encode()
            at += length
            tokens = self._count_block(block, 0 if at < len(text) else LAST)
            done = self._instance.read(self._consumed_at)
            if tokens is None or len(block) - done > LONGEST_UNIT:
                return None
            total += tokens
            rest = block[done:]
            length = self._block if done else len(rest)  # as much new as is read again: linear
        return total

    def _count_block(self, block: bytes, last: int) -> int | None:
        at = self._layout.text
        self._instance.reserve(at + len(block) + MARGIN)
        self._instance.write(block, at)
        tokens = self._count(at, len(block) | last)
        return None if tokens == TOO_LONG else tokens


class KernelPool:
    """As many kernels of one vocabulary as count at the same time. Thread-safe."""

    def __init__(self, tables: WordTables, block: int = BLOCK) -> None:
        """Raises WasmUnavailable. `block` is other than the default only in tests."""
        self._errors = errors()
        try:
            self._first = Kernel.build(tables, block)
        except self._errors as error:
            raise WasmUnavailable(f"the kernel does not run: {type(error).__name__}") from error
        self._idle = [self._first]

    def count(self, text: str) -> int | None:
        """As `Kernel.count`; None also where the machine's memory does not suffice."""
        try:
            try:
                kernel = self._idle.pop()
            except IndexError:
                kernel = self._first.clone()
            tokens = kernel.count(text)
        except self._errors:
            return None
        if len(self._idle) < MAX_IDLE:
            self._idle.append(kernel)
        return tokens


@cache
def _module() -> Module:
    return Module(files(__package__).joinpath("kernel.wasm").read_bytes())


def _lay_out(tables: WordTables, start: int) -> _Layout:
    merges = len(tables.sections["sides"]) // 8
    slots = int(merges * SLOTS_A_MERGE) + 1
    at = start + struct.calcsize(_HEAD)
    places: dict[str, int] = {}
    for name in _SECTIONS:
        at += -at % 8
        places[name] = at
        at += len(tables.sections.get(name, b""))
    pairs = at + -at % 8
    sizes = {name: len(section) for name, section in tables.sections.items()}
    head = struct.pack(
        _HEAD, _SCHEMES.index(tables.header.scheme), pairs, slots, places["made"], places["byte_ids"],
        places["characters"], sizes.get("characters", 0) // 8, places["beside"], places["beside_bits"],
        places["added"], sizes.get("added", 0) // ADDED_BYTES, places["kind_pages"], places["kinds"],
    )
    sections = tuple((name, at) for name, at in places.items() if name in tables.sections)
    return _Layout(start, head, sections, pairs + 8 * slots, merges)
