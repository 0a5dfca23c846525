"""Build the compact tables of `service/tokenizers/tiling/` from ctok, and prove that they may be built.

    python -m scripts.make_tiling_tables            # writes service/tokenizers/tiling/data/*.gz
    python -m scripts.make_tiling_tables --check    # compares with what is committed, writes nothing

Run it on the Python whose Unicode version the tables are to carry (README of the package: `.python-version`).
The tiling counter cuts a text where no vocabulary piece can span the cut. `check_facts` asserts over every piece what
those cuts rest on, so a new vocabulary that breaks one stops here, loudly, and never reaches a count.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib
import itertools
import json
import struct
import sys
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

import ctok
from ctok.constants import (
    BOW_G,
    CAPS_G,
    DIGIT,
    EOW_G,
    ESCAPED_MARKER_LITERALS,
    MARKER_GLYPHS,
    PUNCT,
    SHIFT_G,
    SPACE,
    WORDY,
)
from ctok.engine import char_cost
from ctok.main import _model

rules = importlib.import_module("ctok.normalize")  # `ctok.normalize` names a function, too

DATA = Path(__file__).resolve().parents[1] / "service" / "tokenizers" / "tiling" / "data"
VOCABULARIES = {"v3": "v3", "v4_7": "v4.7"}
"""File name -> ctok's family. 4.8 reads 4.7's vocabulary under other constants (`tables.FAMILIES`)."""

type Trie = dict[int, Trie]
type File = tuple[dict[str, object], dict[str, bytes]]

GENERATIONS = {"claude-v3": ("3.0", 7), "claude-v4.7": ("4.7", 11), "claude-v4.8": ("4.8", 6)}
"""Tokenizer -> ctok's version, and the tokens of the frame that ctok counts with every text."""

KINDS = "WMPQNVADLS"
CASES = {"other": 0, "upper": 1, "lower": 2, "caseless": 3}
SEALED_OR_DECIMAL, ALPHANUMERIC = 0x40, 0x80
FLOOR_PAGE = 64
KERNEL_RING = 256
NO_CODE = 0xFFF  # what a counter looks up for a character of no piece
MARKERS = (BOW_G, EOW_G, SHIFT_G, CAPS_G)


class BrokenFact(AssertionError):
    """A vocabulary piece or a character that the decomposition does not allow for."""


def fact(holds: bool, what: str, where: str) -> None:
    if not holds:
        raise BrokenFact(f"{what}: {where!a}")


# ---------------------------------------------------------------- characters


def kind_of(char: str) -> str:
    """One of KINDS (see `tables.Characters`). Astral characters are all lone: asserted in `check_astral`."""
    if ord(char) > 0xFFFF or 0xD800 <= ord(char) <= 0xDFFF:
        return "L"
    cls = rules.classify(char)
    if cls == SPACE:
        return "S"
    if cls == WORDY:
        return "M" if rules._stray_mark(char) else "W"
    if cls == DIGIT:
        return "D" if char.isascii() else "A"
    if cls == PUNCT:
        return "P"
    if rules._is_selector(char):
        return "V"
    return {"letter": "L", "number": "N", "punct": "Q"}[rules._hard_kind(char)]


def case_of(char: str) -> str:
    if rules._is_upper(char):
        return "upper"
    if rules._is_lower(char):
        return "lower"
    letter = char in rules._NEW_CASED or unicodedata.category(char)[0] in "LM"
    return "caseless" if letter else "other"


def record_of(char: str) -> int:
    kind = kind_of(char)
    record = KINDS.index(kind)
    if kind in "WM":
        record |= CASES[case_of(char)] << 4
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
        if kind_of(char) in "WM" and char not in (lowered, "İ"):
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
    records = bytes(record_of(chr(code)) for code in range(0x10000))
    return header, {"records": records, "lower": little(array("H", lower_pairs()))}


# ---------------------------------------------------------------- vocabularies


