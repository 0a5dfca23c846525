"""Instances of `kernel.c` with the tables of one vocabulary."""

from __future__ import annotations

import os
import struct
import sys
import threading
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from queue import Empty, SimpleQueue

from service.tokenizers.bpe_kernel.tables import ADDED_BYTES, MAX_GROWTH, BpeTables, Scheme
from service.tokenizers.wasm import Instance, Module, WasmUnavailable, errors

MAX_KERNELS = min(os.cpu_count() or 1, 8)
"""Instances of a vocabulary: more threads than cores cannot count at the same time. One of Gemma's holds 9 MB of tables
and up to 4 MB of words and of room to merge in; its copy is made in 3 ms."""
BLOCK_CHARS = 128 << 10
"""Characters that the kernel is given at once: what it reads stays in the processor's cache, and its memory small."""
MAX_IDLE_BYTES = 32 << 20
"""Linear memory never shrinks. An instance that has more, after a text without a place to cut, is replaced by a copy of
its tables. Much of the memory was never written to, and such memory is not resident."""
SLOTS_PER_MERGE = 1.6
"""Size of the open-addressed table of pairs."""
FAILED = -1
"""What the kernel returns for a block that it cannot count."""
LAST_BLOCK = -1 << 31
"""Set in the length of a block that nothing follows."""
MARGIN = 64
"""Bytes that the kernel may read behind a block."""

_SCHEMES: tuple[Scheme, ...] = ("between_characters", "gpt2", "cl100k", "o200k")
_SECTIONS = (
    "made", "tokens", "token_starts", "twos", "byte_ids", "characters", "beside", "beside_bits", "added",
    "added_ids", "kind_pages", "kinds", "composed", "decomposed", "marks", "first_parts",
)
_HEAD = "<24I"


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things are in linear memory: `head` at `start`, sections, the table of pairs, then texts.

    `growth` are the bytes, for each byte of a text, that the text takes and that are overwritten behind it; `ids` are
    those of the ids behind that, one id for each byte of the normalized text.
    """

    start: int
    head: bytes
    sections: tuple[tuple[str, int], ...]
    text: int
    tokens: int
    token_starts: int
    ranks: int
    growth: int
    ids: int


class Kernel:
    """One instance. One thread at a time may use it. What it does may raise one of `wasm.errors()`."""

    def __init__(self, instance: Instance, layout: _Layout, block_chars: int, longest_token: int) -> None:
        self._instance = instance
        self._layout = layout
        self._block_chars = block_chars
        self._longest_token = longest_token
        self._text = layout.text
        self._room = 0
        self._rest_at: int = instance.call("rest_at")
        self._count, self._encode = instance.function("count"), instance.function("encode")

    @classmethod
    def build(cls, tables: BpeTables, block_chars: int = BLOCK_CHARS) -> Kernel:
        instance = Instance(_module())
        layout = _lay_out(tables, instance.call("heap_base"))
        instance.reserve(layout.text)
        instance.write(layout.head, layout.start)
        for name, at in layout.sections:
            instance.write(tables.sections[name], at)
        instance.call("setup", layout.start)
        merges = tables.sections["ranks" if tables.is_by_ranks else "sides"]
        instance.write(merges, layout.text)  # only for now: texts will lie there
        if not tables.is_by_ranks:
            instance.call("build_pairs", layout.text, tables.merges)
        elif instance.call("build_ranks", layout.text, len(merges)) != tables.merges:
            raise ValueError("not a file of ranks")
        return cls(instance, layout, block_chars, instance.call("get_longest_token"))

    def clone(self) -> Kernel:
        """Another with the same tables; this one may be counting meanwhile."""
        instance = Instance(_module())
        instance.copy(self._instance, self._layout.start, self._layout.text)
        instance.call("setup", self._layout.start)
        instance.call("set_longest_token", self._longest_token)
        return Kernel(instance, self._layout, self._block_chars, self._longest_token)

    @property
    def memory_bytes(self) -> int:
        return self._instance.memory_bytes

    def count(self, text: str) -> int | None:
        """Tokens of a text, not empty; None where the kernel cannot merge a word of it. Raises UnicodeEncodeError."""
        if len(text) <= self._block_chars:
            return self._run(self._count, text.encode(), LAST_BLOCK)
        total, rest, at, length = 0, b"", 0, self._block_chars
        while at < len(text):
            block = rest + text[at : at + length].encode()
            at += length
            tokens = self._run(self._count, block, 0 if at < len(text) else LAST_BLOCK)
            if tokens is None:
                return None
            rest = self._instance.read(*struct.unpack("<2I", self._instance.read(self._rest_at, 8)))
            total += tokens
            length = max(self._block_chars, len(rest))  # as much new as is read again: linear
        return total

    def count_block(self, block: bytes) -> int | None:
        """Tokens of a text of one block, which is not empty; None where it is left to `count`."""
        size = len(block)
        if size > self._room:
            return None
        self._view[:size] = block
        tokens = self._count(self._text, size | LAST_BLOCK)
        return None if tokens == FAILED else tokens

    def encode(self, text: str) -> array[int] | None:
        """The ids of a text, not empty; None, and raises, as `count`."""
        ids, rest, at, length = array("I"), b"", 0, self._block_chars // 8
        while at < len(text):
            block = rest + text[at : at + length].encode()
            at += length
            layout = self._layout
            self._instance.reserve(self._text + (layout.growth + layout.ids) * len(block) + 16 * MARGIN)
            self._make_room(len(block))
            tokens = self._run(self._encode, block, 0 if at < len(text) else LAST_BLOCK)
            if tokens is None:
                return None
            start, size, found = struct.unpack("<3I", self._instance.read(self._rest_at, 12))
            ids.frombytes(self._instance.read(found, 4 * tokens))
            rest = self._instance.read(start, size)
            length = max(self._block_chars // 8, len(rest))
        if sys.byteorder == "big":
            ids.byteswap()
        return ids

    def find_token(self, rank: int) -> bytes | None:
        """The bytes of a token by ranks. Others may be counting meanwhile."""
        if not 0 <= rank < self._layout.ranks:
            return None
        start, end = struct.unpack("<2I", self._instance.read(self._layout.token_starts + 4 * rank, 8))
        return self._instance.read(self._layout.tokens + start, end - start)

    def _run(self, call: Callable[[int, int], int], block: bytes, last: int) -> int | None:
        size = len(block)
        if size > self._room:
            self._make_room(size)
        self._view[:size] = block
        tokens = call(self._text, size | last)
        return None if tokens == FAILED else tokens

    def _make_room(self, size: int) -> None:
        """For a block, and what is overwritten and may be read behind it."""
        growth = self._layout.growth
        self._instance.reserve(self._text + growth * size + 16 * MARGIN)
        self._room = (self._instance.memory_bytes - self._text - 16 * MARGIN) // growth
        self._view = self._instance.view(self._text, self._room)


class KernelPool:
    """As many kernels of one vocabulary as count at the same time, MAX_KERNELS at most: further texts wait for one.
    Thread-safe."""

    def __init__(self, tables: BpeTables, block_chars: int = BLOCK_CHARS) -> None:
        """Raises WasmUnavailable. `block_chars` is other than the default only in tests."""
        self._errors = errors()
        try:
            self._first = Kernel.build(tables, block_chars)
        except self._errors as error:
            raise WasmUnavailable(f"the kernel does not run: {type(error).__name__}") from error
        self._idle: SimpleQueue[Kernel] = SimpleQueue()
        self._idle.put(self._first)
        self._changing = threading.Lock()
        self.kernels = 1

    def count(self, text: str) -> int | None:
        """As `Kernel.count`; None also where the machine's memory does not suffice."""
        return self._run(Kernel.count, text)

    def count_block(self, text: str) -> int | None:
        """`count` of a text of BLOCK_CHARS at most, not empty, with few steps: those take as long as counting some
        hundred characters. None where `count` has to be asked."""
        idle = self._idle
        try:
            kernel = idle.get_nowait()
        except Empty:
            return None
        try:
            return kernel.count_block(text.encode())
        except UnicodeEncodeError:
            return None
        except self._errors:
            return None
        finally:
            idle.put(kernel)

    def encode(self, text: str) -> array[int] | None:
        """As `Kernel.encode`; None also where the machine's memory does not suffice."""
        return self._run(Kernel.encode, text)

    def find_token(self, rank: int) -> bytes | None:
        return self._first.find_token(rank)

    def _run[Answer](self, call: Callable[[Kernel, str], Answer | None], text: str) -> Answer | None:
        try:
            kernel = self._take()
        except self._errors:
            return None
        try:
            return call(kernel, text)
        except self._errors:
            return None
        finally:
            self._idle.put(kernel if kernel.memory_bytes <= MAX_IDLE_BYTES else self._replace(kernel))

    def _take(self) -> Kernel:
        try:
            return self._idle.get_nowait()
        except Empty:
            pass
        with self._changing:
            if self.kernels < MAX_KERNELS:
                kernel = self._first.clone()
                self.kernels += 1
                return kernel
        return self._idle.get()

    def _replace(self, kernel: Kernel) -> Kernel:
        """A copy of a kernel that has grown, or the kernel itself where there is no memory for one."""
        try:
            copy = kernel.clone()
        except self._errors:
            return kernel
        with self._changing:
            if self._first is kernel:
                self._first = copy
        return copy


