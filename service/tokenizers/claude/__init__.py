"""Claude 3 and later, counted exactly as ctok counts them, without loading it.

ctok (MIT) reconstructed the tokenizers from the answers of Anthropic's count endpoint: the text is normalized, cut
into runs, and marked (⟨bow⟩ and ⟨eow⟩ around a word, ⟨shift⟩ and ⟨caps⟩ for its capitals; a single space between two
marked runs disappears). Then it is spelled with the fewest pieces of a vocabulary: a minimum tiling. ctok does this
over the whole text, in Python, at 0.4 MB/s. Here the text is priced unit by unit. Why this gives the same number:

1. If no piece holds the neighbours a and b, no piece of a tiling spans them, and min(xa|by) = min(xa) + min(by).
   Characters that no piece covers are priced one by one, so they never span a cut.
2. Over all pieces of both vocabularies (`scripts/claude_facts.py` asserts it, and refuses one that breaks it): nothing
   follows ⟨eow⟩; nothing precedes a case marker; only a case marker precedes ⟨bow⟩; word characters join only word
   characters; ASCII digits only digits, and every string of one to three digits is a piece and none is longer; a blank
   piece repeats one blank; lone characters (Han, Hangul, astral), variation selectors and Arabic-Indic digits join
   nothing; punctuation joins punctuation and the suffix of a contraction; other symbols and numbers join each other
   and punctuation on their right, but punctuation joins none of them on its right. So these are always cuts: after
   ⟨eow⟩, before [⟨shift⟩|⟨caps⟩]⟨bow⟩, around every run of digits, lone characters and blanks, and between punctuation
   and another symbol. n digits cost ceil(n/3), n spaces ceil(n/16).
3. The markers of a run depend on the run and on what touches it: a word always has its own (but for a contraction, and
   after stray marks, which are one word with it); punctuation, symbols and numbers take ⟨bow⟩ only from a space on
   their left and ⟨eow⟩ only from a single space on their right. So a unit needs to know only which of four contexts is
   on its left: nothing, a space that is counted, a space that vanishes if a ⟨bow⟩ follows, the frame (`units.py`).

Special cases that only fuzzing found: a word that ends in a circled letter blocks the contraction after it; a number
run that mixes decimal digits with others takes no ⟨bow⟩ of its own, so the frame's is tiled with it; a ⟨bow⟩ can make
a run of punctuation cheaper; a space before a newline still gives ⟨eow⟩ to what is on its left; the raw, not the
normalized, first character decides whether the frame absorbs a leading space; a capital may be priced by the bytes of
its small letter.

`memo.py` prices units in Python and remembers them (short texts, and all texts where the kernel cannot run);
`kernel.c` does the same in WebAssembly and releases the interpreter lock. Both are compared with ctok and with a slow
twin in the tests, and by `make fuzz`. Measured 2026-11-30 on 2 cores, `make bench PARTS=claude`, warm, MB/s of
English, Python code, Korean: kernel 124 / 131 / 194 (claude-v4.8), memo 21 / 20 / 11, tiktoken o200k_base 21 / 19 /
17; a short text 1.6 us; the worst 100 KB found 4.5 ms; two threads count 1.9 times as much as one.

Equality is with ctok, whose counts were Anthropic's on 4,136 of 4,143 recorded texts (1,372 of 1,372 for Claude 3 to
4.6, 1,420 of 1,420 for 4.7, 1,344 of 1,351 for 4.8 and later).
"""

from __future__ import annotations

from service.errors import TokenizerUnavailable
from service.tokenizers.claude.tables import FAMILIES
from service.tokenizers.claude.tokenizer import ClaudeTokenizer

NAMES = tuple(FAMILIES)


def load(name: str) -> ClaudeTokenizer:
    """A fresh tokenizer of one of NAMES; raises TokenizerUnavailable when its tables are damaged or unknown."""
    family = FAMILIES.get(name)
    if family is None:
        raise TokenizerUnavailable(f"no Claude tokenizer {name!r}; there are {', '.join(NAMES)}")
    return ClaudeTokenizer(family)
