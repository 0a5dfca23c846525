"""The Claude tokenizers count as ctok does: the memo, the kernel and the slow twin, on texts of every kind."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from pydoc_data import topics

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scripts.fuzz_claude import Texts, catalogue_texts, counts
from service.errors import TokenizerUnavailable
from service.tokenizers import claude
from service.tokenizers.base import Tokenizer
from service.tokenizers.claude import tables
from service.tokenizers.claude.normalize import normalize, restore
from service.types import Edge
from tests.tokenizers.claude import reference, twin

TOKENIZERS = {name: claude.load(name) for name in claude.NAMES}

ATOMS = (
    "a", "B", "s", "ⓐ", "\u064b", "'", "-", "±", "\u0301", "²", "१", "\ufe0f", "٥", "5", "文", "😀",
    " ", "\n", "\t", "\u3000", "’", "\ufdd0", "\x00", "\u0730",
)
"""One or two of every kind of character, and of everything that normalization touches."""

SNIPPETS = (
    "'s", "'ll", "’ve", "'S", "STRAẞE", "İz", "Aİ", "ΑΒΓΔ", "Σίσυφος", "①②", "½ ", "\r\n", "\xa0", "ํ\x01า", "\ue000",
    "\ud800", "\ufdd4", "  ", "\n\n\n", "====", "-*-", "don't", "HELLO", "Hello", "hELLO", "s\u0301", "👩‍👧", "é's",
)
RUNS = ("=", "\n", " ", "\t", ".", "'", "½", "文", "a\u0301", "\ufe0f")

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_bytes())
"""Texts, and the content tokens that Anthropic's count_tokens declared for them in 2026 (public fixtures of ctok)."""

TEXTS = st.lists(
    st.one_of(
        st.sampled_from(ATOMS),
        st.sampled_from(SNIPPETS),
        st.characters(exclude_categories=()),
        st.text(max_size=8),
        st.builds(str.__mul__, st.sampled_from(RUNS), st.integers(1, 300)),
    ),
    max_size=12,
).map("".join)


def assert_as_ctok(text: str) -> None:
    for name, tokenizer in TOKENIZERS.items():
        expected = reference.count(name, text)
        assert dict(counts(tokenizer, text)) == {"memo": expected, "kernel": expected}, (name, text[:200])


def test_every_text_of_up_to_three_atoms_counts_as_ctok_and_as_the_twin() -> None:
    """Every rule looks at most two runs back, one run ahead and two characters past a run."""
    for length in range(4):
        for atoms in itertools.product(ATOMS, repeat=length):
            text = "".join(atoms)
            assert_as_ctok(text)
            for name in TOKENIZERS if length < 3 else ():
                assert TOKENIZERS[name].count(text) == twin.count(text, tables.FAMILIES[name]), (name, text)


def test_random_texts_count_as_ctok() -> None:
    texts, characters = Texts(20261129), 0
    while characters < 300_000:
        text = texts.text()
        characters += len(text)
        assert_as_ctok(text)


def test_random_texts_count_as_the_twin() -> None:
    texts = Texts(4)
    for text in filter(lambda text: len(text) < 400, (texts.text() for _ in range(300))):
        for name, tokenizer in TOKENIZERS.items():
            expected = twin.count(text, tables.FAMILIES[name])
            assert set(dict(counts(tokenizer, text)).values()) == {expected}, (name, text)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS)
def test_any_text_counts_as_ctok(text: str) -> None:
    assert_as_ctok(text)


def natural_texts() -> Iterator[str]:
    english = "\n".join(topics.topics.values())[:40_000]
    yield from (english[start : start + 2_000] for start in range(0, len(english), 2_000))
    yield from itertools.islice(catalogue_texts(40_000_000), 0, None, 197)


def test_natural_text_counts_as_ctok() -> None:
    texts = list(natural_texts())
    for text in texts:
        assert_as_ctok(text)
    print(f"{len(texts)} texts, {sum(map(len, texts))} characters, {len(texts) - 20} of the texts from catalogues")


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: ascii(row["text"][:20]))
def test_recorded_counts_of_the_provider(row: dict[str, object]) -> None:
    text, declared = row["text"], row["counts"]
    assert isinstance(text, str)
    assert isinstance(declared, dict)
    assert {name: TOKENIZERS[name].count(text) for name in declared} == declared


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS.filter(bool), st.sampled_from(("inside", "end")))
def test_edges_are_the_text_beside_a_letter(text: str, edge: Edge) -> None:
    left = "" if text[0].isalnum() else "a"
    right = "" if edge == "end" or text[-1].isalnum() else "a"
    for name, tokenizer in TOKENIZERS.items():
        whole = reference.count(name, left + text + right)
        assert tokenizer.count(text, edge) == whole - len(left) - len(right)


