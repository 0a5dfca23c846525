"""Build the compact tables of `service/tokenizers/claude/` from ctok, and prove that they may be built.

    python -m scripts.make_claude_tables            # writes service/tokenizers/claude/data/*.gz
    python -m scripts.make_claude_tables --check    # compares with what is committed, writes nothing

Run it on the Python whose Unicode version the tables are to carry (`.python-version`).
A vocabulary that breaks one of `scripts/claude_facts.py` is refused.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import struct
import sys
import unicodedata
from array import array
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import ctok
from ctok.constants import BOW_G, CAPS_G, EOW_G, ESCAPED_MARKER_LITERALS, MARKER_GLYPHS, SHIFT_G
from ctok.engine import char_cost
from ctok.main import _model

from scripts.claude_changes import changes, composed
from scripts.claude_facts import check_facts, classify, fact, long_runs, rules, run_lengths
from service.tokenizers.claude.tables import CASES, FLOOR_PAGE, KINDS, NO_CODE

DATA = Path(__file__).resolve().parents[1] / "service" / "tokenizers" / "claude" / "data"
VOCABULARIES = {"v3": "v3", "v4_7": "v4.7"}
"""File name -> ctok's family. 4.8 reads 4.7's vocabulary under other constants (`tables.FAMILIES`)."""

type Trie = dict[int, Trie]
type File = tuple[dict[str, object], dict[str, bytes]]

GENERATIONS = {"claude-v3": ("3.0", 7), "claude-v4.7": ("4.7", 11), "claude-v4.8": ("4.8", 6)}
"""Tokenizer -> ctok's version, and the tokens of the frame that ctok counts with every text."""

SEALED_OR_DECIMAL, ALPHANUMERIC = 0x40, 0x80
MARKERS = (BOW_G, EOW_G, SHIFT_G, CAPS_G)


# ---------------------------------------------------------------- characters


def find_case(char: str) -> str:
    if rules._is_upper(char):
        return "upper"
    if rules._is_lower(char):
        return "lower"
    letter = char in rules._NEW_CASED or unicodedata.category(char)[0] in "LM"
    return "caseless" if letter else "other"


def make_record(char: str) -> int:
    kind = classify(char)
    record = KINDS.index(kind)
    if kind in "WM":
        record |= CASES.index(find_case(char)) << 4
        record |= SEALED_OR_DECIMAL * rules._marks_like_punct(char)
    if kind == "N":
        record |= SEALED_OR_DECIMAL * (unicodedata.category(char) == "Nd")
    return record | ALPHANUMERIC * char.isalnum()


def lower_pairs() -> list[int]:
    """Flat pairs of code units: a word character and its lower case, where they differ."""
    pairs = []
    for code in range(0x10000):
        char = chr(code)
        lowered = rules._lower(char)
        if classify(char) in "WM" and char not in (lowered, "İ"):
            fact(len(lowered) == 1 and lowered <= "\uffff", "lower case is one BMP character", char)
            pairs += [code, ord(lowered)]
    return pairs


def check_astral() -> None:
    for code in range(0x10000, 0x110000):
        char = chr(code)
        lone = rules.classify(char) == rules.HARD and rules._hard_kind(char) == "letter"
        fact(lone and not rules._is_selector(char), "an astral character stands alone", char)


def astral_alphanumerics() -> list[int]:
    """Flat pairs: first and last code point of every astral range of str.isalnum."""
    edges, inside = [], False
    for code in range(0x10000, 0x110001):
        now = code < 0x110000 and chr(code).isalnum()
        if now != inside:
            edges.append(code if now else code - 1)
            inside = now
    return edges


def characters() -> File:
    check_astral()
    header: dict[str, object] = {
        "unicode": unicodedata.unidata_version,
        "ctok": version("ctok"),
        "regex": version("regex"),
        "astral_alphanumerics": astral_alphanumerics(),
    }
    return header, {
        "records": bytes(make_record(chr(code)) for code in range(0x10000)),
        "changes": changes(),
        "composed": little(composed()),
        "lower": little(array("H", lower_pairs())),
    }


# ---------------------------------------------------------------- vocabularies


def backward_trie(pieces: Iterable[str], code: dict[str, int]) -> Trie:
    """Nested dicts over the pieces spelled backwards; the key 0 marks the end of a piece."""
    trie: Trie = {}
    for piece in sorted(pieces):
        node = trie
        for char in reversed(piece):
            node = node.setdefault(code[char], {})
        node[0] = {}
    return trie


def double_array(trie: Trie, codes: int) -> tuple[int, array[int]]:
    """The trie as cells of 32 bits: base << 13 | ends << 12 | code; and the root's base.

    The child of a node by code c is cells[base + c], if that cell's code is c. No two nodes share a base, so a code is
    enough to tell whose child a cell is. A leaf's base points to a stretch without children.
    """
    bases: dict[int, int] = {}
    taken: dict[int, int] = {}  # cell -> code
    used: set[int] = set()
    free = 1
    queue: list[tuple[int, Trie]] = [(-1, trie)]
    for cell, node in queue:
        children = sorted(code for code in node if code)
        if not children:
            continue
        while free in taken:
            free += 1
        at = max(0, free - children[0])
        while at in used or any(at + code in taken for code in children):
            at += 1
        bases[cell] = at
        used.add(at)
        for code in children:
            taken[at + code] = code
            queue.append((at + code, node[code]))
    ends = {cell for cell, node in queue if 0 in node}
    nowhere = max(taken) + 1
    cells = (bases.get(i, nowhere) << 13 | (i in ends) << 12 | taken[i] if i in taken else 0 for i in range(nowhere))
    fact(codes < NO_CODE and nowhere < 1 << 19, "codes fit in 12 bits and bases in 19", str(nowhere))
    return bases[-1], array("I", [*cells, *[0] * (NO_CODE + 1)])


