from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given

from service.text import explain as module
from service.text.explain import Explanation, PreToken, explain
from service.tokenizers import merge_rules
from service.tokenizers.merge_rules import RankRules
from service.tokenizers.registry import get_tokenizer
from tests.support.texts import odd_texts, unhurried

MERGING = (
    "o200k_base", "o200k_harmony", "cl100k_base", "p50k_base", "p50k_edit", "r50k_base", "gpt2", "claude", "gemma3",
)


def explained(name: str, text: str) -> Explanation:
    return explain(get_tokenizer(name), text)


def pre_tokens(name: str, text: str) -> tuple[PreToken, ...]:
    found = explained(name, text).pre_tokens
    assert found is not None
    return found


def rows(found: PreToken) -> list[list[bytes]]:
    """What the row is before the first merge, after the first, ... as the documentation says to step."""
    out = []
    for steps in range(len(found.nodes) - found.leaves + 1):
        so_far = found.nodes[: found.leaves + steps]
        children = {child for node in so_far[found.leaves :] for child in (node.left, node.right)}
        left = [node for number, node in enumerate(so_far) if number not in children]
        out.append([node.spelled for node in sorted(left, key=lambda node: node.start)])
    return out


def test_the_merges_of_a_word_in_rank_order() -> None:
    (found,) = pre_tokens("cl100k_base", " newest")
    assert rows(found) == [
        [b" ", b"n", b"e", b"w", b"e", b"s", b"t"],
        [b" ", b"n", b"e", b"w", b"e", b"st"],
        [b" n", b"e", b"w", b"e", b"st"],
        [b" n", b"ew", b"e", b"st"],
        [b" n", b"ew", b"est"],
        [b" new", b"est"],
        [b" newest"],
    ]
    ranks = [node.rank for node in found.nodes[found.leaves :]]
    assert ranks == [267, 308, 365, 478, 502, 24519]
    assert [node.id for node in found.nodes[found.leaves :]] == ranks  # by ranks, the rank is the id
    assert found.whole
    (found,) = pre_tokens("cl100k_base", "newest")
    assert (rows(found)[-1], found.whole) == ([b"new", b"est"], False)


def test_digits_go_by_three_and_a_leading_blank_goes_with_its_word() -> None:
    found = pre_tokens("o200k_base", "a 12345")
    assert [item.spelled for item in found] == [b"a", b" ", b"123", b"45"]
    assert [item.spelled for item in pre_tokens("gpt2", "a 12345")] == [b"a", b" 12345"]
    assert [item.spelled for item in pre_tokens("o200k_base", "x low low")] == [b"x", b" low", b" low"]


def test_hangul_begins_as_three_bytes_a_syllable() -> None:
    (found,) = pre_tokens("cl100k_base", "토큰")
    assert (found.leaves, found.start, found.end) == (6, 0, 2)
    assert rows(found)[0] == [b"\xed", b"\x86", b"\xa0", b"\xed", b"\x81", b"\xb0"]
    assert rows(found)[-1] == [b"\xed", b"\x86", b"\xa0\xed", b"\x81", b"\xb0"]  # one token over two syllables
    assert rows(*pre_tokens("o200k_base", "토큰"))[-1] == ["토".encode(), "큰".encode()]
    (found,) = pre_tokens("gemma3", "토큰")
    assert rows(found)[0] == ["토".encode(), "큰".encode()]


def test_a_merge_list_has_places_that_are_not_ids() -> None:
    (found,) = pre_tokens("claude", "in")
    assert [(node.id, node.rank) for node in found.nodes] == [(77, None), (82, None), (263, 2)]
    assert not found.whole
    assert found.other_rule is not None
    assert (found.other_rule.rule, found.other_rule.same) == ("ranks", True)