@pytest.mark.parametrize("name", claude.NAMES)
@pytest.mark.parametrize("edge", ["open", "inside", "end"])
def test_no_text_is_no_token(name: str, edge: Edge) -> None:
    assert TOKENIZERS[name].count("", edge) == 0
    assert TOKENIZERS[name].count_batch([], edge) == []
    assert TOKENIZERS[name].pieces("") == []


def test_a_batch_is_its_texts_in_order() -> None:
    texts = ["Hello", "", " there\n\n", "x " * 900, "안녕하세요"]
    for tokenizer in TOKENIZERS.values():
        for edge in ("open", "inside", "end"):
            assert tokenizer.count_batch(texts, edge) == [tokenizer.count(text, edge) for text in texts]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS)
def test_pieces_are_as_many_as_the_tokens_and_spell_the_normalized_text(text: str) -> None:
    for name, tokenizer in TOKENIZERS.items():
        pieces = tokenizer.pieces(text)
        assert len(pieces) == tokenizer.count(text)
        if pieces:
            assert b"".join(pieces).decode() == restore(normalize(text, tables.FAMILIES[name].fold_quotes))


def test_pieces_read_as_one_expects() -> None:
    pieces = TOKENIZERS["claude-v3"].pieces("Hello, World's 12345 漢!\n")
    assert pieces == [b"Hello", b",", b" World", b"'s", b" ", b"123", b"45", b" ", b"\xe6\xbc", b"\xa2", b"!\n"]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS.filter(bool), TEXTS)
def test_a_proved_cut_keeps_the_sum(left: str, right: str) -> None:
    right = "\n" + right
    for tokenizer in TOKENIZERS.values():
        if not tokenizer.can_cut(left, right):
            continue
        whole, end = left + right, tokenizer.count(right, "end")
        assert tokenizer.count(whole, "open") == tokenizer.count(left, "open") + end
        assert tokenizer.count(whole, "end") == tokenizer.count(left, "inside") + end
        assert tokenizer.count(whole, "inside") == tokenizer.count(left, "inside") + tokenizer.count(right, "inside")


def test_where_a_cut_is_proved() -> None:
    tokenizer = TOKENIZERS["claude-v3"]
    ends = ("a", "B", "5", ".", "}", "。", "文", "😀", "½", "é", "\ufe0f", "€")
    assert all(tokenizer.can_cut("text " + end, "\n\nHuman: hi") for end in ends)
    refused = (" ", "\n", "\t", "'", "’", "ⓐ", "\u064b", "\u0730", "\xa0", "\x01", "\ue000", "\ud800", "\ufdd0")
    assert not any(tokenizer.can_cut("text " + end, "\n\nHuman: hi") for end in refused)
    assert not tokenizer.can_cut("text", "more")
    assert not tokenizer.can_cut("", "\nmore")
    assert not tokenizer.can_cut("text", "")


def test_it_is_a_tokenizer_of_the_service() -> None:
    for name, tokenizer in TOKENIZERS.items():
        assert isinstance(tokenizer, Tokenizer)
        assert (tokenizer.name, tokenizer.engine, tokenizer.added_tokens, tokenizer.verified) == (name, "fast", 0, True)
    assert len({tokenizer.fingerprint for tokenizer in TOKENIZERS.values()}) == len(TOKENIZERS)
    assert all(int(tokenizer.fingerprint, 16) for tokenizer in TOKENIZERS.values())


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(TokenizerUnavailable, match=r"claude-v4\.7"):
        claude.load("claude-v9")


def test_importing_reads_nothing_and_counting_never_loads_ctok() -> None:
    program = (
        "import sys\n"
        "from service.tokenizers import claude\n"
        "from service.tokenizers.claude import tables, kernel\n"
        "assert 'wasmtime' not in sys.modules and tables.characters.cache_info().currsize == 0\n"
        "assert claude.load('claude-v3').count('Hello, world') == 3 and 'ctok' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
