"""Compare the Claude tokenizers with ctok on random texts, or on all the translations that this machine has.

    python -m scripts.fuzz_claude --seconds 60                # random texts; the seed is printed
    python -m scripts.fuzz_claude --seconds 60 --seed 7 --memo-bytes 12000     # a memory that is always full
    python -m scripts.fuzz_claude --natural 16                # megabytes of translation catalogues, many scripts

Both counters are asked, the memo and the kernel, each for every text; a tenth of the texts also stands inside a
document, and a tenth is split into pieces. ctok is right; the exit status is 1 if anything differs. Run it on a Python
of the tables' Unicode version (the first line says so).
"""

from __future__ import annotations

import argparse
import gettext
import random
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from pydoc_data import topics

import ctok

from scripts.make_claude_tables import GENERATIONS
from service.tokenizers.claude import tables
from service.tokenizers.claude.kernel import KernelPool
from service.tokenizers.claude.memo import MAX_BYTES, MemoCounter
from service.tokenizers.claude.tokenizer import ClaudeTokenizer

BLOCKS = (
    (0x21, 0x7E), (0xA0, 0x24F), (0x250, 0x2FF), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x530, 0x5FF),
    (0x600, 0x6FF), (0x700, 0x77F), (0x900, 0x97F), (0x980, 0xAFF), (0xB00, 0xD7F), (0xE00, 0xFFF), (0x1000, 0x13FF),
    (0x1100, 0x11FF), (0x16A0, 0x16FF), (0x1780, 0x18AF), (0x1C80, 0x1C8F), (0x1E00, 0x1FFF), (0x2000, 0x206F),
    (0x2070, 0x218F), (0x2190, 0x2BFF), (0x3000, 0x30FF), (0x3130, 0x32FF), (0x4E00, 0x5000), (0xA640, 0xA7FF),
    (0xAC00, 0xAD00), (0xD7A0, 0xD7FF), (0xD800, 0xDFFF), (0xE000, 0xE010), (0xF8F0, 0xF910), (0xFB00, 0xFDFF),
    (0xFE00, 0xFEFF), (0xFF00, 0xFFFF), (0x10000, 0x10100), (0x1D400, 0x1D7FF), (0x1F300, 0x1F9FF), (0x20000, 0x20100),
    (0xE0100, 0xE01EF),
)
BLANKS = (" ", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", "\r", "\u3000", "\xa0", "\u2028", "\u2003", "\x0b",
          "\x0c", "\0", "\x85", " \n", "\n ", "\t ", " \t", "\u3000 ", " \u3000")
CASED = "AÉΣςİẞϴℳɤⱭǅßibヲⅷⅧⒶⓐ\u1c89\u1c8a\ua7cb\u0264း"
ODD = ("ํา", "\u0e4d", "\u0e4d\x01\u0e32", "\u0e4d\ue000\u0e32", "\u0711", "\u0730", "\u0731", "\u05b0", "\u064b",
       "\u093e", "\u094d", "\u0cf3", "〇", "々", "、", "。", "？", "！", "（", "）", "·", "€", "№", "😀", "👍🏽", "❤️",
       "1️⃣", "👩‍👧", "⚖️'s", "—", "„", "\u200d", "\u200b", "\ufeff", "\xad", "\ufffd")
MARKER_GLYPHS = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ue000\ue001\ue003\ue004\uf8ff\ud800\udfff\ufe0f\ufe0e"
SUFFIXES = ("s", "t", "d", "m", "ll", "re", "ve", "S", "LL", "lls", "x", "sé", "s\u0301", "")


