"""Which Claude a name is: both word orders, dates, `latest`, and names that no list has."""

from __future__ import annotations

import re

import pytest

from service import catalog
from service.families import find_family
from service.families.anthropic import FAMILIES
from service.families.anthropic_rules import AnthropicRules
from service.tokenizers.specs import TOKENIZERS


@pytest.mark.parametrize(
    ("name", "family", "tokenizer"),
    [
        ("claude-2.1", "claude-2", "claude"),
        ("claude-instant-1.2", "claude-2", "claude"),
        ("claude-3-haiku-20240307", "claude-3-haiku", "claude-v3"),
        ("claude-3-sonnet-20240229", "claude-3-sonnet", "claude-v3"),
        ("claude-3-opus-latest", "claude-3-opus", "claude-v3"),
        ("claude-3-5-sonnet-20240620", "claude-3.5-sonnet-june", "claude-v3"),
        ("claude-3-5-sonnet-20241022", "claude-3.5-sonnet-october", "claude-v3"),
        ("claude-3-5-sonnet-latest", "claude-3.5-sonnet-october", "claude-v3"),
        ("claude-3-5-haiku-20241022", "claude-3.5-haiku", "claude-v3"),
        ("claude-3-7-sonnet-20250219", "claude-3.7", "claude-v3"),
        ("claude-sonnet-4-20250514", "claude-4", "claude-v3"),
        ("claude-sonnet-4-0", "claude-4", "claude-v3"),
        ("claude-4-opus-20250514", "claude-4", "claude-v3"),
        ("claude-opus-4-1-20250805", "claude-4", "claude-v3"),
        ("claude-sonnet-4-5-20250929", "claude-4.5", "claude-v3"),
        ("claude-haiku-4.5", "claude-4.5", "claude-v3"),
        ("claude-4-5-haiku", "claude-4.5", "claude-v3"),
        ("claude-opus-4-5-20251101", "claude-4.5-opus", "claude-v3"),
        ("claude-opus-4-6", "claude-4.6", "claude-v3"),
        ("claude-opus-4-7", "claude-4.7", "claude-v4.7"),
        ("claude-opus-4-8", "claude-4.8", "claude-v4.8"),
        ("claude-sonnet-5", "claude-5-sonnet", "claude-v4.8"),
        ("claude-opus-5-20260601", "claude-5-opus", "claude-v4.8"),
        ("claude-mythos-5", "claude-5-fable", "claude-v4.8"),
        ("claude-fable-5-1", "claude-5.5", "claude-v4.8"),
        ("claude-5-5-opus", "claude-5.5", "claude-v4.8"),
        ("claude-haiku-5-5-20261001", "claude-5.5", "claude-v4.8"),
    ],
)
def test_known_names(name: str, family: str, tokenizer: str) -> None:
    row = find_family(name)
    assert row is not None
    assert (row.name, row.tokenizer, row.inferred) == (family, tokenizer, False)


@pytest.mark.parametrize(
    ("name", "tokenizer"),
    [
        ("claude-opus-6", "claude-v4.8"), ("claude-sonnet-5-9", "claude-v4.8"), ("claude-zephyr-7-1", "claude-v4.8"),
        ("claude-sonnet-4-7", "claude-v4.7"), ("claude-haiku-4-6", "claude-v3"), ("claude-haiku-3-7", "claude-v3"),
        ("claude-opus", "claude-v4.8"),
    ],
)
def test_names_of_no_list_are_inferred(name: str, tokenizer: str) -> None:
    row = find_family(name)
    assert row is not None
    assert (row.tokenizer, row.inferred) == (tokenizer, True)


@pytest.mark.parametrize("name", ["claude", "claudette-5", "my-claude-opus-4-8", "claude-", "claude-code", "opus-4-8"])
def test_other_names_are_none_of_ours(name: str) -> None:
    row = find_family(name)
    assert row is None or row.provider != "anthropic"


def test_every_listed_claude_has_a_row_that_is_not_guessed() -> None:
    from genai_prices.data import providers
    listed = [model.id for provider in providers if provider.id == "anthropic" for model in provider.models]
    assert len(listed) >= 20
    for name in listed:
        model = catalog.resolve(name)
        assert model.provider_id == "anthropic", name
        assert model.match != "inferred", name


def test_rows_are_whole() -> None:
    names = {row.name for row in TOKENIZERS}
    for row in FAMILIES:
        assert isinstance(row.rules, AnthropicRules)
        assert re.fullmatch(r"anthropic-[a-z0-9.-]+", row.rules.name)
        assert row.renderer == row.provider == "anthropic"
        assert row.tokenizer in names
        assert row.rules.prefix > 0
        assert row.rules.turn > 0
        assert row.rules.reply > 0


def test_a_rule_name_stands_for_one_set_of_constants() -> None:
    by_name: dict[str, AnthropicRules] = {}
    for row in FAMILIES:
        assert by_name.setdefault(row.rules.name, row.rules) is row.rules
