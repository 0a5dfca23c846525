from __future__ import annotations

import ctok
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.tokenizers.reference.ctok import GENERATIONS
from service.tokenizers.registry import get_tokenizer
from tests.support.nasty_texts import TEXTS

NAMES = sorted(GENERATIONS)


@pytest.mark.parametrize(("name", "count"), [("claude-v3", 3), ("claude-v4.7", 4), ("claude-v4.8", 4)])
@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_known_counts(name: str, count: int, engine: str) -> None:
    assert get_tokenizer(name, engine).count("hello, world") == count


@pytest.mark.parametrize("name", NAMES)
def test_the_frame_is_what_ctok_adds_to_a_message(name: str) -> None:
    generation = GENERATIONS[name]
    tokens = ctok.tokenize("hello", generation.version)
    assert tokens.count("⟨pad⟩") == generation.frame
    assert get_tokenizer(name, "reference").count("hello") == len(tokens) - generation.frame


@pytest.mark.parametrize("name", NAMES)
def test_edges_differ_where_the_frame_would_absorb(name: str) -> None:
    reference = get_tokenizer(name, "reference")
    assert reference.count("word", "inside") == reference.count("word", "end") == reference.count("word")
    assert reference.count("\n", "open") == (0 if name == "claude-v4.8" else 1)
    assert reference.count("\n", "inside") == 1
    assert reference.count("\n", "end") == 0
    assert reference.count("x\n\n", "end") == reference.count("x")
    assert reference.count("x\n\n", "inside") == reference.count("x") + 1
    assert reference.count("", "inside") == 0


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(text=TEXTS, edge=st.sampled_from(("open", "inside", "end")))
def test_both_engines_agree(name: str, text: str, edge: str) -> None:
    assert get_tokenizer(name, "fast").count(text, edge) == get_tokenizer(name, "reference").count(text, edge)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_pieces_are_as_many_as_counted_and_join_to_the_normalized_text(name: str, text: str) -> None:
    reference = get_tokenizer(name, "reference")
    pieces = reference.pieces(text)
    assert len(pieces) == reference.count(text)
    if pieces:
        assert b"".join(pieces).decode() == ctok.normalize(text, GENERATIONS[name].version)
    assert b"".join(pieces) == b"".join(get_tokenizer(name, "fast").pieces(text))


@pytest.mark.parametrize("name", NAMES)
def test_a_lone_surrogate_counts_as_the_replacement_character(name: str) -> None:
    for engine in ("fast", "reference"):
        tokenizer = get_tokenizer(name, engine)
        assert tokenizer.count("a\ud800b") == tokenizer.count("a\ufffdb")
        assert tokenizer.pieces("a\ud800b") == tokenizer.pieces("a\ufffdb")
    assert get_tokenizer(name, "reference").count("\ud83d\ude42") == get_tokenizer(name).count("🙂")
