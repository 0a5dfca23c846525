"""The catalog: 300 spellings, hostile names, who prices what, suggestions."""

from __future__ import annotations

import contextlib
import importlib.metadata
import threading
import time
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service import catalog
from service.catalog import Catalog, resolve
from service.catalog.listing import find_row, providers, version
from service.catalog.models import MAX_NAME
from service.errors import InvalidRequest, UnknownModel
from service.families import FAMILIES, find_family
from tests.catalog.table import SPELLINGS

CASES = [(spelling, model_id) for model_id, spellings in SPELLINGS.items() for spelling in spellings.split()]


def test_table_is_large_enough() -> None:
    assert len(CASES) + len(SPELLINGS) >= 300
    assert len({spelling for spelling, _ in CASES}) == len(CASES)


@pytest.mark.parametrize(("spelling", "model_id"), CASES)
def test_spelling(spelling: str, model_id: str) -> None:
    model = resolve(spelling)
    assert model.model_id == model_id
    assert model.model_ref == spelling
    assert model.family is find_family(model_id)


@pytest.mark.parametrize("model_id", SPELLINGS)
def test_canonical_id_is_its_own_spelling(model_id: str) -> None:
    model = resolve(model_id)
    assert model.model_id == model_id
    rules = {"known": "as-listed", "inferred": f"family:{model.family.name}"}
    assert model.rule == rules[model.match]


@pytest.mark.parametrize(("ref", "match", "rule"), [
    ("gpt-4o", "known", "as-listed"),
    ("gpt-5-2025-08-07", "known", "as-listed"),
    ("openai/gpt-4o", "alias", "openai/"),
    ("gpt-35-turbo", "alias", "gpt-version"),
    ("bedrock/us-east-2/us.anthropic.claude-3-haiku-20240307-v1:0", "alias", "bedrock/+bedrock-id+cloud-version"),
    ("ft:gpt-4o:org::id", "alias", "fine-tune"),
    ("gpt-5.9-nova", "inferred", "family:gpt-5-other"),
    ("openrouter/openai/gpt-9", "inferred", "openrouter/+openai/+family:gpt-5-other"),
    ("gpt-4o-my-evil", "inferred", "family:gpt-4o-other"),
    ("claude-haiku-4-5-evil", "inferred", "family:claude-4.5"),
])
def test_match_and_rule(ref: str, match: str, rule: str) -> None:
    model = resolve(ref)
    assert (model.match, model.rule) == (match, rule)


HOSTILE = [
    "my-8k-o1-bot", "not-gpt-4o", "xgpt-4o", "gpt", "claude", "o", "o1o3", "agpt-4", "mygpt-4o-bot",
    "bot-claude-3-opus", "my-deployment", "evil/gpt-4o/../../x", "openai//gpt-4o/", "gpt-4o/gpt-4o", "openai/",
    "bedrock/", "azure/", "models/", "models/a/b/gpt-4o", "publishers/google/models/", "ft:", "ft:::",
    "ft:nothing:org::id", "us.",
    "us.anthropic.", "anthropic.", "v1:0", "-v1:0", "@20250219", ":free", "gpt-4o:", "gpt-4o::::", "gpt-4o-", "gpt--4o",
    "*", ".*", "gpt-.*", "%s", "{}", "gpt 4o", "gpt-4o;drop table", "../../etc/passwd", "gpt-4o\\", "gpt-4o#",
    "gpt-4o?x=1",
    "arn:aws:bedrock:us-east-1:1:provisioned-model/abc", "tunedModels/my-model", "projects/p/locations/l/endpoints/123",
    "command-r-plus", "grok-4", "x-ai/grok-4", "amazon.nova-pro-v1:0", "us.amazon.nova-lite-v1:0",
    "command-a-plus-05-2026",
    "/".join(["openai"] * 30) + "/gpt-4o", "gpt4o" * 51, "-" * 256, "a/" * 128, "us." * 85, "claude-" * 36,
]


@pytest.mark.parametrize("ref", HOSTILE)
def test_hostile_name_matches_nothing(ref: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        resolve(ref)
    assert caught.value.field == "model"
    assert len(ref) < 8 or ref not in caught.value.message
    assert "tokenizer" in caught.value.message or "base model" in caught.value.message
    for suggestion in caught.value.suggestions:
        assert resolve(suggestion)


@pytest.mark.parametrize(
    "ref", ["", " gpt-4o", "gpt-4o ", "gpt-4o\n", "gpt\x00-4o", "ｇｐｔ-4o", "\u212aimi-k2", "x" * (MAX_NAME + 1)]
)
def test_name_that_no_model_can_have(ref: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        resolve(ref)
    assert caught.value.field == "model"


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=MAX_NAME + 10) | st.text(max_size=20))
def test_no_name_raises_anything_else(ref: str) -> None:
    try:
        model = resolve(ref)
    except (UnknownModel, InvalidRequest):
        return
    assert find_family(model.model_id) is not None


def test_rows_take_no_long_time_on_long_names() -> None:
    """A generous bound: catastrophic backtracking would take minutes."""
    seeds = [
        "gpt-4", "gpt-4o", "gpt-5", "claude-opus-4", "gemini-2.5", "llama-3", "o3", "qwen3", "us.", "a/", "-v1:0", ":x",
        "-2024-01-01", "-preview", "-1106", "azure/us/", "-mini", "ft:", "@",
    ]
    started = time.process_time()
    for head in seeds:
        for tail in seeds:
            name = (head + tail * MAX_NAME)[:MAX_NAME]
            for hostile in (name, name[:-1] + "!"):
                with contextlib.suppress(UnknownModel):
                    resolve(hostile)
    assert time.process_time() - started < 10


