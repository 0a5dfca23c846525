"""Published vocabularies counted word by word: OpenAI's o200k and cl100k, the legacy Claude's and Gemma 3's.

A count needs no ids. A text falls into words that are merged by themselves, most words of a text come again, and a
remembered word costs no merging at all. `kernel.c` does both in WebAssembly and releases the interpreter lock; for ids
it merges every word. The few texts that it leaves (a word of 64 K symbols, 10,000 characters in a row that may compose)
go to splintr, which is loaded for the first of them. Why a text may be counted word by word:

1. Three of the vocabularies cut a text by a pattern before they merge. `patterns.h` walks the patterns by hand, with
   what their back-tracking comes to written out; which class a character is of was asked of the engines themselves, for
   every code point.
2. Gemma merges whole texts, with U+2581 for a blank. But merging makes nothing but tokens of the merge list: if no such
   token holds the characters a and b side by side, no merge ever spans them, and the tokens of xa|by are those of xa
   and of by, whatever x and y are. Gemma's hold 33,695 pairs of neighbours, of all that Unicode has: letters join
   letters, but hardly ever digits or punctuation, and nothing but blanks and `>` joins a blank on its right. So it is
   cut between all other pairs: those of ASCII are a table of bits, the others bits by a hash, where two pairs that
   share a bit only cost a cut. A character that is no token becomes its bytes, which nothing joins.
3. Gemma's added tokens match in the text before anything is merged: tags such as `<unused7>` and `<b>`, and the
   longest runs, up to 31, of newlines, of tabs, or of U+2581 itself (but a single one is a blank).
4. The legacy Claude normalises to NFKC first. Nothing that NFKC does reaches over a character that it leaves alone, has
   combining class 0 and is never the second of a composition. The kernel replaces what becomes only such characters; a
   text with others goes back to `normalise.py`, where their stretches are normalised, each with the character before
   it, by Hugging Face's own tables.
5. OpenAI's merge by ranks, any two neighbours that are a token together, and take a word whole that is a token. The
   kernel reads the file of ranks as it is published, and looks tokens up by their bytes.

What is taken for granted of a vocabulary is asserted where its tables are made (`scripts/make_bpe_tables.py`). The
tests and `python -m scripts.fuzz_bpe_kernel` compare with tiktoken and Hugging Face tokenizers: all code points, random
texts, whole and in small blocks. `python -m benchmarks engines` measures it.
"""