class Texts:
    """An endless supply of texts; the same seed gives the same texts."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._english = "\n".join(topics.topics.values())
        self._code = Path(argparse.__file__).read_text(encoding="utf-8")
        kinds = tables.characters().records
        self._of_kind = {
            kind: [chr(code) for code in range(0x10000) if kinds[code] & 15 == i] for i, kind in enumerate(tables.KINDS)
        }
        self._marks = [chr(c) for c in range(0x10000) if unicodedata.category(chr(c))[0] == "M"]
        self._atoms: tuple[tuple[float, Callable[[], str]], ...] = (
            (30, self._word), (15, self._blank), (10, self._punctuation), (0.03, self._very_long_run), (5, self._run),
            (7, self._apostrophe), (5, self._number), (6, lambda: self.random.choice(self._marks)),
            (3, lambda: self.random.choice(MARKER_GLYPHS)), (4, self._digits), (4, lambda: self.random.choice(ODD)),
            (5, self._char), (5, self._char_of_a_kind), (4, lambda: self.random.choice(("a", "A", "I", "1", " "))),
        )
        self._weights = [weight for weight, _ in self._atoms]

    def text(self) -> str:
        length = self.random.choice((1, 2, 3, 4, 5, 8, 12, 20, 40, 200))
        atoms = self.random.choices(self._atoms, self._weights, k=length)
        return "".join(make() for _, make in atoms)

    def _excerpt(self, source: str) -> str:
        start = self.random.randrange(len(source) - 30)
        return source[start : start + self.random.randint(1, 25)]

    def _char(self) -> str:
        return chr(self.random.randint(*self.random.choice(BLOCKS)))

    def _char_of_a_kind(self) -> str:
        return self.random.choice(self._of_kind[self.random.choice(tables.KINDS)])

    def _word(self) -> str:
        some = self.random
        shape = some.random()
        if shape < 0.35:
            return self._excerpt(self._english)
        if shape < 0.5:
            return self._excerpt(self._code)
        if shape < 0.65:
            word = "".join(some.choices("abcdefghijklmnopqrstuvwxyz", k=some.randint(1, 14)))
            return some.choice((word, word.title(), word.upper(), word[:2].upper() + word[2:]))
        if shape < 0.77:
            return "".join(some.choices(self._of_kind["W"], k=some.randint(1, 6)))
        if shape < 0.92:
            block = some.choice(BLOCKS)
            return "".join(chr(some.randint(*block)) for _ in range(some.randint(1, 8)))
        return "".join(some.choices(CASED, k=some.randint(1, 6)))

    def _blank(self) -> str:
        some = self.random
        if some.random() < 0.15:
            return some.choice(" \t\n") * some.randint(1, 140)
        return some.choice(BLANKS)

    def _punctuation(self) -> str:
        return "".join(self.random.choices("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", k=self.random.choice((1, 1, 2, 3, 6))))

    def _run(self) -> str:
        return self.random.choice("=-#*_~./·?") * self.random.choice((1, 2, 3, 4, 8, 16, 30, 64, 66, 100))

    def _very_long_run(self) -> str:
        return self.random.choice("=-*._/·#\n ") * self.random.randint(900, 5000)

    def _apostrophe(self) -> str:
        quote = self.random.choice(("'", "'", "’", "‘", "“", "”", "„", "`"))
        return quote + self.random.choice((*SUFFIXES, self._word()))

    def _number(self) -> str:
        numbers = self._of_kind["N"]
        tail = self.random.choice(("'s", "'", "'ve", "\ufe0f", self.random.choice(numbers), "", ""))
        return self.random.choice(numbers) * self.random.randint(1, 2) + tail

    def _digits(self) -> str:
        some = self.random
        return str(some.randint(0, 10 ** some.randint(1, 9))) if some.random() < 0.5 else some.choice("٠١۰5") * 2


def catalogue_texts(limit: int) -> Iterator[str]:
    """Texts of up to 3,000 characters from the translation catalogues (.mo) of this machine, `limit` bytes in all."""
    places = {Path(sys.base_prefix) / "share" / "locale", Path("/usr/share/locale"), *map(Path, sys.path)}
    seen: set[str] = set()
    for path in sorted(path for place in places if place.is_dir() for path in place.rglob("*.mo")):
        try:
            with path.open("rb") as file:
                catalogue = gettext.GNUTranslations(file)
        except (OSError, UnicodeDecodeError, ValueError, LookupError):
            continue
        strings = [value for value in getattr(catalogue, "_catalog").values() if value not in seen]  # noqa: B009
        seen.update(strings)
        joined = "\n".join(strings)
        for start in range(0, len(joined), 3_000):
            text = joined[start : start + 3_000]
            limit -= len(text.encode("utf-8", "replace"))
            yield text
            if limit <= 0:
                return


@dataclass
class Comparison:
    """Counts of what was compared. `check` prints the first differences."""

    memo_bytes: int = MAX_BYTES
    texts: int = 0
    characters: int = 0
    size: int = 0
    differences: int = 0
    tokenizers: dict[str, ClaudeTokenizer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for family in tables.FAMILIES.values():
            tokenizer = ClaudeTokenizer(family)
            tokenizer._memo = MemoCounter(family, self.memo_bytes)
            self.tokenizers[family.name] = tokenizer

    def check(self, text: str) -> None:
        self.texts += 1
        self.characters += len(text)
        self.size += len(text.encode("utf-8", "surrogatepass"))
        for name, tokenizer in self.tokenizers.items():
            reference, frame = GENERATIONS[name]
            expected = ctok.token_count(text, reference) - frame if text else 0
            for way, got in counts(tokenizer, text):
                self._compare(f"{name} {way}", text, got, expected)
            if text and self.texts % 10 == 0:
                self._check_inside(tokenizer, text, reference, frame)
            if self.texts % 10 == 1:
                self._compare(f"{name} pieces", text, len(tokenizer.pieces(text)), expected)

    def _check_inside(self, tokenizer: ClaudeTokenizer, text: str, reference: str, frame: int) -> None:
        left = "" if text[0].isalnum() else "a"
        for edge in ("inside", "end"):
            right = "" if edge == "end" or text[-1].isalnum() else "a"
            expected = ctok.token_count(left + text + right, reference) - frame - len(left) - len(right)
            self._compare(f"{tokenizer.name} {edge}", text, tokenizer.count(text, edge), expected)

    def _compare(self, what: str, text: str, got: int, expected: int) -> None:
        if got != expected:
            self.differences += 1
            if self.differences < 20:
                print(f"DIFFERENT {what}: {got}, ctok {expected}: {text[:300]!a}", flush=True)


def counts(tokenizer: ClaudeTokenizer, text: str) -> Iterator[tuple[str, int]]:
    """The count of the text by each counter that is there."""
    kernels: KernelPool | None = tokenizer._kernels
    try:
        tokenizer._kernels = None
        yield "memo", tokenizer.count(text)
        if kernels is not None:
            tokenizer._kernels, tokenizer.kernel_min_chars = kernels, 1
            yield "kernel", tokenizer.count(text)
    finally:
        tokenizer._kernels = kernels


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--natural", type=float, default=0, help="megabytes of catalogues, in place of random texts")
    parser.add_argument("--memo-bytes", type=int, default=MAX_BYTES)
    options = parser.parse_args()
    comparison = Comparison(options.memo_bytes)
    missing = {tokenizer.kernel_missing for tokenizer in comparison.tokenizers.values()}
    print(f"Unicode {unicodedata.unidata_version} here, {tables.characters().unicode} in the tables; kernel: "
          f"{'yes' if missing == {None} else missing}")
    if options.natural:
        source: Iterator[str] = catalogue_texts(int(options.natural * 1e6))
    else:
        seed = random.randrange(10**6) if options.seed is None else options.seed
        print(f"seed {seed}", flush=True)
        source = iter(Texts(seed).text, None)
    end = time.monotonic() + (options.seconds if not options.natural else 86_400)
    for text in source:
        comparison.check(text)
        if time.monotonic() > end:
            break
    print(f"{comparison.texts} texts, {comparison.characters} characters, {comparison.size / 1e6:.1f} MB, "
          f"{len(comparison.tokenizers)} families each: {comparison.differences} differences")
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main())
