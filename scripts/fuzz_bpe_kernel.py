"""Compare the BPE kernel with tiktoken and Hugging Face tokenizers on random texts.

    python -m scripts.fuzz_bpe_kernel --seconds 60                # random texts; the seed is printed
    python -m scripts.fuzz_bpe_kernel --natural 16                # megabytes of translation catalogues, many scripts
    python -m scripts.fuzz_bpe_kernel --every                     # every code point in SURROUNDINGS; two minutes

Every text is counted whole, and in blocks of 80 characters. The reference engine is right; the exit status is 1 if
anything differs.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator

from scripts.fuzz_claude import Texts, catalogue_texts
from service.tokenizers.base import Tokenizer
from service.tokenizers.bpe_kernel.kernel import KernelPool
from service.tokenizers.bpe_kernel.tables import BpeTables, make_rank_tables, unpack
from service.tokenizers.bpe_kernel.tokenizer import BpeTokenizer
from service.tokenizers.data import read_verified
from service.tokenizers.registry import Registry, get_tokenizer
from service.tokenizers.specs import RANK_SCHEMES
from service.tokenizers.vocabulary import Vocabulary

NAMES = ("claude", "gemma3", "o200k_base", "cl100k_base")
SMALL_BLOCK_CHARS = 80
LONG_WORDS = (
    "x", "ab", "aab", "qwzj", "ACGT", "-", "=-", " ", "\u3000", "\n ", "漢字仮名", "กขคงจ", "한", "\U0001f600",
    "\u0301", "\u0301\u0323",
)
"""Of these characters there are words of more symbols than the kernel merges at once, in order or at random."""
LONG_WORD_SHARE = 0.002
PARTS = (
    "<unused7>", "<unused6241>", "<unused>", "<b>", "</b>", "</table>", "<blockquote>", "<", ">", "> </", "<<b>>", "[",
    "[multimodal]", "<mask>", "<bos>", "<start_of_turn>", "\u2581", "\u2581\u2581", " \u2581", "\u2581 ", "<EOT>",
    "'s", "'ll", "'Re", "'\u017f", "'LL", "/\n/", "\r\n\r\n ", "ABC", "\u01c5", "\u02b0", "\u4e2dA", "123", "\u00b2",
    "\u2167", "\uff21", "\ufb01", "\u1100\u1161\u11a8", "e\u0301", "\u0301\u0323", "\uac00\u11a8", "\u3131",
)
SURROUNDINGS = ("a{0}b {0}{0}1{0}", "{0}\u0301{0} {0}\u11a8.{0}\uac00{0}\u3099")
"""A code point beside letters, digits, blanks and itself; before marks and jamo that may join it, after a syllable."""


class BpeTexts(Texts):
    """Those of the other fuzzer, with what matters to these vocabularies strewn in, and a few very long words."""

    def text(self) -> str:
        some = self.random
        if some.random() < LONG_WORD_SHARE:
            return self._long_word()
        text = super().text()
        for _ in range(some.choice((0, 1, 1, 2, 5))):
            at = some.randint(0, len(text))
            times = some.choice((1, 1, 1, 2, 3, 30, 31, 32, 33, 62, 63))
            text = text[:at] + some.choice(PARTS) * times + text[at:]
        return text

    def _long_word(self) -> str:
        some = self.random
        letters, length = some.choice(LONG_WORDS), some.randint(66_000, 140_000)
        if some.random() < 0.5:
            return "".join(some.choices(letters, k=length))
        return (letters * length)[:length]


def every_code_point() -> Iterator[str]:
    letters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    for around in SURROUNDINGS:
        for at in range(0, len(letters), 512):
            yield "\n".join(map(around.format, letters[at : at + 512]))


def compare(text: str) -> Iterator[str]:
    """A line for each count that is not the reference's."""
    for name, counter, in_blocks in COUNTERS:
        reference = get_tokenizer(name, "reference")
        assert isinstance(reference, Vocabulary)
        ids = reference.encode(text)
        expected = len(ids)
        whole = counter.kernels
        for way, kernels in (("whole", whole), ("in blocks", in_blocks)):
            counter.kernels = kernels
            counter._count_short.cache_clear()
            got = counter.count(text)
            if got != expected:
                yield f"DIFFERENT {name} {way}: {got}, reference {expected}: {text[:300]!a}"
            if counter.encode(text) != ids:
                yield f"DIFFERENT ids {name} {way}: {text[:300]!a}"
        counter.kernels = whole


def read_tables(name: str) -> BpeTables:
    if name in RANK_SCHEMES:
        return make_rank_tables(RANK_SCHEMES[name], read_verified(name), {})
    return unpack(read_verified(f"{name}-words"))


def _refuse() -> Tokenizer:
    raise RuntimeError("the kernel left a text to the reference")


def _counters() -> Iterator[tuple[str, BpeTokenizer, KernelPool]]:
    for name in NAMES:
        counter = Registry().get(name, "fast")
        assert isinstance(counter, BpeTokenizer)
        counter._reference = _refuse
        yield name, counter, KernelPool(read_tables(name), SMALL_BLOCK_CHARS)


COUNTERS = tuple(_counters())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--natural", type=float, default=0, help="megabytes of catalogues, in place of random texts")
    parser.add_argument("--every", action="store_true", help="every code point, in place of random texts")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed
    texts = iter(BpeTexts(seed).text, None)
    end = time.monotonic() + options.seconds
    if options.natural or options.every:
        texts = every_code_point() if options.every else catalogue_texts(int(options.natural * 1e6))
        end += 86_400
    print(f"seed {seed}", flush=True)
    compared = characters = differences = 0
    for text in texts:
        compared += 1
        characters += len(text)
        for line in compare(text):
            differences += 1
            if differences < 20:
                print(line, flush=True)
        if time.monotonic() > end:
            break
    print(f"{compared} texts, {characters} characters, {len(NAMES)} tokenizers each: {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
