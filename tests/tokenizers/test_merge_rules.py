from __future__ import annotations

import pytest

from service.tokenizers.bpe import merge
from service.tokenizers.merge_rules import Chunk, MergeRules, RankRules, find_rules
from service.tokenizers.patterns import RANK_PATTERNS

MERGING = (*RANK_PATTERNS, "claude", "gemma3")


def load_rules(name: str) -> MergeRules:
    rules = find_rules(name)
    assert rules is not None
    return rules


@pytest.mark.parametrize("name", ["claude-v3", "claude-v4.8", "llama3", "gemma4", "no such"])
def test_only_tokenizers_with_rules_at_hand_have_rules(name: str) -> None:
    assert find_rules(name) is None


@pytest.mark.parametrize("name", MERGING)
def test_pre_tokens_leave_nothing_out(name: str) -> None:
    text = "It's 12345  blanks\n\n\tand <b>토큰</b> ▁▁ 'S ?!\r\n"
    rules = load_rules(name)
    assert "".join(chunk.text for chunk in rules.chunks(rules.normalize(text))) == rules.normalize(text)


@pytest.mark.parametrize(
    ("name", "chunks"),
    [
        ("o200k_base", ["I'm", " Camel", "Case", " ", "123", "45", " 토큰화"]),
        ("cl100k_base", ["I", "'m", " CamelCase", " ", "123", "45", " 토큰화"]),
        ("gpt2", ["I", "'m", " CamelCase", " 12345", " 토큰화"]),
        ("claude", ["I", "'m", " CamelCase", " 12345", " 토큰화"]),
        ("gemma3", ["I'm CamelCase 12345 토큰화"]),
    ],
)
def test_each_vocabulary_has_its_own_pre_tokens(name: str, chunks: list[str]) -> None:
    assert [chunk.text for chunk in load_rules(name).chunks("I'm CamelCase 12345 토큰화")] == chunks


def test_gemma_takes_added_tokens_out_first_but_no_special_ones() -> None:
    assert [*load_rules("gemma3").chunks("a<b>c<bos>\n\n")] == [
        Chunk("a"), Chunk("<b>", (200, b"<b>")), Chunk("c<bos>"), Chunk("\n\n", (108, b"\n\n")),
    ]


def test_leaves_are_bytes_or_characters_or_the_bytes_of_an_unknown_character() -> None:
    assert [piece for _, piece in load_rules("o200k_base").leaves(" 토")] == [b" ", b"\xed", b"\x86", b"\xa0"]
    assert [piece for _, piece in load_rules("claude").leaves(" 토")] == [b" ", b"\xed", b"\x86", b"\xa0"]
    assert [piece for _, piece in load_rules("gemma3").leaves(" 토\U0001fae9")] == [
        b" ", "토".encode(), b"\xf0", b"\x9f", b"\xab", b"\xa9",
    ]


def ids(rules: MergeRules, text: str, *, other: bool = False) -> tuple[int, ...]:
    leaves = [symbol for symbol, _ in rules.leaves(text)]
    return merge(leaves, rules.other_rule if other else rules.rule).symbols


def test_ranks_are_ids_and_places_in_a_list_are_not() -> None:
    ranks, merges = load_rules("cl100k_base"), load_rules("claude")
    [(one, _), (other, _)] = ranks.leaves("st")
    assert ranks.rule(one, other) == (267, 267)
    [(one, _), (other, _)] = merges.leaves("in")
    assert merges.rule(one, other) == (2, 263)  # the third pair of the list, after two of blanks
    assert merges.rule(other, one) is None or merges.rule(other, one) != (2, 263)


def test_a_list_keeps_apart_what_ranks_join() -> None:
    """Gemma's list has the longest runs of blanks first, its ids the shortest: 36 are 31 and 5, or 16 and 20."""
    gemma = load_rules("gemma3")
    sizes = {token: len(piece) for count in range(1, 40) for token, piece in _spelled(gemma, " " * count)}
    assert [sizes[token] for token in ids(gemma, " " * 36)] == [31, 5]
    assert [sizes[token] for token in ids(gemma, " " * 36, other=True)] == [16, 20]


def _spelled(rules: MergeRules, text: str) -> list[tuple[int, str]]:
    found = ids(rules, text)
    return [(found[0], text)] if len(found) == 1 else []


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "gpt2"])
def test_a_list_made_of_openais_ranks_does_the_same(name: str) -> None:
    rules = load_rules(name)
    for word in (" lowest", "tokenization", " 토크나이저", "123", "    ", "antidisestablishmentarianism", "🤖🤖"):
        assert ids(rules, word) == ids(rules, word, other=True)


def test_a_list_made_of_ranks_lacks_pairs_that_ranks_merge() -> None:
    """bc comes before ab: by ranks below its own, abc is made of a and bc, and that is its one pair in a list."""
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 6, b"abc": 7}
    rules = RankRules(ranks, ".+")
    assert rules.other_rule(0, 3) == (7, 7)
    assert rules.other_rule(6, 2) is None
    assert rules.rule(6, 2) == (7, 7)
    assert rules.find_whole("abc") == 7
    assert rules.find_whole("ac") is None
