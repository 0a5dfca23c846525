"""The frozen tables of the Claude tokenizers: the kinds of characters, and the pieces of the vocabularies.

Built by `scripts/make_claude_tables.py` from ctok, on the Unicode version that `Characters.unicode` names, and
committed, so that every Python counts the same. Nothing is read at import.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import struct
import sys
from array import array
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from service.errors import TokenizerUnavailable

KINDS = "WMPQNVADLS"
"""The kinds of characters in the marked stream, by the low four bits of a record:

W word character             P ASCII punctuation and its like     V variation selector         L lone: Han, Hangul,
M mark, which may stand      Q other symbol, separator mark       A Arabic-Indic digit           ideographs, astral
  without its word           N other number (Nd, No)              D ASCII digit                S blank: space, tab, ...
"""
CASES = ("other", "upper", "lower", "caseless")
"""The case of a word character, by the next two bits. `caseless` letters and marks keep a span from ⟨caps⟩."""

CHANGES = ("keep", "strip", "space", "escape", "quote", "double quote", "astral", "ask", "ordered")
"""What normalization does to a UTF-16 unit, for the kernel: `ask` is for the interpreter's NFC (it may compose with
what is before it, or is not assigned); from `ordered` on it stays, and the number is its combining class by rank."""

BOW, EOW, SHIFT, CAPS = "\ufdd0", "\ufdd1", "\ufdd3", "\ufdd4"
"""The markers of the stream: begin and end of a word, first letter was a capital, all letters were."""
ESCAPES = {chr(0xFDD0 + i): chr(0xE000 + i) for i in range(5)}
"""Noncharacters in a text that look like markers, and what stands for them in the stream (no text has E000: private
use is stripped)."""

FLOOR_PAGE = 64
NO_CODE = 0xFFF


@dataclass(frozen=True)
class Family:
    """How one generation of Claude reads its vocabulary. Constants from ctok 1.3.0, which measured them."""

    name: str
    vocabulary: str
    fold_quotes: bool  # curly quotes count as their ASCII forms
    caps_from: int  # shortest all-capital word that takes ⟨caps⟩; 0: none does
    frame_bow: bool  # the frame ends in a ⟨bow⟩, which the text's own head may absorb


FAMILIES = {
    family.name: family
    for family in (
        Family("claude-v3", "v3", fold_quotes=True, caps_from=4, frame_bow=True),
        Family("claude-v4.7", "v4_7", fold_quotes=False, caps_from=0, frame_bow=True),
        Family("claude-v4.8", "v4_7", fold_quotes=False, caps_from=0, frame_bow=False),
    )
}


@dataclass(frozen=True, eq=False)
class Characters:
    """Records of the BMP (astral characters are all lone), lower case, and which characters are alphanumeric."""

    unicode: str
    digest: str
    records: bytes
    changes: bytes
    composed: array[int]  # flat: first and last of each range of astral characters that NFC leaves alone
    lower_pairs: array[int]  # flat: a character, its lower case
    astral_alphanumerics: list[int]  # flat: first and last code point of each range

    def kind(self, char: str) -> str:
        """One of KINDS."""
        code = ord(char)
        return KINDS[self.records[code] & 15] if code < 0x10000 else "L"

    def case(self, char: str) -> str:
        """One of CASES; only word characters have one."""
        return CASES[self.records[ord(char)] >> 4 & 3]

    def seals(self, char: str) -> bool:
        """Whether a word that ends in this word character keeps a contraction from joining (circled letters do)."""
        return self.records[ord(char)] & 0x40 != 0

    def is_decimal(self, char: str) -> bool:
        """Whether a number (kind N) is a decimal digit; a run of numbers is marked only where all agree."""
        return self.records[ord(char)] & 0x40 != 0

    def is_alphanumeric(self, char: str) -> bool:
        """`str.isalnum` of the Unicode version of the tables."""
        code = ord(char)
        if code < 0x10000:
            return self.records[code] & 0x80 != 0
        edge = bisect_right(self.astral_alphanumerics, code)
        return edge % 2 == 1 or (edge > 0 and self.astral_alphanumerics[edge - 1] == code)

    def lower(self) -> dict[int, str]:
        """A table for str.translate."""
        return {self.lower_pairs[i]: chr(self.lower_pairs[i + 1]) for i in range(0, len(self.lower_pairs), 2)}

    def charset(self, kinds: str) -> str:
        """The inside of a regular expression's character class: every character of these kinds."""
        codes = {KINDS.index(kind) for kind in kinds}
        wanted = bytes(record & 15 in codes for record in range(256))
        return ranges(self.records.translate(wanted)) + ("\U00010000-\U0010ffff" if "L" in kinds else "")

    def sealing_charset(self) -> str:
        """The same for the characters that `seals` holds for."""
        wanted = bytes(record & 0x40 != 0 and record & 15 < 2 for record in range(256))
        return ranges(self.records.translate(wanted))