def check_facts(pieces: Iterable[str]) -> None:
    """Assert what every cut rests on (the facts are listed in `tiling/__init__.py`)."""
    pieces = frozenset(pieces)
    for piece in pieces:
        for left, right in itertools.pairwise(piece):
            check_pair(left, right, piece)
    digits = {str(n).zfill(width) for width in (1, 2, 3) for n in range(10**width)}
    fact(digits == {p for p in pieces if p.isascii() and p.isdigit()}, "digit pieces are all of one to three", "")
    for blank in " \t":
        lengths = {len(p) for p in pieces if set(p) == {blank}}
        fact(lengths == set(range(1, 17)), "blank pieces are one to sixteen long", blank)
    fact(max(map(len, pieces)) < KERNEL_RING - 1, "pieces fit in the ring of kernel.c", "")
    fact("\u3000" in pieces and "\n" in pieces, "U+3000 and the newline are pieces", "")


def check_pair(left: str, right: str, piece: str) -> None:
    fact(left != EOW_G, "nothing follows <eow>", piece)
    fact(right not in (SHIFT_G, CAPS_G), "nothing precedes a case marker", piece)
    if right == BOW_G:
        fact(left in (SHIFT_G, CAPS_G), "only a case marker precedes <bow>", piece)
    elif left in (SHIFT_G, CAPS_G):
        fact(False, "only <bow> follows a case marker", piece)
    elif left == BOW_G:
        fact(kind_of(right) in "WMPQN" and right != EOW_G, "<bow> opens words, punctuation and numbers", piece)
    elif right == EOW_G:
        fact(kind_of(left) in "WMPQN", "<eow> closes words, punctuation and numbers", piece)
    else:
        check_kinds(left, right, piece)


def check_kinds(left: str, right: str, piece: str) -> None:
    a, b = kind_of(left), kind_of(right)
    if a in "WM":
        fact(b in "WM", "a word joins only itself", piece)
    elif a == "P":
        contraction = b == "W" and left == "'" == piece[0]
        fact(b == "P" or contraction, "punctuation joins punctuation and contraction suffixes", piece)
    elif a in "QN":
        fact(b in "PQN", "symbols and numbers join punctuation, symbols and numbers", piece)
    elif a == "D":
        fact(b == "D", "ASCII digits join only themselves", piece)
    elif a == "S":
        fact(left == right, "a blank piece repeats one character", piece)
    else:
        fact(False, "selectors, Arabic-Indic digits and lone letters join nothing", piece)


def run_lengths(pieces: Iterable[str], char: str) -> list[int]:
    return sorted({len(piece) for piece in pieces if set(piece) == {char}})


def periodic_from(lengths: Sequence[int]) -> int:
    """From which run length on one more longest piece costs exactly one more token.

    Found by computing costs up to the square of the longest length; beyond it the coin argument holds (any
    `longest` shorter coins contain a subset that sums to a multiple of it).
    """
    longest = lengths[-1]
    costs = [0]
    for n in range(1, longest * longest + 2 * longest):
        costs.append(1 + min(costs[n - k] for k in lengths if k <= n))
    return max((n + 1 for n in range(len(costs) - longest) if costs[n + longest] != costs[n] + 1), default=0)


def long_runs(pieces: Iterable[str]) -> dict[str, list[int]]:
    """Characters with pieces of eight or more repeats: [longest, periodic_from]."""
    pieces = frozenset(pieces)
    runs = {}
    for char in sorted({p[0] for p in pieces if len(p) >= 8 and len(set(p)) == 1 and p[0] not in " \t"}):
        lengths = run_lengths(pieces, char)
        fact(lengths[0] == 1, "a repeated character is a piece by itself", char)
        inner = max(longest_run(piece, char) for piece in pieces)
        fact(inner == lengths[-1], "no piece holds a longer run than the piece of the run alone", char)
        runs[char] = [lengths[-1], periodic_from(lengths)]
    return runs


def longest_run(piece: str, char: str) -> int:
    return max((len(list(run)) for key, run in itertools.groupby(piece) if key == char), default=0)


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
        page = bytes(floor_of(model, chr(code)) for code in range(start, start + FLOOR_PAGE))
        if page not in seen:
            seen[page] = len(seen)
            cells += page
        pages.append(seen[page])
    return pages, bytes(cells)


def floor_of(model: object, char: str) -> int:
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
"""Normalised texts that reach every rule of the kernel; it must count them right before it may count anything."""


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
