"""Make `service/tokenizers/nfkc_differences.json`: the code points on which two NFKC tables disagree.

The legacy Claude tokenizer normalises text to NFKC. The reference engine carries an older table of Unicode than the
fast engine; a text with one of these code points goes to the reference. Found by trying, not by versions:

* every code point, beside marks of the lowest and highest combining class: finds other decompositions and classes;
* every pair of code points of a block of 128, and with the common combining marks: finds new compositions.

    .venv/bin/python scripts/make_nfkc_differences.py            about ten minutes of work; writes the file
"""

from __future__ import annotations

import argparse
import json
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokenizers.normalizers import NFKC

from service.tokenizers.bpe_kernel.tokenizer import BpeTokenizer
from service.tokenizers.registry import get_tokenizer

TARGET = Path(__file__).resolve().parent.parent / "service" / "tokenizers" / "nfkc_differences.json"
MARKS = [chr(code) for code in range(0x300, 0x370)]
BLOCK = 128
LAST_SMALL_PLANE = 0x20000  # beyond are ideographs, tags and private use: none composes
REFERENCE = NFKC()
COUNTER = get_tokenizer("claude", "fast")
FAST = COUNTER.speller if isinstance(COUNTER, BpeTokenizer) else COUNTER


def fast_normal(text: str) -> str:
    """NFKC as the fast engine does it: what its ids decode to."""
    return str(FAST._core.decode(FAST._core.encode(text)))  # type: ignore[attr-defined]


def differs(text: str) -> bool:
    return bool(REFERENCE.normalize_str(text) != fast_normal(text))


def scalars(first: int, last: int) -> Iterator[str]:
    return (chr(code) for code in range(first, last) if not 0xD800 <= code < 0xE000)


def single_strays() -> Iterator[str]:
    for letter in scalars(0, sys.maxunicode + 1):
        if any(differs(probe) for probe in (f"x\u0345{letter}\u0334y", f"x\u0301{letter}y")):
            yield letter


def composed_pairs(pairs: list[str]) -> Iterator[str]:
    """Those of `pairs` that the fast engine changes, found by halving."""
    text = "x".join(pairs)
    if fast_normal(text) == text:
        return
    if len(pairs) == 1:
        yield pairs[0]
        return
    middle = len(pairs) // 2
    yield from composed_pairs(pairs[:middle])
    yield from composed_pairs(pairs[middle:])


def pair_strays() -> Iterator[str]:
    """The new members of compositions that only the fast engine knows, and what they compose to."""
    for start in range(0x500, LAST_SMALL_PLANE, BLOCK):
        steady = [letter for letter in scalars(start, start + BLOCK) if fast_normal(letter) == letter]
        pairs = [first + second for first in steady for second in steady + MARKS]
        for pair in composed_pairs(pairs) if pairs else ():
            if differs(pair):
                yield from (part for part in pair + fast_normal(pair) if is_new(part))


def is_new(letter: str) -> bool:
    """Not in Unicode 3.2, so surely not a mark that all scripts share."""
    return unicodedata.ucd_3_2_0.category(letter) == "Cn"


def ranges(codes: Iterable[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for code in sorted(codes):
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    strays = {ord(letter) for letter in single_strays()} | {ord(letter) for letter in pair_strays()}
    TARGET.write_text(json.dumps(ranges(strays)) + "\n", encoding="utf-8")
    print(f"{len(strays)} code points")


if __name__ == "__main__":
    main()
