"""Published vocabularies counted word by word: the legacy Claude's and Gemma 3's.

A count needs no ids. A text falls into words that are merged by themselves, most words of a text come again, and a
remembered word costs no merging at all. `kernel.c` does both in WebAssembly and releases the interpreter lock; ids come
from splintr, which is loaded when they are first asked for. Why a text may be counted word by word:

1. Merging makes nothing but tokens of the merge list. If no such token holds the characters a and b side by side, no
   merge ever spans them, and the tokens of xa|by are those of xa and of by, whatever x and y are.
2. Gemma merges whole texts, with U+2581 for a blank. Its tokens hold 33,695 pairs of neighbours, of all that Unicode
   has: letters join letters, but hardly ever digits or punctuation, and nothing but blanks and `>` joins a blank on its
   right. So it is cut between all other pairs: those of ASCII are a table of bits, the others bits by a hash, where two
   pairs that share a bit only cost a cut. A character that is no token becomes its bytes, which nothing joins.
3. Gemma's added tokens match in the text before anything is merged: tags such as `<unused7>` and `<b>`, and the
   longest runs, up to 31, of newlines, of tabs, or of U+2581 itself (but a single one is a blank).
4. The legacy Claude normalises to NFKC, cuts by GPT-2's pattern and merges bytes. Nothing that NFKC does reaches over
   a character that it leaves alone, has combining class 0 and is never the second of a composition. So only the
   stretches of other characters are normalised, each with the character before it, by Hugging Face's own tables.

What is taken for granted of a vocabulary is asserted where the tables are made (`scripts/make_word_tables.py`). The
tests compare with Hugging Face tokenizers, as does `make fuzz`.
"""