@cache
def _module() -> Module:
    return Module(files(__package__).joinpath("kernel.wasm").read_bytes())


def _lay_out(tables: BpeTables, start: int) -> _Layout:
    slots = int(tables.merges * SLOTS_PER_MERGE) + 1
    sizes = dict.fromkeys(_SECTIONS, 0) | {name: len(section) for name, section in tables.sections.items()}
    sizes["tokens"] = sizes.get("ranks", 0) * 3 // 4 + MARGIN  # at least what its base64 is decoded to
    sizes["twos"] = (4 << 16) * tables.is_by_ranks
    ranks = tables.merges if tables.is_by_ranks else 0
    sizes["token_starts"] = 4 * (ranks + 1)
    at = start + struct.calcsize(_HEAD)
    places: dict[str, int] = {}
    for name in _SECTIONS:
        at += -at % 8
        places[name] = at
        at += sizes[name]
    pairs = at + -at % 8
    head = struct.pack(
        _HEAD, _SCHEMES.index(tables.header.scheme), pairs, slots, places["made"], places["tokens"],
        places["token_starts"], places["twos"], places["byte_ids"], places["characters"], sizes["characters"] // 8,
        places["beside"], places["beside_bits"], places["added"], sizes["added"] // ADDED_BYTES, places["added_ids"],
        places["kind_pages"], places["kinds"], places["composed"], sizes["composed"] // 8, places["decomposed"],
        places["marks"], sizes["marks"] // 8, places["first_parts"], sizes["first_parts"] // 12,
    )
    sections = tuple((name, at) for name, at in places.items() if name in tables.sections)
    normal = MAX_GROWTH if tables.header.scheme == "gpt2" else 1
    growth = 1 + MAX_GROWTH + 8 if tables.header.scheme == "gpt2" else 1
    return _Layout(
        start, head, sections, pairs + 8 * slots, places["tokens"], places["token_starts"], ranks, growth, 4 * normal
    )
