from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.tokens import Offsets, Tokens, find_token_at, locate_tokens
from service.tokenizers.base import VocabularyTokenizer
from service.tokenizers.registry import get_tokenizer, tokenizer_names
from tests.support.hostile import HOSTILE
from tests.support.texts import odd_texts, unhurried

BYTE_LEVEL = (
    "o200k_base", "o200k_harmony", "cl100k_base", "p50k_base", "p50k_edit", "r50k_base", "gpt2",
    "llama3", "mistral_v3", "deepseek_v3", "glm4", "kimi", "phi4",
)


def spans(tokens: Tokens) -> list[tuple[bytes, int, int]]:
    return list(zip(tokens.pieces, tokens.starts, tokens.ends, strict=True))


def check_cover(tokens: Tokens) -> None:
    """In order, without a hole, from the first character to the last."""
    if not len(tokens):
        return
    assert (tokens.starts[0], tokens.ends[-1]) == (0, len(tokens.text))
    for number in range(1, len(tokens)):
        assert tokens.starts[number - 1] <= tokens.starts[number] <= tokens.ends[number - 1] <= tokens.ends[number]


# ---------------------------------------------------------------- places


def test_tokens_of_a_split_character_overlap_in_it() -> None:
    tokens = locate_tokens(get_tokenizer("o200k_base"), "안녕 🤖!")
    assert spans(tokens) == [
        ("안".encode(), 0, 1), ("녕".encode(), 1, 2), (b" \xf0\x9f\xa4", 2, 4), (b"\x96", 3, 4), (b"!", 4, 5),
    ]
    assert not tokens.altered


def test_a_changed_text_keeps_the_places_of_the_given_one() -> None:
    tokens = locate_tokens(get_tokenizer("claude"), "ﬁne e\u0301t\u00e9")
    assert b"".join(tokens.pieces).decode() == "fine été"
    assert tokens.altered
    assert spans(tokens)[0] == (b"fine", 0, 3)
    check_cover(tokens)


def test_tiling_has_pieces_without_ids_and_marks_without_bytes() -> None:
    tokens = locate_tokens(get_tokenizer("claude-v4.8"), "HTTP Server")
    assert tokens.ids is None
    assert (b"", 4, 4) in spans(tokens)
    check_cover(tokens)


def test_special_tokens_are_text_unless_asked_for() -> None:
    o200k = get_tokenizer("o200k_base")
    plain, parsed = (locate_tokens(o200k, "a<|endoftext|>", parse_special=ask) for ask in (False, True))
    assert not any(plain.is_special(number) for number in range(len(plain)))
    assert [parsed.is_special(number) for number in range(len(parsed))] == [False, True]
    assert spans(parsed) == [(b"a", 0, 1), (b"<|endoftext|>", 1, 14)]


@pytest.mark.parametrize("name", tokenizer_names())
@unhurried
@given(text=odd_texts())
def test_places_cover_the_text_and_the_tokens_are_those_that_are_counted(name: str, text: str) -> None:
    tokenizer = get_tokenizer(name)
    tokens = locate_tokens(tokenizer, text)
    assert len(tokens) == tokenizer.count(text)
    check_cover(tokens)


@pytest.mark.parametrize("name", BYTE_LEVEL)
@unhurried
@given(text=odd_texts())
def test_byte_level_tokens_are_the_text(name: str, text: str) -> None:
    tokenizer = get_tokenizer(name)
    assert isinstance(tokenizer, VocabularyTokenizer)
    tokens = locate_tokens(tokenizer, text)
    assert not tokens.altered
    assert tokenizer.decode_bytes(list(tokens.ids or ())) == b"".join(tokens.pieces) == text.encode()
    for piece, start, end in spans(tokens):
        assert piece.decode("utf-8", "ignore") in text[start:end]
        assert piece in text[start:end].encode()


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "claude", "gemma3"])
@unhurried
@given(text=odd_texts())
def test_both_engines_give_the_same_tokens(name: str, text: str) -> None:
    fast, reference = (locate_tokens(get_tokenizer(name, engine), text) for engine in ("fast", "reference"))
    assert (list(fast.ids or ()), spans(fast)) == (list(reference.ids or ()), spans(reference))


@pytest.mark.parametrize("name", ["claude-v3", "claude-v4.7", "claude-v4.8"])
@pytest.mark.parametrize("text", ["=" * 5_000, "x" + "-" * 3_333 + "y", "a" * 4_001, "#" * 2_100 + "=" * 2_100 + "\n"])
def test_long_runs_have_as_many_pieces_as_are_counted(name: str, text: str) -> None:
    tokenizer = get_tokenizer(name)
    tokens = locate_tokens(tokenizer, text)
    assert len(tokens) == tokenizer.count(text)
    assert b"".join(tokens.pieces).decode() == text


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("name", ["o200k_base", "claude", "claude-v3", "gemma3"])
def test_hostile_texts_are_covered_in_time(name: str, hostile: str) -> None:
    text = HOSTILE[hostile](100_000)
    tokenizer = get_tokenizer(name)
    began = time.process_time()
    tokens = locate_tokens(tokenizer, text)
    assert time.process_time() - began < 5
    assert len(tokens) == tokenizer.count(text)
    check_cover(tokens)


# ---------------------------------------------------------------- units, pages


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
def test_utf16_places_are_javascripts(text: str) -> None:
    offsets = Offsets(text, "utf16")
    for place in range(len(text) + 1):
        assert offsets.to_unit(place) == len(text[:place].encode("utf-16-le")) // 2
        assert offsets.to_code_point(offsets.to_unit(place)) == place
    assert [Offsets(text, "code_point").to_unit(place) for place in range(9)] == list(range(9))


def test_the_middle_of_a_surrogate_pair_is_its_character() -> None:
    offsets = Offsets("a🤖b", "utf16")
    assert [offsets.to_code_point(place) for place in range(5)] == [0, 1, 1, 2, 3]


@unhurried
@given(odd_texts())
def test_the_token_at_a_place_is_the_first_that_holds_it(text: str) -> None:
    tokens = locate_tokens(get_tokenizer("o200k_base"), text)
    for place in range(len(text)):
        holders = [n for n in range(len(tokens)) if tokens.starts[n] <= place < tokens.ends[n]]
        assert find_token_at(tokens, place) == holders[0]
    assert find_token_at(tokens, len(text) + 7) == max(0, len(tokens) - 1)
