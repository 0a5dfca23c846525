"""No text kills or hangs a worker or takes quadratic time, with any tokenizer."""

from __future__ import annotations

import random
import time
from functools import cache

import pytest

from service.tokenizers.registry import get_tokenizer, tokenizer_names
from service.tokenizers.specs import TOKENIZERS
from tests.support.hostile import HOSTILE

MEGABYTE = 1_000_000

WHOLE_MEGABYTE = {"letters", "combining marks", "base64"}
"""Words without end. Other texts are a quarter of this size. That is still too much for a quadratic engine."""

SECONDS_A_MEGABYTE = 12
"""The limit of processor time. The slowest engine takes 0.9 s; a quadratic one took minutes until it was stopped."""

TWIN_BYTES = {"ctok": 12_000}
"""Size of the texts for a slow reference (ctok: 0.3 MB/s). Others get 100,000 bytes."""

SHARES_AN_ENGINE = {"o200k_harmony", "p50k_edit", "gpt2"}
"""Tokenizers with the same ranks and pattern as another one. They differ in special tokens alone."""


DISTINCT = [name for name in tokenizer_names() if name not in SHARES_AN_ENGINE]


@cache
def hostile_text(kind: str, size: int) -> str:
    return HOSTILE[kind](size)


@pytest.mark.parametrize("kind", sorted(HOSTILE))
@pytest.mark.parametrize("name", DISTINCT)
def test_it_is_counted_in_bounded_time(name: str, kind: str) -> None:
    size = MEGABYTE if kind in WHOLE_MEGABYTE else MEGABYTE // 4
    tokenizer, text = get_tokenizer(name), hostile_text(kind, size)
    start = time.process_time()
    count = tokenizer.count(text)
    assert time.process_time() - start < SECONDS_A_MEGABYTE * size / MEGABYTE
    assert 0 < count < 5 * len(text)


@pytest.mark.parametrize("name", DISTINCT)
def test_a_million_and_a_half_spaces(name: str) -> None:
    assert 0 < get_tokenizer(name).count(" " * 1_500_000) <= 1_500_000


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "r50k_base"])
def test_a_million_and_a_half_blanks_before_a_letter(name: str) -> None:
    reference = get_tokenizer(name, "reference")
    assert get_tokenizer(name).count("\t" * 1_500_000 + "x") == reference.count("\t" * 1_500_000 + "x")


@pytest.mark.parametrize("kind", sorted(HOSTILE))
@pytest.mark.parametrize("name", [row.name for row in TOKENIZERS if row.fast and row.reference])
def test_both_engines_count_it_alike(name: str, kind: str) -> None:
    package = next(row.reference_package for row in TOKENIZERS if row.name == name)
    text = hostile_text(kind, TWIN_BYTES.get(package, 100_000))
    assert get_tokenizer(name, "fast").count(text) == get_tokenizer(name, "reference").count(text)


@pytest.mark.parametrize("name", tokenizer_names())
def test_words_of_every_length_in_one_text(name: str) -> None:
    chance = random.Random(11)
    text = " ".join("x" * chance.randrange(1, 5_000) for _ in range(200))
    assert 0 < get_tokenizer(name).count(text) <= len(text)


@pytest.mark.parametrize("name", tokenizer_names())
def test_bytes_that_are_easily_mishandled(name: str) -> None:
    tokenizer = get_tokenizer(name)
    for text in ("\x00", "\x00" * 100, "\ufeff", "\ud800", "\udfff\ud800", "\r\n", "\r", "\uffff", "\U0010ffff"):
        assert tokenizer.count(text) >= 0
        assert tokenizer.count_batch([text, text]) == [tokenizer.count(text)] * 2
    assert tokenizer.count("a\ud800b") == tokenizer.count("a\ufffdb")
    assert tokenizer.count("\ufeffhello") >= tokenizer.count("hello")
