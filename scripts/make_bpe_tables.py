"""Make `tokenizers_data/*.words.gz`, what `service.tokenizers.bpe_kernel` counts with, derived from a tokenizer.json;
and `kinds.bin.gz` in that package, what OpenAI's patterns take each character for.

    python scripts/make_bpe_tables.py            rewrite the files; prints what the manifest must say
    python scripts/make_bpe_tables.py --check    derive only, and compare with the manifest; nothing is written

How an engine cuts and normalizes is found by asking it (Hugging Face tokenizers, tiktoken) about every code point, not
by versions of Unicode. Whatever the counting takes for granted of a vocabulary is asserted here.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import struct
import sys
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import tiktoken
from tokenizers import normalizers, pre_tokenizers

from service.tokenizers.bpe_kernel.tables import (
    ADDED_BYTES,
    BESIDE_BITS,
    LONGEST_BLANK,
    MAX_GROWTH,
    OVERLAP,
    PAGE,
    Header,
    hash_pair,
    pack,
)
from service.tokenizers.byte_alphabet import BYTE_TO_LETTER, decode_byte_level
from service.tokenizers.data import read_verified, shipped_files
from service.tokenizers.reference.huggingface import decode_sentencepiece

KINDS = (r"\p{Lu}\p{Lt}", r"\p{Ll}", r"\p{Lm}\p{Lo}", r"\p{M}", r"\p{N}", r"\s", r"\r\n")
CASELESS, NUMBER, SPACE, OTHER, CHANGES, JOINS = 2, 4, 5, 7, 8, 16
"""`enum kind` of tables.h."""
PROBES = (("a", CASELESS), ("1", NUMBER), ("\n", SPACE), ("!", OTHER))
NFKC, NFKD = normalizers.NFKC().normalize_str, normalizers.NFKD().normalize_str
NFC, NFD = normalizers.NFC().normalize_str, normalizers.NFD().normalize_str
LOWEST, HIGHEST = "\u0334", "\u0345"
"""Marks of the lowest and of the highest combining class, 1 and 240."""
VOWELS_AND_TRAILING = {*map(chr, range(0x1161, 0x1176)), *map(chr, range(0x11A8, 0x11C3))}
"""Hangul that composes by arithmetic with what stands before it."""
DATA = Path(__file__).resolve().parent.parent / "tokenizers_data"
KINDS_FILE = DATA.parent / "service" / "tokenizers" / "bpe_kernel" / "kinds.bin.gz"
MARK = "\u2581"
SECTIONS = dict[str, bytes]


def pack_numbers(values: Iterable[int]) -> bytes:
    found = list(values)
    return struct.pack(f"<{len(found)}I", *found)


def scalars() -> Iterator[str]:
    return (chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)


def merges(model: dict[str, Any]) -> tuple[list[tuple[str, str]], SECTIONS]:
    """The pairs in order of rank, and their ids."""
    assert model["type"] == "BPE"
    assert not any(model.get(key) for key in (
        "dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges",
    ))
    ids: dict[str, int] = model["vocab"]
    pairs = [tuple(row.split(" ") if isinstance(row, str) else row) for row in model["merges"]]
    assert len(set(pairs)) == len(pairs) < 1 << 20
    assert max(ids.values()) < 1 << 18
    sides = pack_numbers(ids[left] for left, _ in pairs) + pack_numbers(ids[right] for _, right in pairs)
    assert max(map(len, ids)) < OVERLAP // 2
    return pairs, {"sides": sides, "made": pack_numbers(ids[left + right] for left, right in pairs)}


# ---------------------------------------------------------------- GPT-2's pattern over bytes, after NFKC


def gpt2(content: dict[str, Any]) -> tuple[Header, SECTIONS]:
    assert content["normalizer"] == {"type": "NFKC"}
    assert content["pre_tokenizer"] == {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    assert content["post_processor"] is None
    specials = {token["content"]: token["id"] for token in content["added_tokens"]}
    assert all(token["special"] for token in content["added_tokens"])
    _, sections = merges(content["model"])
    ids = content["model"]["vocab"]
    sections["byte_ids"] = pack_numbers(ids[BYTE_TO_LETTER[byte]] for byte in range(256))
    marks, pairs = find_marks(), find_compositions()
    sections["kind_pages"], sections["kinds"] = kind_pages({*marks, *VOWELS_AND_TRAILING, *(pair[1] for pair in pairs)})
    sections |= nfkc_sections(marks, pairs)
    sections |= token_bytes({number: decode_byte_level(token) for token, number in ids.items()})
    return Header("gpt2", specials, 0), sections


def kind_pages(joining: Container[str]) -> tuple[bytes, bytes]:
    """The kind of every code point, in pages: whether a letter, a digit or a sign goes on in it as one pre-token, and
    what NFKC may do to it."""
    split = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str
    kinds = bytearray(sys.maxunicode + 1)
    for letter in scalars():
        alone = (kind for before, kind in PROBES if len(split(before + letter)) == 1)
        kinds[ord(letter)] = next(alone, OTHER) if letter not in " \n" else SPACE
        kinds[ord(letter)] |= CHANGES * (NFKC(letter) != letter) | JOINS * (NFKD(letter)[0] in joining)
    return in_pages(kinds)


def in_pages(kinds: bytearray) -> tuple[bytes, bytes]:
    pages: dict[bytes, int] = {}
    places = [pages.setdefault(bytes(kinds[at : at + PAGE]), len(pages)) for at in range(0, len(kinds), PAGE)]
    return struct.pack(f"<{len(places)}H", *places), b"".join(pages)


def tiktoken_kinds() -> bytes:
    """The same for OpenAI's patterns: what each class matches in tiktoken, which passes over all that none matches."""
    bytes_only = {bytes([byte]): byte for byte in range(256)}
    text = "".join(scalars())
    kinds = bytearray([OTHER]) * (sys.maxunicode + 1)
    for kind, pattern in enumerate(KINDS):
        encoding = tiktoken.Encoding("kinds", pat_str=f"[{pattern}]", mergeable_ranks=bytes_only, special_tokens={})
        for letter in encoding.decode_bytes(encoding.encode_ordinary(text)).decode():
            assert kinds[ord(letter)] == OTHER or letter in "\r\n"
            kinds[ord(letter)] = kind
    return b"".join(in_pages(kinds))


