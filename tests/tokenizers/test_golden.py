from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from service.tokenizers.golden import (
    compute_answers,
    digest_ids,
    find_golden_answers,
    find_golden_mismatch,
    load_golden_file,
    load_golden_texts,
)
from service.tokenizers.registry import get_tokenizer
from service.tokenizers.specs import TOKENIZERS
from service.types import Edge

BOTH_ENGINES = [row.name for row in TOKENIZERS if row.reference and row.fast]


@pytest.mark.parametrize("name", BOTH_ENGINES)
def test_the_references_still_give_the_committed_answers(name: str) -> None:
    expected = find_golden_answers(name)
    assert expected is not None
    assert compute_answers(get_tokenizer(name, "reference"), load_golden_texts(), expected.confirmed_by) == expected


@pytest.mark.parametrize("name", sorted(load_golden_file()["answers"]))
def test_the_engine_in_use_passes(name: str) -> None:
    assert find_golden_mismatch(get_tokenizer(name)) is None


def test_the_corpus_holds_what_tokenizers_fail_on() -> None:
    text = "\n".join(load_golden_texts())
    for trap in ("🙂", "안녕", "e\u0301", "\r\n", "12345678901", "<|endoftext|>", "<bos>", "<b>", "\u3000"):
        assert trap in text
    assert " " * 1_000 in text
    assert "a" * 700 in text
    assert any(one.endswith("\n") for one in load_golden_texts())


def test_a_digest_depends_on_every_id_and_on_order() -> None:
    assert len({digest_ids(ids) for ids in ([], [1], [1, 2], [2, 1], [2**32 + 1])}) == 5


class Skewed:
    """A real tokenizer whose answers are one off for texts with Hangul."""

    def __init__(self, name: str) -> None:
        self._honest = get_tokenizer(name)
        self.name, self.fingerprint, self.engine = name, self._honest.fingerprint, self._honest.engine
        self.added_tokens, self.verified = 0, True

    def count(self, text: str, edge: Edge = "open") -> int:
        return self._honest.count(text, edge) + ("안" in text)

    def count_batch(self, texts: Sequence[str], edge: Edge = "open") -> list[int]:
        return [self.count(text, edge) for text in texts]

    def pieces(self, text: str) -> list[bytes]:
        return self._honest.pieces(text)


class Swapped(Skewed):
    """The right number of ids, but two of them changed places."""

    specials: Mapping[str, int] = {}

    def encode(self, text: str, *, parse_special: bool = False) -> list[int]:
        return self._honest.encode(text)[::-1]

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        return self._honest.decode_bytes(ids)


def test_a_wrong_count_is_found_and_the_reason_holds_no_text() -> None:
    reason = find_golden_mismatch(Skewed("claude-v4.8"))
    assert reason == "golden text 0 (open) has 15 tokens instead of 14"


def test_wrong_ids_are_found() -> None:
    assert find_golden_mismatch(Swapped("o200k_base")) == "golden text 0 has other ids"


def test_answers_for_other_data_do_not_count() -> None:
    tokenizer = Swapped("o200k_base")
    tokenizer.fingerprint = "00000000"
    assert find_golden_mismatch(tokenizer) == "golden answers are of revision 446a9538, the data is 00000000"


def test_a_tokenizer_without_golden_answers_has_no_mismatch() -> None:
    assert find_golden_answers("kimi") is None
    assert find_golden_mismatch(get_tokenizer("kimi")) is None
