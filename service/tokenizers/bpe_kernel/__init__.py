"""The fast engine of the published vocabularies: OpenAI's o200k and cl100k, the legacy Claude's and Gemma 3's.

`kernel.c`, compiled to WebAssembly, does all of it and releases the interpreter lock meanwhile. A text is cut into
words that are merged by themselves. Most words of a text come again, and a remembered word costs no merging at all.
Ids are not remembered: for them every word is merged. Why this gives the same tokens as the references:

1. Three of the vocabularies cut a text by a pattern before they merge. `patterns.h` walks the patterns by hand, with
   the results of their back-tracking written out. Which class a character belongs to was found by asking the engines
   themselves about every code point.
2. Gemma merges whole texts, with U+2581 in place of a space. But merging makes nothing but tokens of the merge list.
   If no such token holds the characters a and b side by side, no merge ever spans them, and the tokens of xa|by are
   those of xa and of by, whatever x and y are. Gemma's tokens hold 33,695 pairs of neighbours, of all that Unicode
   has: letters join letters, but hardly ever digits or punctuation, and nothing but spaces and `>` joins a space on
   its right. So a text is cut between all other pairs. Pairs of ASCII are a table of bits. Other pairs are bits found
   by a hash: two pairs that share a bit only cost a cut. A character that is no token becomes its bytes, which nothing
   joins.
3. Gemma's added tokens match in the text before anything is merged: tags such as `<unused7>` and `<b>`, and the
   longest runs, up to 31, of newlines, of tabs, or of U+2581 itself (but a single one is a space).
4. The legacy Claude normalizes to NFKC first, by the Unicode tables of Hugging Face tokenizers. `normalizing.h` does
   the same by tables that were found by asking them. A text is left as it is up to the first word with a character
   that NFKC may change, and normalized from there on. At the end of a block the last character that marks may still
   join waits for the next block.
5. OpenAI's vocabularies merge by ranks: any two neighbours that are a token together. They take a word whole that is a
   token. The kernel reads the file of ranks as it is published, and looks tokens up by their bytes.
6. A word of more than 65,536 symbols is merged in windows that overlap. Merges on two sides of a boundary do not
   influence each other until one spans it. So a row of tokens is the result of merging its bytes exactly if, for each
   two neighbours in it, merging the bytes of these two gives the two again. The tokens of a window have this property,
   hence so has a row that follows one window up to a token that the next window also makes, and the next window from
   there. The next window begins with such a token. Where it makes another one of it, the text goes to the reference;
   no such text is known.

Whatever this takes for granted of a vocabulary is asserted where its tables are made (`scripts/make_bpe_tables.py`).
The tests and `python -m scripts.fuzz_bpe_kernel` compare with tiktoken and Hugging Face tokenizers: all code points,
random texts, very long words, each whole and in small blocks. `python -m benchmarks engines` measures it.

Measured 2026-12-01 on 2 cores: 32 MB of one letter take 6 s and at most 90 MB of memory, which is given back; 32 MB of
combining marks take the legacy Claude 3 s and 350 MB.
"""