def find_marks() -> dict[str, int]:
    """The characters that are put in order, and their combining classes: whatever has one is moved behind a mark of a
    lower class, or before one of a higher. The numbers are Python's, which never change once a character has one."""
    marks: dict[str, int] = {}
    for letter in scalars():
        pairs = (letter + LOWEST, HIGHEST + letter)
        if NFD(letter) == letter and any(NFD(pair) != pair for pair in pairs):
            marks[letter] = unicodedata.combining(letter)
    by_class = {number: mark for mark, number in marks.items()}
    for mark, number in marks.items():
        for other_number, other in by_class.items():
            expected = other + mark if number > other_number else mark + other
            assert number == other_number or NFD(mark + other) == NFD(other + mark) == expected
    return marks


def find_compositions() -> dict[str, str]:
    """Pairs of characters, and what they compose to. Hangul syllables are not among them."""
    pairs: dict[str, str] = {}
    for letter in scalars():
        parts = unicodedata.decomposition(letter).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            pair = "".join(chr(int(part, 16)) for part in parts)
            if NFC(pair) == letter:
                pairs[pair] = letter
    return pairs


def nfkc_sections(marks: dict[str, int], pairs: dict[str, str]) -> SECTIONS:
    composed = {letter: NFKD(letter).encode() for letter in scalars()
                if not "\uac00" <= letter < "\ud7a4" and NFKD(letter) != letter}
    assert all(len(made) <= MAX_GROWTH * len(letter.encode()) for letter, made in composed.items())
    assert all(len(letter.encode()) <= len(pair.encode()) for pair, letter in pairs.items())
    assert not {*marks} & {*composed}
    rows = sorted(pairs.items())
    return {
        "composed": pack_numbers(map(ord, composed)) + pack_numbers([0, *accumulate(map(len, composed.values()))]),
        "decomposed": b"".join(composed.values()),
        "marks": pack_numbers(map(ord, marks)) + pack_numbers(marks.values()),
        "first_parts": b"".join(pack_numbers(map(ord, column)) for column in zip(
            *((pair[0], pair[1], letter) for pair, letter in rows), strict=True
        )),
    }


# ---------------------------------------------------------------- cut between characters that no token joins


