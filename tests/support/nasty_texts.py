"""Hypothesis strategies for texts of real requests, and for texts that tokenizers get wrong."""

from __future__ import annotations

import unicodedata

from hypothesis import strategies as st

FRAGMENTS = (
    " ", "  ", "    ", "\n", "\n\n", "\r\n", "\t", "\t\n ", "\u3000", "\u00a0", "\u2028", "\x1c", "\u200b",
    "\ufeff", "\x00", "'s", "'LL", "'ve", "\u2019s", "don't", "I'M", "hello", " hello", "Hello", "HELLO",
    "HelloWorld", "hello_world", "strawberry", "def f(x):\n    return x\n", '{"a": [1, 2.5]}', "<b>", "</b>",
    "<unused7>", "<|endoftext|>", "<|im_start|>", "<bos>", "<start_of_turn>", "<EOT>", "<META>", "<think>",
    "</think>", "[INST]", "<s>", "<0x41>", "\u2581", "\u2581\u2581", "안녕하세요", "한", "토큰", "中文", "日本語",
    "שלום", "नमस्ते", "สวัสดี", "Привет", "café", "cafe\u0301", "Å", "ﬁ", "㎏", "½", "Ⅷ", "٣٤٥", "१२", "🙂",
    "👩‍👩‍👧‍👦", "🇰🇷", "❤️", "\u0301", "\u0323\u0301", "\u0345", "1", "12", "1234567", "0x1F", "!!!", "...",
    "====", "----", "////", "/\n", "!\n\n", "https://example.com/a?b=c", "\ufffd", "\U0010ffff", "\ue000", "مرحبا",
)

STEADY = st.characters(codec="utf-8").filter(lambda letter: unicodedata.category(letter) != "Cn")
"""Characters that are assigned in the Unicode version of this Python. Engines with other versions agree on them."""


def _joined(pieces: st.SearchStrategy[str], most: int) -> st.SearchStrategy[str]:
    return st.lists(pieces, max_size=most).map("".join)


REPEATED = st.builds(lambda unit, times: unit * times, st.sampled_from(FRAGMENTS), st.integers(1, 40))

TEXTS = _joined(st.one_of(st.sampled_from(FRAGMENTS), REPEATED, st.text(STEADY, max_size=6)), 12)
"""Any mixture of these, without surrogates."""

BLANKS = st.text(st.sampled_from(" \t\n\r\u3000\u00a0\u2028"), max_size=60)
BLANK_TEXTS = _joined(st.one_of(BLANKS, st.sampled_from(("a", "!", "1", "中", "/", "<b>", "\u2581", ">", "</"))), 8)
"""Mostly long stretches of white space."""
