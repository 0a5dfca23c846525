from __future__ import annotations

from functools import cache

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidRequest
from service.tokenizers.data import read_verified
from service.tokenizers.patterns import RANK_PATTERNS
from service.tokenizers.reference.tiktoken import RankBpe, parse_ranks
from service.tokenizers.registry import get_tokenizer
from service.tokenizers.specs import TOKENIZERS
from tests.support.nasty_texts import BLANK_TEXTS, TEXTS
from tests.support.reference import compile_cuts, encode_by_ranks

NAMES = sorted(RANK_PATTERNS)
DATA = {row.name: str(row.data) for row in TOKENIZERS}


@cache
def read_ranks(name: str) -> dict[bytes, int]:
    return parse_ranks(read_verified(DATA[name]))


@cache
def reference(name: str) -> RankBpe:
    found = get_tokenizer(name, "reference")
    assert isinstance(found, RankBpe)
    return found


@cache
def eager_cutter(name: str) -> RankBpe:
    """The same engine, but it treats a run of three blanks as it treats one of 100,000."""
    pattern = RANK_PATTERNS[name]
    return RankBpe(name, "", read_ranks(name), pattern.regex, pattern.specials,
                   newlines_apart=pattern.newlines_apart, long_run=3)


@cache
def plain_tiktoken(name: str) -> tiktoken.Encoding:
    pattern = RANK_PATTERNS[name]
    return tiktoken.Encoding(name, pat_str=pattern.regex, mergeable_ranks=read_ranks(name),
                             special_tokens=dict(pattern.specials))


@pytest.mark.parametrize(("text", "name", "ids"), [
    ("오늘 부산의 날씨는", "cl100k_base",
     [58368, 15478, 246, 86503, 86157, 21028, 38295, 254, 168, 242, 101, 16969]),
    ("strawberry", "o200k_base", [302, 1618, 19772]),
    ("12345678", "o200k_base", [7633, 19354, 4388]),
    ("hello", "o200k_base", [24912]),
    (" hello", "o200k_base", [40617]),
    ("토큰", "gpt2", [169, 228, 254, 169, 223, 108]),
])
@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_known_ids(text: str, name: str, ids: list[int], engine: str) -> None:
    assert get_tokenizer(name, engine).encode(text) == ids


@pytest.mark.parametrize(("text", "name", "count"), [
    ("안녕하세요, 토크나이저입니다.", "gpt2", 38),
    ("안녕하세요, 토크나이저입니다.", "cl100k_base", 17),
    ("안녕하세요, 토크나이저입니다.", "o200k_base", 10),
    ("Hello, world! 안녕하세요.", "o200k_base", 7),
    ("Hello, world! 안녕하세요.", "cl100k_base", 9),
    ("Hello, world! 안녕하세요.", "p50k_base", 19),
    ("\ufeffhello", "o200k_base", 2),
    ("한글", "o200k_base", 2),
    ("\u1112\u1161\u11ab\u1100\u1173\u11af", "o200k_base", 18),
    ("👨‍👩‍👧‍👦", "o200k_base", 11),
    ("👨‍👩‍👧‍👦", "cl100k_base", 18),
    ("a\ud800b", "o200k_base", 3),
    ("", "o200k_base", 0),
])
@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_known_counts(text: str, name: str, count: int, engine: str) -> None:
    assert get_tokenizer(name, engine).count(text) == count


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "r50k_base"])
@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_it_equals_the_readable_twin(name: str, text: str) -> None:
    cuts = compile_cuts(RANK_PATTERNS[name].regex)
    assert reference(name).encode(text) == encode_by_ranks(text, cuts, read_ranks(name))


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "p50k_base"])
@settings(max_examples=300, deadline=None)
@given(text=st.one_of(BLANK_TEXTS, TEXTS))
def test_cutting_blank_runs_changes_nothing(name: str, text: str) -> None:
    assert eager_cutter(name).encode(text) == plain_tiktoken(name).encode_ordinary(text)


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "p50k_base"])
@pytest.mark.parametrize("around", [("", ""), ("x", "y"), ("!", "\n"), ("\n", "x"), ("x\n", "!")])
def test_cutting_real_long_runs_changes_nothing(name: str, around: tuple[str, str]) -> None:
    text = (" " * 150_000).join(around)
    assert reference(name).encode(text) == plain_tiktoken(name).encode_ordinary(text)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(text=TEXTS)
def test_decoding_gives_the_text_back(name: str, text: str) -> None:
    tokenizer = reference(name)
    ids = tokenizer.encode(text)
    assert tokenizer.decode_bytes(ids).decode() == text
    assert tokenizer.count(text) == len(ids)
    assert b"".join(tokenizer.pieces(text)).decode() == text
    assert len(tokenizer.pieces(text)) == len(ids)


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_special_tokens_are_text_unless_asked_for(engine: str) -> None:
    o200k, cl100k = get_tokenizer("o200k_base", engine), get_tokenizer("cl100k_base", engine)
    assert o200k.count("<|endoftext|>") == 7
    assert cl100k.count("<|endoftext|>") == 7
    assert o200k.encode("a<|endoftext|>b", parse_special=True) == [64, 199999, 65]
    assert cl100k.encode("<|fim_prefix|><|im_start|>", parse_special=True)[0] == 100258
    assert o200k.decode_bytes([199999]) == b"<|endoftext|>"


@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_parsing_special_tokens_is_tiktokens(text: str) -> None:
    original = plain_tiktoken("o200k_base").encode(text, allowed_special="all")
    assert reference("o200k_base").encode(text, parse_special=True) == original


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("unknown", [-1, 200_019, 2**31, 2**32, 2**70])
def test_an_id_outside_the_vocabulary_is_refused(engine: str, unknown: int) -> None:
    with pytest.raises(InvalidRequest) as refused:
        get_tokenizer("o200k_base", engine).decode_bytes([24912, unknown])
    assert refused.value.field == "ids"


def test_the_panic_that_the_cut_avoids_is_real() -> None:
    with pytest.raises(BaseException, match="StackOverflow"):
        plain_tiktoken("o200k_base").encode_ordinary(" " * 1_000_000)
    assert reference("o200k_base").count(" " * 1_500_000) == get_tokenizer("o200k_base").count(" " * 1_500_000)