def ranges(wanted: bytes) -> str:
    """Character class of the code points whose byte is 1."""
    parts, end = [], 0
    while (start := wanted.find(1, end)) >= 0:
        end = wanted.find(0, start)
        end = len(wanted) if end < 0 else end
        parts.append(f"\\u{start:04x}-\\u{end - 1:04x}")
    return "".join(parts)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The pieces of two or more characters, backwards in a double array, and what a character costs alone.

    A cell is base << 13 | ends << 12 | code. From a base, the next state by code c is cells[base + c], if that cell's
    code is c; `ends` says that the characters walked, read forwards, are a piece. `root` is the first base. The code of
    a character is its place in `symbols`, from 1; NO_CODE is for all others and matches no cell.
    """

    digest: str
    symbols: str
    newlines: list[int]  # lengths of the newline pieces
    runs: dict[str, list[int]]  # repeated character: its longest piece, from which length on costs repeat
    byte_tokens: list[str]  # hexadecimal UTF-8 prefixes that cost one token
    root: int
    cells: array[int]
    floor_pages: array[int]
    floors: bytes

    def floor(self, char: str) -> int:
        """Tokens of one character that no longer piece covers."""
        code = ord(char)
        return self.floors[self.floor_pages[code // FLOOR_PAGE] * FLOOR_PAGE + code % FLOOR_PAGE]


@cache
def characters() -> Characters:
    """Raises TokenizerUnavailable when the file is not the one that was built."""
    header, sections = _unpack("characters")
    return Characters(
        header["unicode"],
        header["sha256"],
        bytes(sections["records"]),
        bytes(sections["changes"]),
        _integers("I", sections["composed"]),
        _integers("H", sections["lower"]),
        header["astral_alphanumerics"],
    )


@cache
def vocabulary(name: str) -> Vocabulary:
    """Raises TokenizerUnavailable when the file is not the one that was built."""
    header, sections = _unpack(name)
    return Vocabulary(
        header["sha256"],
        header["symbols"],
        header["newlines"],
        header["runs"],
        header["byte_tokens"],
        header["root"],
        _integers("I", sections["cells"]),
        _integers("H", sections["floor_pages"]),
        bytes(sections["floors"]),
    )


def fingerprint(family: Family) -> str:
    """16 hex digits over everything that decides a count: vocabulary, classes with their Unicode version, constants."""
    chars, words = characters(), vocabulary(family.vocabulary)
    constants = (chars.unicode, chars.digest, words.digest, words.newlines, words.symbols, family)
    return hashlib.sha256(repr(constants).encode()).hexdigest()[:16]


def _unpack(name: str) -> tuple[dict[str, Any], dict[str, memoryview]]:
    content = memoryview(gzip.decompress(_read(name)))
    (length,) = struct.unpack_from("<I", content)
    header = json.loads(bytes(content[4 : 4 + length]))
    payload = content[4 + length :]
    if hashlib.sha256(payload).hexdigest() != header["sha256"]:
        raise TokenizerUnavailable(f"the tokenizer table {name} is damaged: reinstall the package")
    sections, at = {}, 0
    for section, size in header["sections"].items():
        sections[section] = payload[at : at + size]
        at += size
    return header, sections


def _read(name: str) -> bytes:
    return files(__package__).joinpath("data", f"{name}.bin.gz").read_bytes()


def _integers(code: str, data: memoryview) -> array[int]:
    values = array(code, bytes(data))
    if sys.byteorder == "big":
        values.byteswap()
    return values