def floors(family: str) -> tuple[array[int], bytes]:
    """What each code point costs alone, in pages: cost = cells[pages[cp // 64] * 64 + cp % 64]."""
    model = _model(family)
    pages, cells = array("H"), bytearray()
    seen: dict[bytes, int] = {}
    for start in range(0, 0x110000, FLOOR_PAGE):
        page = bytes(find_floor(model, chr(code)) for code in range(start, start + FLOOR_PAGE))
        if page not in seen:
            seen[page] = len(seen)
            cells += page
        pages.append(seen[page])
    return pages, bytes(cells)


def find_floor(model: object, char: str) -> int:
    if char in MARKER_GLYPHS or 0xD800 <= ord(char) <= 0xDFFF:
        return 1
    return int(char_cost(model, ESCAPED_MARKER_LITERALS.get(char, char)))


def vocabulary(family: str) -> File:
    model = _model(family)
    check_facts(model.vocab)
    joined = [p for p in model.vocab if len(p) > 1 and p[0] not in " \t\n"]
    symbols = "".join(sorted({char for piece in joined for char in piece} | set(MARKERS)))
    fact(max(symbols) <= "\uffff", "pieces of several characters stay in the BMP", max(symbols))
    code = {symbol: i + 1 for i, symbol in enumerate(symbols)}
    root, cells = double_array(backward_trie(joined, code), len(symbols))
    pages, alone = floors(family)
    header: dict[str, object] = {
        "family": family,
        "ctok": version("ctok"),
        "symbols": symbols,
        "root": root,
        "newlines": run_lengths(model.vocab, "\n"),
        "runs": long_runs(model.vocab),
        "byte_tokens": sorted(model.bytes.tokens - {c.encode().hex() for c in model.unit_pieces}),
    }
    sections = {"cells": little(cells), "floor_pages": little(pages), "floors": alone}
    return header, sections


# ---------------------------------------------------------------- files


def little(values: array[int]) -> bytes:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()


def pack(header: dict[str, object], sections: dict[str, bytes]) -> bytes:
    """Length of the header (4 bytes, little endian), the header (JSON), then the sections in the header's order."""
    payload = b"".join(sections.values())
    header = {
        **header,
        "sections": {name: len(data) for name, data in sections.items()},
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
    text = json.dumps(header, sort_keys=False).encode("ascii")
    text += b" " * (-(len(text) + 4) % 8)
    return struct.pack("<I", len(text)) + text + payload


GOLDEN = (
    "a", "The quick brown fox's 12 lazy dogs don't jump.", "x = foo(bar, baz[3:]);\n\n\tif (a != b) {  return 0; }",
    "HELLO Hello hELLO WiFi ΑΒΓΔ Αβγδ ΣΊΣΥΦΟΣ İstanbul Aİb STRAẞE ϴ ⓐ's ⓐ 's", "안녕하세요, 세계! 漢字かな交じり文。",
    "①②'s ½ ½x 1½ ٣٤ 5٣'s २०२६ 's '90s O'Brien rock 'n' roll",
    "⚖\ufe0f ❤\ufe0f\u0301x \u064b\u0628 \u0301'd \u0730\u0711",
    "👩‍👧 𝔘 \U0010ffff\ufffd", "  a  b\t c\u3000\n d", "=" * 700 + "." * 300 + " -*- (!?)", "\ue000 \ue001a\ue004",
    "1234567 \n\n\n" + "\n" * 150 + "„x — «y» • ½", "देवनागरी ภาษาไทย العَرَبِيَّة עִבְרִית Ünïcødé",
)
"""Normalized texts that reach every rule of the kernel; it must count them right before it may count anything."""


def golden() -> bytes:
    """Text -> tokenizer -> content tokens, from ctok. The texts with E000 to E004 stand for U+FDD0 to U+FDD4."""
    counts = {}
    for text in GOLDEN:
        raw = text.translate({0xE000 + i: 0xFDD0 + i for i in range(5)})
        counts[text] = {name: ctok.token_count(raw, ver) - frame for name, (ver, frame) in GENERATIONS.items()}
    return json.dumps(counts, indent=1).encode("ascii") + b"\n"


def build() -> dict[str, bytes]:
    """File name -> unpacked content."""
    files = {"golden.json": golden(), "characters.bin.gz": pack(*characters())}
    for name, family in VOCABULARIES.items():
        files[f"{name}.bin.gz"] = pack(*vocabulary(family))
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the committed files")
    check = parser.parse_args().check
    differ = 0
    for name, content in build().items():
        path = DATA / name
        packs = path.suffix == ".gz"
        if check:
            same = path.exists() and (gzip.decompress if packs else bytes)(path.read_bytes()) == content
            differ += not same
            print(f"{path.name}: {'same' if same else 'DIFFERENT'}")
        else:
            path.write_bytes(gzip.compress(content, 9, mtime=0) if packs else content)
            print(f"{path.name}: {len(content)} bytes, {path.stat().st_size} packed")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