def test_the_two_kinds_of_rule_can_differ_on_one_vocabulary() -> None:
    (found,) = pre_tokens("gemma3", " " * 36)
    other = found.other_rule
    assert other is not None
    assert rows(found)[-1] == [b" " * 31, b" " * 5]
    assert (other.rule, other.same, [piece for _, piece in other.tokens]) == ("ranks", False, [b" " * 16, b" " * 20])


def test_added_tokens_are_taken_out_before_anything_is_merged() -> None:
    found = pre_tokens("gemma3", "x<b>y")
    assert [(item.spelled, item.added, item.ids) for item in found][1] == (b"<b>", True, [200])


def test_places_are_those_of_the_given_text() -> None:
    found = pre_tokens("claude", "ﬁne e\u0301t")
    assert [(item.spelled.decode(), item.start, item.end) for item in found] == [("fine", 0, 3), (" ét", 3, 7)]


def test_what_has_no_merges_says_so() -> None:
    tiling, bundled = explained("claude-v4.8", "Hello"), explained("llama3", "Hello")
    assert (tiling.algorithm, tiling.missing, tiling.pre_tokens) == ("tiling", "tiling", None)
    assert (tiling.tokens.ids, b"".join(tiling.tokens.pieces)) == (None, b"Hello")
    assert (bundled.algorithm, bundled.missing, bundled.pre_tokens) == ("bundled", "bundled", None)
    assert list(bundled.tokens.ids or ()) == [9906]


def test_steps_that_do_not_lead_to_the_engines_ids_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = RankRules({bytes([byte]): byte for byte in range(256)}, ".")
    monkeypatch.setattr(module, "find_rules", lambda name: wrong)
    found = explained("cl100k_base", "newest")
    assert (found.missing, found.pre_tokens, len(found.tokens)) == ("not_reproduced", None, 2)
    monkeypatch.setattr(module, "find_rules", lambda name: RankRules({b"n": 0}, "."))
    assert explained("cl100k_base", "newest").missing == "not_reproduced"


def test_a_token_that_no_merges_lead_to_is_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b" newest": 24519}
    monkeypatch.setattr(module, "find_rules", lambda name: RankRules(ranks, ".+"))
    (found,) = pre_tokens("cl100k_base", " newest")
    assert (found.ids, found.whole, len(found.nodes), found.nodes[-1].left) == ([24519], True, 8, None)


@pytest.mark.parametrize("name", MERGING)
@unhurried
@given(text=odd_texts())
def test_every_step_is_right_and_leads_to_the_ids_of_the_engine(name: str, text: str) -> None:
    found = explained(name, text)
    if found.missing:  # only for a character newer than the engine's tables; this interpreter does not know it either
        assert any(unicodedata.category(char) == "Cn" for char in text)
        return
    assert found.pre_tokens is not None
    assert [token for item in found.pre_tokens for token in item.ids] == list(found.tokens.ids or ())
    assert b"".join(item.spelled for item in found.pre_tokens) == b"".join(found.tokens.pieces)
    at = 0
    for item in found.pre_tokens:
        assert item.start <= at <= item.end
        at = item.end
        assert all(b"".join(row) == item.spelled for row in rows(item))
        assert [item.nodes[number].spelled for number in item.tokens] == rows(item)[-1]
        for node in item.nodes:
            assert item.spelled[node.start : node.end] == node.spelled
            if node.left is not None and node.right is not None:
                assert item.nodes[node.left].spelled + item.nodes[node.right].spelled == node.spelled
    assert at == len(text)


@pytest.mark.parametrize("unit", [" ", "=", "a", "ab", "가나다", "\U0001fae9", "e\u0301"])
@pytest.mark.parametrize("name", ["o200k_base", "claude", "gemma3"])
def test_the_longest_text_is_explained_in_time(name: str, unit: str) -> None:
    merge_rules.find_rules(name)
    tokenizer, text = get_tokenizer(name), unit * (2_000 // len(unit))
    began = time.process_time()
    found = explain(tokenizer, text)
    assert time.process_time() - began < 2
    assert found.missing is None
