from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings

from service.errors import InvalidRequest
from service.tokenizers.data import read_verified
from service.tokenizers.registry import get_tokenizer
from tests.support.nasty_texts import BLANK_TEXTS, TEXTS
from tests.support.reference import MergeList


@cache
def twin(name: str) -> MergeList:
    return MergeList(read_verified(name))


@pytest.mark.parametrize(("text", "name", "count"), [
    ("Hello, world! 안녕하세요.", "claude", 12),
    ("Hello, world! 안녕하세요.", "gemma3", 6),
    ("<b>hi</b>", "gemma3", 3),
    ("a\ud800b", "gemma3", 3),
    ("a\ud800b", "claude", 3),
    ("", "gemma3", 0),
    ("", "claude", 0),
])
@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_known_counts(text: str, name: str, count: int, engine: str) -> None:
    assert get_tokenizer(name, engine).count(text) == count


@pytest.mark.parametrize("name", ["claude", "gemma3"])
@settings(max_examples=80, deadline=None)
@given(text=TEXTS)
def test_it_equals_the_readable_twin(name: str, text: str) -> None:
    assert get_tokenizer(name, "reference").encode(text) == twin(name).encode(text)


@settings(max_examples=80, deadline=None)
@given(text=BLANK_TEXTS)
def test_it_equals_the_readable_twin_on_blanks(text: str) -> None:
    assert get_tokenizer("gemma3", "reference").encode(text) == twin("gemma3").encode(text)


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_special_tokens_are_text_unless_asked_for(engine: str) -> None:
    gemma3, claude = get_tokenizer("gemma3", engine), get_tokenizer("claude", engine)
    assert gemma3.encode("<bos>a<end_of_turn>", parse_special=True) == [2, 236746, 106]
    assert gemma3.count("<bos>a<end_of_turn>") == 11
    assert claude.encode("<EOT>a<META>", parse_special=True) == [0, 69, 1]
    assert claude.count("<EOT>a<META>") > 3
    assert gemma3.decode_bytes([2]) == b"<bos>"


def test_gemma_gets_one_bos_and_claude_nothing() -> None:
    for engine in ("fast", "reference"):
        assert get_tokenizer("gemma3", engine).added_tokens == 1
        assert get_tokenizer("claude", engine).added_tokens == 0


@pytest.mark.parametrize("name", ["claude", "gemma3"])
@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("unknown", [-1, 262_145, 2**32, 2**70])
def test_an_id_outside_the_vocabulary_is_refused(name: str, engine: str, unknown: int) -> None:
    with pytest.raises(InvalidRequest) as refused:
        get_tokenizer(name, engine).decode_bytes([unknown])
    assert refused.value.field == "ids"


@pytest.mark.parametrize("engine", ["fast", "reference"])
@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_gemma_pieces_join_to_the_text_with_plain_blanks(engine: str, text: str) -> None:
    tokenizer = get_tokenizer("gemma3", engine)
    pieces = tokenizer.pieces(text)
    assert b"".join(pieces).decode() == text.replace("\u2581", " ")
    assert len(pieces) == tokenizer.count(text) == len(tokenizer.encode(text))
