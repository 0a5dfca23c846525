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

from service.tokenizers.bpe_kernel.tables import ADDED_BYTES, BpeTables, Scheme
from service.tokenizers.wasm import Instance, Module, WasmUnavailable, errors

MAX_KERNELS = min(os.cpu_count() or 1, 8)
"""Instances of a vocabulary: more threads than cores cannot count at the same time. One of Gemma's holds 9 MB of tables
and up to 4 MB of words and of room to merge in; its copy is made in 3 ms."""
BLOCK = 128 << 10
"""Characters that the kernel is given at once: what it reads stays in the processor's cache, and its memory small."""
LONGEST_UNIT = 1 << 20
"""Bytes in a row without a place to cut from which the kernel is not tried any more."""
SLOTS_A_MERGE = 1.6
"""Size of the open-addressed table of pairs."""
TOO_LONG, ASK = -1, -2
"""What the kernel returns for a block with a word of some 65,536 symbols, and for one that it cannot normalise."""
LAST = -1 << 31
"""Set in the length of a block that nothing follows."""
MARGIN = 64
"""Bytes that the kernel may read behind a block."""
IDS = 12
"""Bytes of ids that a byte of a block may become: one id of each byte that it is normalised to."""
GROWTH = 4
"""A block and what it becomes when it is normalised, in lengths of the block."""

_SCHEMES: tuple[Scheme, ...] = ("between_characters", "gpt2", "cl100k", "o200k")
_SECTIONS = (
    "made", "tokens", "token_starts", "twos", "byte_ids", "characters", "beside", "beside_bits", "added",
    "added_ids", "kind_pages", "kinds", "changes", "change_bytes",
)
_HEAD = "<20I"


class Unnormal(Exception):
    """The text must be normalised first: characters of it may join."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things are in linear memory: `head` at `start`, sections, the table of pairs, then texts."""

    start: int
    head: bytes
    sections: tuple[tuple[str, int], ...]
    text: int
    tokens: int
    token_starts: int
    ranks: int


