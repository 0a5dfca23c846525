"""The tables against the vocabularies that they are made of, by slow and obvious ways."""

from __future__ import annotations

import json
import re
import struct
import unicodedata
from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest
from tokenizers import normalizers, pre_tokenizers

from scripts.make_bpe_tables import CHANGES, JOINS, added, derive, tiktoken_kinds
from service.tokenizers.bpe_kernel.tables import (
    ADDED_BYTES,
    PAGE,
    BpeTables,
    Header,
    hash_pair,
    make_rank_tables,
    pack,
    unpack,
)
from service.tokenizers.data import read_verified, shipped_files

GEMMA, CLAUDE = (unpack(read_verified(f"{name}-words")) for name in ("gemma3", "claude"))


def numbers(tables: BpeTables, section: str) -> tuple[int, ...]:
    content = tables.sections[section]
    return struct.unpack(f"<{len(content) // 4}I", content)


def source(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(read_verified(name))
    return found


def test_gemmas_tables_are_derived_from_its_json() -> None:
    """For both, `make_bpe_tables --check`; the legacy Claude's take half a minute."""
    assert sha256(derive("gemma3-words")).hexdigest() == shipped_files()["gemma3-words"].sha256


@pytest.mark.parametrize(("name", "tables"), [("gemma3", GEMMA), ("claude", CLAUDE)])
def test_merges_are_those_of_the_json(name: str, tables: BpeTables) -> None:
    model = source(name)["model"]
    ids = model["vocab"]
    pairs = [row.split(" ") if isinstance(row, str) else row for row in model["merges"]]
    sides = numbers(tables, "sides")
    assert list(sides[: len(pairs)]) == [ids[left] for left, _ in pairs]
    assert list(sides[len(pairs) :]) == [ids[right] for _, right in pairs]
    assert list(numbers(tables, "made")) == [ids[left + right] for left, right in pairs]


def test_no_token_that_merging_makes_holds_a_pair_where_texts_are_cut() -> None:
    ascii_bits, bits = GEMMA.sections["beside"], GEMMA.sections["beside_bits"]

    def is_beside(first: int, second: int) -> bool:
        if first < 128 and second < 128:
            return bool(ascii_bits[first << 4 | second >> 3] >> (second & 7) & 1)
        bit = hash_pair(first, second)
        return bool(bits[bit >> 3] >> (bit & 7) & 1)

    pairs = set()
    for left, right in source("gemma3")["model"]["merges"]:
        pairs.update(pairwise((left + right).replace("\u2581", " ")))
    assert len(pairs) == 33_695
    assert all(is_beside(ord(first), ord(second)) for first, second in pairs)
    in_ascii = sum(is_beside(first, second) for first in range(128) for second in range(128))
    assert in_ascii == sum((first + second).isascii() for first, second in pairs)
    assert not is_beside(ord("."), ord(" "))
    assert not is_beside(ord("n"), ord("\n"))


def test_kinds_are_how_hugging_face_cuts() -> None:
    split = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str
    pages = struct.unpack(f"<{len(CLAUDE.sections['kind_pages']) // 2}H", CLAUDE.sections["kind_pages"])
    kinds = CLAUDE.sections["kinds"]
    for code in (*range(0x80), *range(0x80, 0x110000, 101)):
        if 0xD800 <= code < 0xE000 or chr(code) in " \n":
            continue
        kind = kinds[pages[code // PAGE] * PAGE + code % PAGE] & 7
        assert [len(split(before + chr(code))) == 1 for before in "a1\n!"] == [kind == one for one in (2, 4, 5, 7)]


def test_openais_kinds_are_how_tiktoken_reads_the_classes_of_its_patterns() -> None:
    tables = make_rank_tables("o200k", b"", {})
    assert bytes(tables.sections["kind_pages"]) + bytes(tables.sections["kinds"]) == tiktoken_kinds()
    pages = struct.unpack(f"<{len(tables.sections['kind_pages']) // 2}H", tables.sections["kind_pages"])
    letters = "A\u01c5a\u02b0\uac00\u0301\u00bd \u3000\r\n!\u20ac"
    assert [tables.sections["kinds"][pages[ord(letter) // PAGE] * PAGE + ord(letter) % PAGE] for letter in letters] == [
        0, 0, 1, 2, 2, 3, 4, 5, 5, 6, 6, 7, 7,
    ]


def compose_by_tables(text: str) -> str:
    """NFKC by the tables, the slow way; Hangul by the standard library."""
    codes, starts = halves(numbers(CLAUDE, "composed"), extra=1)
    content = bytes(CLAUDE.sections["decomposed"])
    parts = {code: content[start:end].decode() for code, (start, end) in zip(codes, pairwise(starts), strict=True)}
    classes = dict(zip(*halves(numbers(CLAUDE, "marks")), strict=True))
    rows = numbers(CLAUDE, "first_parts")
    third = len(rows) // 3
    pairs = dict(zip(zip(rows, rows[third:], strict=False), rows[2 * third :], strict=False))
    found: list[str] = []
    for char in "".join(parts.get(ord(char), char) for char in text):
        at = len(found)
        while at and 0 < classes.get(ord(char), 0) < classes.get(ord(found[at - 1]), 0):
            at -= 1
        found.insert(at, char)
    made: list[str] = []
    starter = None
    for char in found:
        number = classes.get(ord(char), 0)
        if starter is not None and (len(made) - 1 == starter or classes.get(ord(made[-1]), 0) < number):
            composite = pairs.get((ord(made[starter]), ord(char)))
            if composite is not None:
                made[starter] = chr(composite)
                continue
        if not number:
            starter = len(made)
        made.append(char)
    return re.sub("[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?", _to_syllable, "".join(made))


def _to_syllable(jamo: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", jamo[0])


def halves(found: tuple[int, ...], extra: int = 0) -> tuple[tuple[int, ...], tuple[int, ...]]:
    middle = (len(found) - extra) // 2
    assert sorted(found[:middle]) == list(found[:middle])
    return found[:middle], found[middle:]


def test_the_tables_of_nfkc_are_hugging_faces() -> None:
    normalize = normalizers.NFKC().normalize_str
    codes = [*numbers(CLAUDE, "composed")[: len(numbers(CLAUDE, "composed")) // 2 : 7],
             *numbers(CLAUDE, "marks")[: len(numbers(CLAUDE, "marks")) // 2 : 5], *range(0x80, 0x3000, 11)]
    assert len(codes) > 2_000
    text = "".join(f"e\u0301{chr(code)}\u0323{chr(code)}x" for code in codes)
    assert compose_by_tables(text) == normalize(text)


def test_what_is_read_as_joining_may_be_reordered_or_composed() -> None:
    pages = struct.unpack(f"<{len(CLAUDE.sections['kind_pages']) // 2}H", CLAUDE.sections["kind_pages"])
    kinds = CLAUDE.sections["kinds"]
    normalize = normalizers.NFKC().normalize_str
    for code in range(0x80, 0x20000):
        if 0xD800 <= code < 0xE000:
            continue
        char, record = chr(code), kinds[pages[code // PAGE] * PAGE + code % PAGE]
        assert bool(record & CHANGES) is (normalize(char) != char)
        if not record & JOINS:
            for before in ("e\u0323\u0301", "\uac00", "\u1100", "\u0915\u0345"):
                assert normalize(before + char) == normalize(before) + normalize(char)


def test_added_tokens_are_in_order_and_nothing_else_is_taken_for_one() -> None:
    content = bytes(GEMMA.sections["added"])
    found = [content[at : at + ADDED_BYTES].rstrip(b"\0").decode() for at in range(0, len(content), ADDED_BYTES)]
    assert found == sorted(found)
    assert {"<b>", "</table>", "<unused0>", "<mask>", "[multimodal]"} < {*found}
    assert "<bos>" not in found
    ids = source("gemma3")["model"]["vocab"]
    numbered = numbers(GEMMA, "added_ids")
    assert numbered[: len(found)] == tuple(ids[token] for token in found)
    runs = [blank * length for blank in "\n\t\u2581" for length in range(32)]
    assert [number for run, number in zip(runs, numbered[len(found) :], strict=True) if run not in ("", "\u2581")] == [
        ids[run] for run in runs if run not in ("", "\u2581")
    ]
    with pytest.raises(AssertionError):
        added({token: ids[token] for token in found} | {"another kind of token": 1})


def test_what_is_packed_is_unpacked() -> None:
    header = Header("gpt2", {"<x>": 3}, 1)
    found = unpack(pack(header, {"one": b"\n{}", "two": b"", "three": b"\0\1"}))
    assert found.header == header
    assert {name: bytes(section) for name, section in found.sections.items()} == {
        "one": b"\n{}", "two": b"", "three": b"\0\1",
    }