@pytest.mark.parametrize(("ref", "suggestion"), [
    ("gtp-4o", "gpt-4o"), ("gpt4o", "gpt-4o"), ("claude-sonet-4-5", "claude-sonnet-4-5"),
    ("gemni-2.5-flash", "gemini-2.5-flash"), ("cluade-opus-4-8", "claude-opus-4-8"),
    ("openai/gtp-4o-mini", "gpt-4o-mini"),
])
def test_the_closest_names_are_suggested_first(ref: str, suggestion: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        resolve(ref)
    assert suggestion in caught.value.suggestions[:2]


@pytest.mark.parametrize("ref", ["grok-4", "x-ai/grok-4.7", "amazon.nova-pro-v1:0"])
def test_unpublished_tokenizer_is_said(ref: str) -> None:
    with pytest.raises(UnknownModel, match="not public"):
        resolve(ref)


@pytest.mark.parametrize(("ref", "provider", "row", "inferred"), [
    ("gpt-4o", "openai", "gpt-4o", False),
    ("us.anthropic.claude-opus-4-8", "aws", "regional.anthropic.claude-opus-4-8-v1:0", False),
    ("global.anthropic.claude-opus-4-8", "aws", "global.anthropic.claude-opus-4-8-v1:0", False),
    ("vertex_ai/claude-sonnet-4-5@20250929", "google", "claude-sonnet-4-5", False),
    ("openrouter/meta-llama/llama-3.1-8b-instruct:free", "openrouter", "meta-llama/llama-3.1-8b-instruct:free", False),
    ("groq/openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b", False),
    ("azure/gpt-4o", "openai", "gpt-4o", True),
    ("zai-org/GLM-4.6", "zai", "GLM-4.6", True),
    ("ft:gpt-4o-mini-2024-07-18:acme::id", "openai", "ft:gpt-4o-mini", False),
])
def test_price_list_of_the_host_applies(ref: str, provider: str, row: str, inferred: bool) -> None:
    price = resolve(ref).price
    assert price is not None
    assert (price.provider_id, price.row_id, price.inferred) == (provider, row, inferred)


@pytest.mark.parametrize("ref", [
    "ft:gpt-4o:org::id",  # no row for this fine-tune: the base model's price would be wrong
    "gpt-5.9-nova",
    "ollama/llama3.1:8b", "mistral:7b", "deepinfra/meta-llama/Meta-Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.1-8B-Instruct",
])
def test_no_price_is_made_up(ref: str) -> None:
    assert resolve(ref).price is None


@pytest.mark.parametrize(("ref", "window", "max_input", "max_output"), [
    ("gpt-4o", 128_000, None, 16_384),
    ("gpt-4o-2024-05-13", 128_000, None, 4_096),
    ("gpt-4.1-mini", 1_047_576, None, 32_768),
    ("gpt-5", 400_000, 272_000, 128_000),
    ("gpt-5-chat-latest", 128_000, None, 16_384),
    ("gpt-6-astra", 1_050_000, 922_000, 128_000),
    ("claude-3-haiku", 200_000, None, 4_096),
    ("claude-sonnet-4-5", 200_000, None, 64_000),
    ("claude-sonnet-4-5[1m]", 1_000_000, None, 64_000),
    ("claude-opus-4-8", 1_000_000, None, 128_000),
    ("gemini-2.5-pro", 1_048_576, None, 65_536),
    ("gpt-5.9-nova", None, None, None),
    ("meta-llama/Llama-3.3-70B-Instruct", 131_072, None, None),
])
def test_limits(ref: str, window: int | None, max_input: int | None, max_output: int | None) -> None:
    limits = resolve(ref).limits
    assert (limits.window, limits.max_input, limits.max_output) == (window, max_input, max_output)


def test_dated_name_keeps_its_date_where_the_models_differ() -> None:
    assert resolve("gpt-4o-2024-08-06").model_id == "gpt-4o"
    assert resolve("gpt-4o-2024-05-13").model_id == "gpt-4o-2024-05-13"  # twice the price
    old, new = resolve("claude-3-5-sonnet-20240620"), resolve("claude-3-5-sonnet-20241022")
    assert old.family is not new.family or old.model_id == new.model_id


def test_every_listed_model_of_a_family_resolves_and_every_family_can_be_named() -> None:
    models = list(Catalog().models())
    assert len(models) > 300
    assert [model.model_id for model in models if not model.family.match.fullmatch(model.model_id)] == []
    assert len({model.family.name for model in models}) > len(FAMILIES) // 2


def test_references_are_remembered() -> None:
    assert resolve("openai/gpt-4o") is resolve("openai/gpt-4o")
    assert catalog.current().resolve("gpt-4o") is resolve("gpt-4o")


def test_price_lists_are_the_bundled_ones_and_no_updater_runs() -> None:
    from genai_prices import data_snapshot

    resolve("gpt-4o")
    assert data_snapshot._custom_snapshot is None
    assert not [thread.name for thread in threading.enumerate() if "price" in thread.name.lower()]
    assert version() == importlib.metadata.version("genai-prices")


def test_exact_row_wins_over_an_earlier_wide_one() -> None:
    """A row written for exactly a name is taken even where a wider row stands before it."""
    for provider in ("openai", "anthropic", "google"):
        for info in providers()[provider].models:
            row = find_row(provider, info.id.lower())
            assert row is not None
            assert (row.row_id, row.inferred) == (info.id, False)


def test_dated_prices_are_those_of_their_day() -> None:
    row = resolve("gemini-3.8-flash").price
    assert row is not None
    before, after = (row.info.get_prices(datetime(year, 1, 1, tzinfo=UTC)) for year in (2026, 2027))
    assert (before.input_mtok, after.input_mtok) == (Decimal("0.75"), Decimal("1.5"))
