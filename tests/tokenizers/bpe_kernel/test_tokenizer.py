"""The BPE kernel against tiktoken and Hugging Face tokenizers."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.normalizers import NFKC

from scripts.fuzz_bpe_kernel import LONG_WORDS, SURROUNDINGS, BpeTexts, compare, read_tables
from service.errors import TokenizerUnavailable
from service.tokenizers import wasm
from service.tokenizers.bpe_kernel.kernel import BLOCK_CHARS, MAX_KERNELS, KernelPool
from service.tokenizers.bpe_kernel.tokenizer import BpeTokenizer
from service.tokenizers.data import read_verified
from service.tokenizers.registry import Registry, get_tokenizer
from service.tokenizers.vocabulary import Vocabulary
from tests.support.nasty_texts import BLANK_TEXTS, TEXTS

NAMES = ["claude", "gemma3", "o200k_base", "cl100k_base"]
PROSE = "It's 42 o'clock; the WIRED foxes — 漢字 and ½ — don't care: 안녕하세요. <b>x</b>\n\n"
ANY_TEXT = st.one_of(TEXTS, BLANK_TEXTS, st.text(st.characters(codec="utf-8")), st.text(st.characters(codec=None)))


def counter(name: str) -> BpeTokenizer:
    found = get_tokenizer(name)
    assert isinstance(found, BpeTokenizer)
    return found


def vocabulary(name: str) -> Vocabulary:
    found = get_tokenizer(name, "reference")
    assert isinstance(found, Vocabulary)
    return found


def small_blocks(name: str, block_chars: int) -> KernelPool:
    return KernelPool(read_tables(name), block_chars)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=300, deadline=None)
@given(text=ANY_TEXT)
def test_it_counts_and_encodes_as_the_reference(name: str, text: str) -> None:
    reference = vocabulary(name)
    ids = reference.encode(text)
    assert counter(name).count(text) == len(ids)
    assert counter(name).encode(text) == ids
    assert counter(name).pieces(text) == reference.pieces(text)


@pytest.mark.parametrize("name", NAMES)
def test_ids_mean_what_they_mean_to_the_reference(name: str) -> None:
    tokenizer, reference = counter(name), vocabulary(name)
    known = [token for token in range(0, 300_000, 7) if reference._token_bytes(token) is not None]
    assert len(known) > 9_000
    for token in (*known, -1, 65_000, 100_256, 100_261, 199_998, 201_088, 262_143, 262_144, 2**32):
        assert tokenizer._token_bytes(token) == reference._token_bytes(token) or token in reference.specials.values()


@pytest.mark.parametrize("seed", range(4))
def test_texts_of_the_fuzzer_are_counted_as_by_the_reference_whole_and_in_blocks(seed: int) -> None:
    texts = BpeTexts(seed)
    for _ in range(150):
        assert list(compare(texts.text())) == []


def one_seed_of_code_points(seed: int) -> list[str]:
    """Every 16th, from another one on for another seed; all of them: `python -m scripts.fuzz_bpe_kernel --every`."""
    return [chr(code) for code in range(seed, sys.maxunicode + 1, 16) if not 0xD800 <= code < 0xE000]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("seed", "around"), [*enumerate(SURROUNDINGS)])
def test_code_points_are_counted_as_by_the_reference(name: str, seed: int, around: str) -> None:
    letters = one_seed_of_code_points(seed)
    texts = ["\n".join(map(around.format, letters[at : at + 1_024])) for at in range(0, len(letters), 1_024)]
    assert counter(name).count_batch(texts) == get_tokenizer(name, "reference").count_batch(texts)


@pytest.mark.parametrize("text", [
    "\u2581", "\u2581" * 2, "a\u2581b", " \u2581", "\u2581 ", "\u2581" * 31 + "x", "\u2581" * 32 + "x", "\u2581" * 33,
    "x" + "\u2581" * 63 + " y", "\u2581<b>\u2581", "\n" * 31, "\n" * 32, "\t" * 63, "\n\t\n", " \n ", "> </", "> <",
    "<b", "<b>", "<<b>>", "<unused0>", "<unused6241>", "<unused6242>", "<" * 40, "[multimodal]", "[multimodal", "[",
    "'\u017f", "x'\u017f", "'LL", "x'Ve", "/\n/", "!\r\n/a", " \n \n x", "\n\n ", "  \n", "\t\tx", "ABCdEF",
    "\u4e2dABC", "\u4e2dABCd", "\u0301ABC", "\u0301abc", " \u0301", "\u0301\u0301", "\u01c5a", "a\u01c5", "\u02b0A'S",
    "1234567", "\u00b2\u00bd1", "<bos>", "<start_of_turn>", "<pad>", "<mask>", "'s", "''s", " 's", "x'll've",
    "'S", "'l", "'", "\u2019s", "  x", "\r\n x",
])
@pytest.mark.parametrize("name", NAMES)
def test_places_where_it_is_cut_by_rule(name: str, text: str) -> None:
    for whole in (text, text + "a", "a" + text, f"x {text} y", text * 3):
        assert counter(name).count(whole) == get_tokenizer(name, "reference").count(whole)


@pytest.mark.parametrize("name", NAMES)
def test_a_long_text_is_counted_in_blocks_as_it_is_whole(name: str) -> None:
    text = PROSE * (3 * BLOCK_CHARS // len(PROSE))
    assert counter(name).count(text) == get_tokenizer(name, "reference").count(text)
    text = (PROSE + "e\u0323\u0301 \u1100\u1161\u11a8 \uff76\uff9e " + "a" + "\u0301" * 70 + "\u0323 ") * 5
    for block_chars in (1, 7, 64, 65, 100, 333):
        assert small_blocks(name, block_chars).count(text) == get_tokenizer(name, "reference").count(text)


@pytest.mark.parametrize("unit", ["x", "=", " ", "\n", "\u2581", "한", "<", "'s", "a1", "\U0001f600"])
@pytest.mark.parametrize("name", NAMES)
def test_long_runs_are_counted_as_by_the_reference(name: str, unit: str) -> None:
    for length in (29, 30, 31, 32, 33, 119, 120, 121, 122, 5_000, 70_000):
        text = unit * (length // len(unit))
        assert counter(name).count(text) == get_tokenizer(name, "reference").count(text)


@pytest.mark.parametrize("unit", ["x", " ", "<", "漢字仮名", "\n", "\u2581", "ab1 ", "e\u0301", "\u0301", "\uff21"])
@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_counts_a_very_long_text_itself_in_linear_time(name: str, unit: str) -> None:
    tokenizer = counter(name)

    def seconds(size: int) -> float:
        began = time.process_time()
        assert tokenizer.kernels.count(unit * (size // len(unit))) is not None
        return time.process_time() - began

    seconds(100_000)
    assert seconds(1_600_000) < 60 * max(seconds(100_000), 0.01)  # 256 times if it were quadratic


@pytest.mark.parametrize("letters", LONG_WORDS[::2])
@pytest.mark.parametrize("name", NAMES)
def test_words_that_are_merged_in_windows_have_the_ids_of_the_reference(name: str, letters: str) -> None:
    some = random.Random(11)
    for text in ((letters * 150_000)[:150_000], "".join(some.choices(letters, k=140_000))):
        ids = vocabulary(name).encode(text)
        found = counter(name).kernels.encode(text)
        assert found is not None
        assert list(found) == ids
        assert counter(name).kernels.count(text) == len(ids)


def test_words_that_share_a_slot_do_not_share_a_count() -> None:
    """More different words than there are slots, twice, with the lengths at which the memory changes."""
    words = [f"{number:x}" * times for number in range(20_000) for times in (1, 3, 9)]
    text = "\n".join(words)
    for name in NAMES:
        expected = get_tokenizer(name, "reference").count(text)
        assert counter(name).count(text) == counter(name).count(text) == expected


def test_the_reference_is_loaded_for_what_the_kernel_leaves_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    fresh = registry.get("claude")
    assert isinstance(fresh, BpeTokenizer)
    fresh.count(PROSE)
    fresh.pieces(PROSE)
    assert not registry.is_loaded("claude", "reference")
    monkeypatch.setattr(fresh.kernels, "_run", lambda call, text: None)  # as without memory
    long = PROSE * 2_000
    assert fresh.count(long) == vocabulary("claude").count(long)
    assert fresh.encode(long) == vocabulary("claude").encode(long)
    assert registry.is_loaded("claude", "reference")


@pytest.mark.parametrize("name", [*NAMES, "o200k_harmony"])
@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_special_tokens_are_parsed_as_by_the_reference(name: str, text: str) -> None:
    assert counter(name).encode(text, parse_special=True) == vocabulary(name).encode(text, parse_special=True)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30, deadline=None)
@given(texts=st.lists(ANY_TEXT, max_size=8))
def test_a_batch_is_its_singles(name: str, texts: list[str]) -> None:
    for tokenizer in (counter(name), vocabulary(name)):
        assert tokenizer.count_batch(texts) == [tokenizer.count(text) for text in texts]


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "claude"])
@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(codec="utf-8")))
def test_decoding_gives_the_normal_text_back(name: str, text: str) -> None:
    normal = NFKC().normalize_str(text) if name == "claude" else text
    assert counter(name).decode_bytes(counter(name).encode(text)).decode() == normal


def test_parts_of_a_long_text_add_up() -> None:
    for name in NAMES:
        parts = counter(name).cut(PROSE * 500, 1_000)
        assert len(parts) > 10
        assert sum(map(counter(name).count, parts)) == counter(name).count(PROSE * 500)


def test_it_knows_the_special_tokens_of_the_json() -> None:
    for name in NAMES:
        reference = get_tokenizer(name, "reference")
        assert isinstance(reference, Vocabulary)
        assert counter(name).specials == reference.specials
        assert counter(name).added_tokens == reference.added_tokens


def test_without_wasmtime_the_reference_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    wasm.errors.cache_clear()
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    try:
        without = registry.get("claude")
    finally:
        wasm.errors.cache_clear()
    assert without.engine == "reference"
    assert without.count(PROSE * 50) == counter("claude").count(PROSE * 50)
    (state,) = registry.states()
    assert state.golden == "the fast engine of claude does not run here: wasmtime does not import"


def test_damaged_tables_are_refused() -> None:
    def read(name: str) -> bytes:
        if name.endswith("-words"):
            raise TokenizerUnavailable("changed")
        return read_verified(name)

    registry = Registry(read=read)
    with pytest.raises(TokenizerUnavailable):
        registry.get("claude", "fast")
    assert registry.get("claude").engine == "reference"


def in_threads(work: Callable[[int], Any], threads: int) -> list[Any]:
    found: list[Any] = [None] * threads

    def run(number: int) -> None:
        found[number] = work(number)

    started = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_threads_count_at_the_same_time_each_with_a_kernel_of_its_own(name: str) -> None:
    texts = [PROSE * 400 + "x" * number for number in range(8)]
    expected = [counter(name).count(text) for text in texts]
    found = in_threads(lambda number: [counter(name).count(texts[number]) for _ in range(5)], 8)
    assert found == [[count] * 5 for count in expected]
    assert counter(name).kernels.kernels <= MAX_KERNELS