def characters(content: dict[str, Any]) -> tuple[Header, SECTIONS]:
    assert content["normalizer"] == {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
    assert content["pre_tokenizer"]["pattern"] == {"String": " "}
    assert content["model"]["byte_fallback"]
    pairs, sections = merges(content["model"])
    ids = content["model"]["vocab"]
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    assert not {*byte_tokens} & {side for pair in pairs for side in pair}
    assert not any(" " in token for token in ids if len(token) > 1)
    sections["byte_ids"] = pack_numbers(ids[token] for token in byte_tokens)
    single = {ord(token): number for token, number in ids.items() if len(token) == 1} | {ord(" "): ids[MARK]}
    sections["characters"] = pack_numbers(sorted(single)) + pack_numbers(single[code] for code in sorted(single))
    sections["beside"], sections["beside_bits"] = beside({_as_in_text(left + right) for left, right in pairs})
    tokens = {token["content"]: token["id"] for token in content["added_tokens"] if not token["special"]}
    sections["added"], sections["added_ids"] = added(tokens)
    sections |= token_bytes({number: decode_sentencepiece(token) for token, number in ids.items()} | {
        number: token.encode() for token, number in tokens.items() if token not in ids
    })
    assert not any(token[flag] for token in content["added_tokens"]
                   for flag in ("single_word", "lstrip", "rstrip", "normalized"))
    specials = {token["content"]: token["id"] for token in content["added_tokens"] if token["special"]}
    template = content["post_processor"]["single"]
    return Header("between_characters", specials, sum("SpecialToken" in step for step in template)), sections


def _as_in_text(token: str) -> str:
    """For a single U+2581 of a text the same holds as for a blank."""
    return token.replace(MARK, " ")


def beside(tokens: set[str]) -> tuple[bytes, bytes]:
    """Which characters stand side by side in a token: bits of ASCII pairs, and of hashes of the others."""
    ascii_bits, bits = bytearray(128 * 128 // 8), bytearray(1 << BESIDE_BITS - 3)
    for first, second in {pair for token in tokens for pair in pairwise(token)}:
        assert first == second or not {first, second} & {"\n", "\t"}
        if (first + second).isascii():
            ascii_bits[ord(first) << 4 | ord(second) >> 3] |= 1 << (ord(second) & 7)
        else:
            bit = hash_pair(ord(first), ord(second))
            bits[bit >> 3] |= 1 << (bit & 7)
    return bytes(ascii_bits), bytes(bits)


def added(tokens: dict[str, int]) -> tuple[bytes, bytes]:
    """Those that begin in < or [, and their ids. All the others are runs of one blank, of every length up to
    LONGEST_BLANK, but that a single U+2581 is none; their ids follow, of each blank from length 0 on."""
    tags = sorted(token for token in tokens if re.fullmatch(r"<[!-;=?-~]+>|\[[!-Z^-~]+\]", token))
    runs = [blank * length for blank in "\n\t\u2581" for length in range(LONGEST_BLANK + 1)]
    assert {*tokens} == {*tags, *runs} - {"", MARK}
    assert all(token.isascii() and len(token) < ADDED_BYTES for token in tags)
    entries = b"".join(token.encode().ljust(ADDED_BYTES, b"\0") for token in tags)
    return entries, pack_numbers(tokens.get(token, 0) for token in [*tags, *runs])


def token_bytes(tokens: dict[int, bytes]) -> SECTIONS:
    """What the ids 0, 1, 2, ... stand for: how many bytes, and the bytes."""
    assert sorted(tokens) == [*range(len(tokens))]
    every = [tokens[number] for number in range(len(tokens))]
    return {"token_sizes": struct.pack(f"<{len(every)}H", *map(len, every)), "token_bytes": b"".join(every)}


DERIVED: dict[str, tuple[str, Callable[[dict[str, Any]], tuple[Header, SECTIONS]]]] = {
    "claude-words": ("claude", gpt2),
    "gemma3-words": ("gemma3", characters),
}
"""Row of the manifest -> the row it is derived from, and how."""


def derive(name: str) -> bytes:
    source, make = DERIVED[name]
    return pack(*make(json.loads(read_verified(source))))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    kinds = tiktoken_kinds()
    wrong = int(not KINDS_FILE.exists() or gzip.decompress(KINDS_FILE.read_bytes()) != kinds)
    print(f"{'WRONG' if wrong else 'ok':5}  {KINDS_FILE.name}")
    if not options.check:
        KINDS_FILE.write_bytes(gzip.compress(kinds, 9, mtime=0))
    for name in DERIVED:
        content = derive(name)
        sha256, row = hashlib.sha256(content).hexdigest(), shipped_files().get(name)
        is_right = row is not None and (row.sha256, row.size) == (sha256, len(content))
        print(f"{'ok' if is_right else 'WRONG':5}  {name}  sha256 {sha256}  bytes {len(content)}")
        wrong += not is_right
        if not options.check:
            (DATA / f"{name.removesuffix('-words')}.words.gz").write_bytes(gzip.compress(content, 9, mtime=0))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
