"""Hypothesis strategies for texts that tokenizers get wrong."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

unhurried = settings(deadline=None)
"""Without a deadline: the first text that a tokenizer counts has to wait for its data to be loaded."""

ODD = (
    *"ab '\n\t\r1.\x00\x01\ufffd▁é\u0301\u00a0\u2003“”‘’ﬁ①½",
    *"가\u1100\u1161\u11a8ㄱㅏ中ｶﾞ\u0e4d\u0e32\u09c7\u09be\ue000\ufdd0👍🏽👩\u200d",
    "the", " lower", "토큰", "  ", "\n\n", "\r\n", "'s", "1234",
    "<b>", "<unused3>", "<bos>", "<EOT>", "<|endoftext|>", "</s>",
)


def odd_texts(max_size: int = 14) -> st.SearchStrategy[str]:
    """Short texts made of ODD, and any other texts without lone surrogates."""
    mixed = st.lists(st.sampled_from(ODD), max_size=max_size).map("".join)
    return st.one_of(mixed, st.text(st.characters(exclude_categories=["Cs"]), max_size=max_size))
