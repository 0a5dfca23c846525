"""The frozen tables hold what ctok holds, and a vocabulary that breaks a fact is refused."""

from __future__ import annotations

import gzip
import json
import unicodedata
from dataclasses import replace

import pytest
from ctok.engine import char_cost
from ctok.main import _model

from scripts import claude_facts as facts
from scripts import make_claude_tables as build
from service.errors import TokenizerUnavailable
from service.tokenizers.claude import tables
from service.tokenizers.claude.tables import BOW, CAPS, EOW, SHIFT
from tests.tokenizers.claude import reference, twin

VOCABULARIES = sorted(build.VOCABULARIES.items())


def test_the_classes_are_those_of_ctok_on_the_python_that_runs_this() -> None:
    frozen = tables.characters()
    if unicodedata.unidata_version in ("15.0.0", "15.1.0"):
        assert reference.difference() == ""
    if unicodedata.unidata_version == frozen.unicode:
        assert build.astral_alphanumerics() == frozen.astral_alphanumerics
    assert list(frozen.lower_pairs) == build.lower_pairs() or reference.difference()


@pytest.mark.parametrize(("name", "family"), VOCABULARIES)
def test_the_trie_holds_every_piece_of_the_vocabulary_and_no_other(name: str, family: str) -> None:
    pieces = {p for p in _model(family).vocab if len(p) > 1}
    assert twin.pieces_with_blanks(name) == pieces


@pytest.mark.parametrize(("name", "family"), VOCABULARIES)
def test_every_character_costs_alone_what_it_costs_in_ctok(name: str, family: str) -> None:
    model, words = _model(family), tables.vocabulary(name)
    skipped = {*map(ord, build.MARKERS), *range(0xD800, 0xE000), *range(0xE000, 0xE005)}
    codes = (*range(0x3000), *range(0x3000, 0x110000, 17), *map(ord, model.unit_pieces))
    wrong = [c for c in codes if c not in skipped and words.floor(chr(c)) != char_cost(model, chr(c))]
    assert wrong == []
    assert [words.floor(chr(0xE000 + i)) for i in range(5)] == [char_cost(model, chr(0xFDD0 + i)) for i in range(5)]


@pytest.mark.parametrize("name", sorted(tables.FAMILIES))
def test_the_families_have_ctoks_constants(name: str) -> None:
    family, model = tables.FAMILIES[name], _model(name.removeprefix("claude-"))
    assert build.VOCABULARIES[family.vocabulary] in ("v3", "v4.7")
    assert (family.fold_quotes, family.caps_from or None, family.frame_bow) == (
        model.fold_quotes, model.allcaps_min, model.frame_bow)
    assert build.GENERATIONS[name][1] == model.message_overhead


@pytest.mark.parametrize("family", ["v3", "v4.7"])
def test_both_vocabularies_keep_the_facts(family: str) -> None:
    facts.check_facts(_model(family).vocab)
    assert facts.long_runs(_model(family).vocab)["="] in ([64, 6], [16, 0])


@pytest.mark.parametrize("piece", [
    EOW + "a", "a" + SHIFT + BOW, "a" + BOW, CAPS + "a", BOW + "5", "文" + EOW,
    "a.", ".é", ".²", "5a", "1234", "文字", "\ufe0fa", "٣٤", " a", "\n ", " " * 17, "\t" * 17,
], ids=ascii)
def test_a_vocabulary_that_breaks_a_fact_is_refused(piece: str) -> None:
    with pytest.raises(facts.BrokenFact):
        facts.check_facts({*_model("v4.7").vocab, piece})


def test_a_missing_digit_piece_is_refused() -> None:
    with pytest.raises(facts.BrokenFact, match="digit"):
        facts.check_facts(_model("v4.7").vocab - {"042"})


def test_a_run_longer_than_its_own_piece_is_refused() -> None:
    with pytest.raises(facts.BrokenFact, match="longer run"):
        facts.long_runs({*_model("v4.7").vocab, "=" * 17 + ">"})


@pytest.mark.parametrize("lengths", [[1], [1, 2, 4], [1, 5, 8], [1, 7, 8], [1, 2, 3, 4, 6, 8, 9, 12, 15, 16]])
def test_from_where_on_a_ladder_repeats(lengths: list[int]) -> None:
    costs = [0]
    for n in range(1, 2_000):
        costs.append(1 + min(costs[n - k] for k in lengths if k <= n))
    longest, start = lengths[-1], facts.periodic_from(lengths)
    assert all(costs[n + longest] == costs[n] + 1 for n in range(start, 2_000 - longest))
    assert start == 0 or costs[start - 1 + longest] != costs[start - 1] + 1


def test_a_damaged_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytearray(gzip.decompress((build.DATA / "v4_7.bin.gz").read_bytes()))
    content[-9000] ^= 1
    monkeypatch.setattr(tables, "_read", lambda name: gzip.compress(bytes(content)))
    with pytest.raises(TokenizerUnavailable, match="damaged"):
        tables.vocabulary.__wrapped__("v4_7")


def test_the_fingerprint_follows_all_that_decides_a_count() -> None:
    family = tables.FAMILIES["claude-v3"]
    assert tables.fingerprint(family) == tables.fingerprint(replace(family))
    for change in ({"caps_from": 5}, {"fold_quotes": False}, {"frame_bow": False}, {"vocabulary": "v4_7"}):
        assert tables.fingerprint(replace(family, **change)) != tables.fingerprint(family)


def test_alphanumerics_end_where_their_ranges_do() -> None:
    """The ranges themselves are compared with str.isalnum above, on the Python that knows the same characters."""
    table = tables.characters()
    ranges = list(zip(table.astral_alphanumerics[::2], table.astral_alphanumerics[1::2], strict=True))
    assert len(ranges) > 200
    for first, last in ranges:
        inside = [table.is_alphanumeric(chr(code)) for code in (first - 1, first, last, last + 1)]
        assert inside == [False, True, True, False]
    assert [table.is_alphanumeric(char) for char in "a5²漢é \n'ⓐ\ud800\ue000"] == [True] * 5 + [False] * 6


def test_the_golden_counts_are_ctoks() -> None:
    if reference.difference():
        pytest.skip(reference.difference())
    assert json.loads(build.golden()) == json.loads((build.DATA / "golden.json").read_bytes())
