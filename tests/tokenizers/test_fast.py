from __future__ import annotations

import json
import random
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.tokenizers.bpe_kernel.tokenizer import BpeTokenizer
from service.tokenizers.data import read_verified
from service.tokenizers.fast import CACHE_CHARACTERS, ChunkCache, SplintrTokenizer, without_special_tokens
from service.tokenizers.registry import get_tokenizer
from service.tokenizers.vocabulary import Vocabulary
from tests.support.nasty_texts import BLANK_TEXTS, TEXTS


def splintr(name: str) -> Vocabulary:
    """The engine of the ids, also where counts come from another one."""
    found = get_tokenizer(name, "fast")
    assert isinstance(found, Vocabulary)
    return found.speller if isinstance(found, BpeTokenizer) else found


NAMES = ["o200k_base", "o200k_harmony", "cl100k_base", "claude", "gemma3"]
ANY_TEXT = st.one_of(TEXTS, BLANK_TEXTS, st.text(st.characters(codec="utf-8")), st.text(st.characters(codec=None)))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=250, deadline=None)
@given(text=ANY_TEXT)
def test_it_equals_the_reference(name: str, text: str) -> None:
    fast, reference = splintr(name), get_tokenizer(name, "reference")
    ids = reference.encode(text)
    assert fast.encode(text) == ids
    assert fast.count(text) == reference.count(text) == len(ids)
    assert fast.pieces(text) == reference.pieces(text)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_special_tokens_are_parsed_as_the_reference_does(name: str, text: str) -> None:
    fast, reference = splintr(name), get_tokenizer(name, "reference")
    assert fast.encode(text, parse_special=True) == reference.encode(text, parse_special=True)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30, deadline=None)
@given(texts=st.lists(ANY_TEXT, max_size=8))
def test_a_batch_is_its_singles(name: str, texts: list[str]) -> None:
    for tokenizer in (splintr(name), get_tokenizer(name, "fast"), get_tokenizer(name, "reference")):
        assert tokenizer.count_batch(texts) == [tokenizer.count(text) for text in texts]


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(codec="utf-8")))
def test_decoding_gives_the_text_back(name: str, text: str) -> None:
    fast = get_tokenizer(name, "fast")
    assert fast.decode_bytes(fast.encode(text)).decode() == text


@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_legacy_claude_decodes_to_the_normalised_text(text: str) -> None:
    fast = splintr("claude")
    assert fast.decode_bytes(fast.encode(text)).decode() == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("name", NAMES)
def test_long_texts_take_the_other_call_and_count_the_same(name: str) -> None:
    fast, reference = splintr(name), get_tokenizer(name, "reference")
    line = "def f(x):\n\t\treturn  x['안녕'] + '🙂'  # comment\r\n\n\n" + "\n\t \n" * 500
    text = line * 12
    assert len(text) > 20_000
    assert fast.encode(text) == reference.encode(text)
    assert fast.count_batch([text, "", line]) == [reference.count(text), 0, reference.count(line)]


def test_splintrs_own_agent_tokens_never_match() -> None:
    for name in ("o200k_base", "cl100k_base"):
        assert get_tokenizer(name, "fast").count("<|think|><|system|>") > 8


def test_special_tokens_leave_the_json_and_the_rest_stays() -> None:
    content = read_verified("gemma3")
    plain, specials, added_tokens = without_special_tokens(content)
    before, after = json.loads(content), json.loads(plain)
    assert added_tokens == 1
    assert sorted(specials) == ["<bos>", "<end_of_image>", "<end_of_turn>", "<eos>", "<image_soft_token>", "<pad>",
                                "<start_of_image>", "<start_of_turn>", "<unk>"]
    assert after["added_tokens"] == [token for token in before["added_tokens"] if not token["special"]]
    assert after["post_processor"] is None
    assert after["model"] == before["model"]


def test_a_json_without_added_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="added tokens"):
        without_special_tokens(b"{}")


def test_long_words_do_not_pile_up_in_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.tokenizers.fast.CACHE_CHARACTERS", 1_600_000)
    fast = splintr("cl100k_base")
    assert isinstance(fast, SplintrTokenizer)
    fast._core.clear_cache()
    word = "".join(random.Random(7).choices("abcdef", k=100_000))
    for turn in range(20):
        fast.count("x" * turn + word)
    assert 0 < fast._core.cache_len <= 6  # of 20 distinct words of 100,000 letters


def test_the_cache_is_emptied_before_it_grows_without_bound() -> None:
    fast = splintr("o200k_base")
    assert isinstance(fast, SplintrTokenizer)
    cache = ChunkCache(fast._core)
    fast.count("some distinct words to remember")
    assert fast._core.cache_len > 0
    cache.feed(CACHE_CHARACTERS)
    assert fast._core.cache_len > 0
    cache.feed(1)
    assert fast._core.cache_len == 0
