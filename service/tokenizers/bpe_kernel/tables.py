"""The tables that a vocabulary is counted with: one file, made by `scripts/make_bpe_tables.py`.

A line of JSON (`Header`, and the names and sizes of the sections), then the sections, each of little-endian numbers
that `kernel.c` explains (`struct tables`).
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Literal

Scheme = Literal["between_characters", "gpt2", "cl100k", "o200k"]

ADDED_BYTES = 16
"""Of an entry of `added`; the longest added token is shorter. This and the next four are those of the C source."""
LONGEST_BLANK = 31
"""Newlines, or tabs, of the longest added token."""
BESIDE_BITS = 20
"""Of the hash of two code points."""
MAX_GROWTH = 11
"""Times its bytes that a text may become when it is normalized."""
OVERLAP = 8_192
"""Symbols that two windows of a very long word share; no token has half as many."""
PAGE = 64
"""Code points of a page of `kinds`."""


@dataclass(frozen=True, slots=True)
class Header:
    """`specials`: text -> id, of the tokens that match only when asked for; `added_tokens`: how many the tokenizer's
    post-processor adds to a text."""

    scheme: Scheme
    specials: dict[str, int]
    added_tokens: int


@dataclass(frozen=True, slots=True)
class BpeTables:
    """`sections` by name; each scheme has the ones that it needs."""

    header: Header
    sections: Mapping[str, memoryview]

    @property
    def is_by_ranks(self) -> bool:
        """Whether any two neighbours merge that are a token together. Otherwise a list says which pairs merge."""
        return "ranks" in self.sections

    @property
    def merges(self) -> int:
        """How many pairs or ranks there are."""
        return bytes(self.sections["ranks"]).count(b"\n") if self.is_by_ranks else len(self.sections["sides"]) // 8


def hash_pair(first: int, second: int) -> int:
    """The bit of `beside_bits` for two code points."""
    return ((first << 21 | second) * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 64 - BESIDE_BITS


def pack(header: Header, sections: Mapping[str, bytes]) -> bytes:
    """The content of the file."""
    head = {**asdict(header), "sections": {name: len(section) for name, section in sections.items()}}
    return json.dumps(head, separators=(",", ":")).encode() + b"\n" + b"".join(sections.values())


def unpack(content: bytes) -> BpeTables:
    """The tables in a verified file; the sections are views of it."""
    at = content.index(b"\n") + 1
    head = json.loads(content[:at])
    sections: dict[str, memoryview] = {}
    for name, size in head.pop("sections").items():
        sections[name] = memoryview(content)[at : at + size]
        at += size
    return BpeTables(Header(**head), sections)


def make_rank_tables(scheme: Scheme, ranks: bytes, specials: Mapping[str, int]) -> BpeTables:
    """The tables of a `.tiktoken` file, which the kernel reads itself, with our table of character classes."""
    kinds = gzip.decompress(files(__package__).joinpath("kinds.bin.gz").read_bytes())
    pages = 2 * (sys.maxunicode + 1) // PAGE
    sections = {
        "ranks": memoryview(ranks), "kind_pages": memoryview(kinds)[:pages], "kinds": memoryview(kinds)[pages:],
    }
    return BpeTables(Header(scheme, dict(specials), 0), sections)