class Kernel:
    """One instance. One thread at a time may use it. What it does may raise one of `wasm.errors()`."""

    def __init__(self, instance: Instance, layout: _Layout, block: int) -> None:
        self._instance = instance
        self._layout = layout
        self._block = block
        self._longest_token = 0
        self._text = layout.text
        self._room = 0
        instance.call("setup", layout.start)
        self._rest_at: int = instance.call("rest_at")
        self._count, self._count_normal = instance.function("count"), instance.function("count_normal")
        self._encode, self._encode_normal = instance.function("encode"), instance.function("encode_normal")

    @classmethod
    def build(cls, tables: BpeTables, block: int = BLOCK) -> Kernel:
        instance = Instance(_module())
        layout = _lay_out(tables, instance.call("heap_base"))
        instance.reserve(layout.text)
        instance.write(layout.head, layout.start)
        for name, at in layout.sections:
            instance.write(tables.sections[name], at)
        kernel = cls(instance, layout, block)
        merges = tables.sections["ranks" if tables.is_by_ranks else "sides"]
        instance.write(merges, layout.text)  # only for now: texts will lie there
        if not tables.is_by_ranks:
            instance.call("build_pairs", layout.text, tables.merges)
        elif instance.call("build_ranks", layout.text, len(merges)) != tables.merges:
            raise ValueError("not a file of ranks")
        kernel._longest_token = instance.call("get_longest_token")
        return kernel

    def clone(self) -> Kernel:
        """Another with the same tables; this one may be counting meanwhile."""
        instance = Instance(_module())
        instance.copy(self._instance, self._layout.start, self._layout.text)
        instance.call("set_longest_token", self._longest_token)
        kernel = Kernel(instance, self._layout, self._block)
        kernel._longest_token = self._longest_token
        return kernel

    def count(self, text: str, *, is_normal: bool = False) -> int | None:
        """Tokens of a text, not empty; None where a word of it is too long for the kernel.

        Raises Unnormal unless `is_normal`, and UnicodeEncodeError on surrogates.
        """
        count = self._count_normal if is_normal else self._count
        if len(text) <= self._block:
            return self._count_block(count, text.encode(), LAST)
        total, rest, at, length = 0, b"", 0, self._block
        while at < len(text):
            block = rest + text[at : at + length].encode()
            at += length
            tokens = self._count_block(count, block, 0 if at < len(text) else LAST)
            rest = self._instance.read(*struct.unpack("<2I", self._instance.read(self._rest_at, 8)))
            if tokens is None or len(rest) > LONGEST_UNIT:
                return None
            total += tokens
            length = max(self._block, len(rest))  # as much new as is read again: linear
        return total

    def count_at_once(self, block: bytes) -> int | None:
        """Tokens of a text of one block, which is not empty; None where it is left to `count`."""
        size = len(block)
        if size > self._room:
            return None
        self._view[:size] = block
        tokens = self._count(self._text, size | LAST)
        return tokens if tokens >= 0 else None

    def encode(self, text: str, *, is_normal: bool = False) -> array[int] | None:
        """The ids of a text, not empty; None, and raises, as `count`."""
        encode = self._encode_normal if is_normal else self._encode
        ids, rest, at, length = array("I"), b"", 0, self._block // 8
        while at < len(text):
            block = rest + text[at : at + length].encode()
            at += length
            self._instance.reserve(self._text + (GROWTH + IDS) * len(block) + 4 * MARGIN)
            self._make_room(len(block))
            tokens = self._count_block(encode, block, 0 if at < len(text) else LAST)
            start, size, found = struct.unpack("<3I", self._instance.read(self._rest_at, 12))
            if tokens is None or size > LONGEST_UNIT:
                return None
            ids.frombytes(self._instance.read(found, 4 * tokens))
            rest = self._instance.read(start, size)
            length = max(self._block // 8, len(rest))
        if sys.byteorder == "big":
            ids.byteswap()
        return ids

    def find_token(self, rank: int) -> bytes | None:
        """The bytes of a token by ranks. Others may be counting meanwhile."""
        if not 0 <= rank < self._layout.ranks:
            return None
        start, end = struct.unpack("<2I", self._instance.read(self._layout.token_starts + 4 * rank, 8))
        return self._instance.read(self._layout.tokens + start, end - start)

    def _count_block(self, count: Callable[[int, int], int], block: bytes, last: int) -> int | None:
        size = len(block)
        if size > self._room:
            self._make_room(size)
        self._view[:size] = block
        tokens = count(self._text, size | last)
        if tokens == ASK:
            raise Unnormal
        return None if tokens == TOO_LONG else tokens

    def _make_room(self, size: int) -> None:
        """For a block, what it becomes, and what may be read behind both."""
        self._instance.reserve(self._text + GROWTH * size + 2 * MARGIN)
        self._room = (self._instance.memory_bytes - self._text - 2 * MARGIN) // GROWTH
        self._view = self._instance.view(self._text, self._room)


class KernelPool:
    """As many kernels of one vocabulary as count at the same time, MAX_KERNELS at most: further texts wait for one.
    Thread-safe."""

    def __init__(self, tables: BpeTables, block: int = BLOCK) -> None:
        """Raises WasmUnavailable. `block` is other than the default only in tests."""
        self._errors = errors()
        try:
            self._first = Kernel.build(tables, block)
        except self._errors as error:
            raise WasmUnavailable(f"the kernel does not run: {type(error).__name__}") from error
        self._idle: SimpleQueue[Kernel] = SimpleQueue()
        self._idle.put(self._first)
        self._changing = threading.Lock()
        self.kernels = 1

    def count(self, text: str, *, is_normal: bool = False) -> int | None:
        """As `Kernel.count`; None also where the machine's memory does not suffice."""
        return self._run(Kernel.count, text, is_normal)

    def count_at_once(self, text: str) -> int | None:
        """`count` of a text of BLOCK characters at most, not empty, with few steps: those take as long as counting
        some hundred characters. None where `count` has to be asked."""
        idle = self._idle
        try:
            kernel = idle.get_nowait()
        except Empty:
            return None
        try:
            return kernel.count_at_once(text.encode())
        except UnicodeEncodeError:
            return None
        except self._errors:
            return None
        finally:
            idle.put(kernel)

    def encode(self, text: str, *, is_normal: bool = False) -> array[int] | None:
        """As `Kernel.encode`; None also where the machine's memory does not suffice."""
        return self._run(Kernel.encode, text, is_normal)

    def find_token(self, rank: int) -> bytes | None:
        return self._first.find_token(rank)

    def _run[Answer](self, call: Callable[..., Answer | None], text: str, is_normal: bool) -> Answer | None:
        try:
            kernel = self._take()
        except self._errors:
            return None
        try:
            return call(kernel, text, is_normal=is_normal)
        except self._errors:
            return None
        finally:
            self._idle.put(kernel)

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


@cache
def _module() -> Module:
    return Module(files(__package__).joinpath("kernel.wasm").read_bytes())


def _lay_out(tables: BpeTables, start: int) -> _Layout:
    slots = int(tables.merges * SLOTS_A_MERGE) + 1
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
        places["kind_pages"], places["kinds"], places["changes"], sizes["changes"] // 8, places["change_bytes"],
    )
    sections = tuple((name, at) for name, at in places.items() if name in tables.sections)
    return _Layout(start, head, sections, pairs + 8 * slots, places["tokens"], places["token_starts"], ranks)
