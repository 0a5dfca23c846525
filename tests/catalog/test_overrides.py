"""The operator's catalog file: aliases, own models, changed limits and prices. It is used as a whole or not at all."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from service import catalog
from service.catalog import Catalog, CatalogFileError, resolve
from service.errors import UnknownModel
from service.pricing.prices import price_input, quote
from service.pricing.usage import Usage

FILE = """
[aliases]
"Our-Chat" = "azure/gpt-4o"

[models."acme-chat-1"]
like = "llama-3.1-8b-instruct"
window = 32768
max_output = 4096
prices = { input = "0.20", output = "0.60", cache_read = 0.02 }

[models."gpt-4o"]
prices = { input = "2.25", output = 9 }

[models."gpt-4.1"]
window = 200000
"""


def input_usd(catalog_: Catalog, model_ref: str, tokens: int = 1_000_000) -> Decimal | None:
    priced = price_input(catalog_.resolve(model_ref), tokens)
    return priced and priced.usd


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "catalog.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_alias_is_a_whole_name_in_any_case(file: Path) -> None:
    mine = Catalog(file)
    model = mine.resolve("our-CHAT")
    assert (model.model_id, model.model_ref, model.match, model.rule) == ("gpt-4o", "our-CHAT", "alias", "own-alias")
    with pytest.raises(UnknownModel) as caught:
        mine.resolve("our-chat-2")
    assert "our-chat" in caught.value.suggestions


def test_own_model_is_counted_like_another_with_its_own_limits_and_prices(file: Path) -> None:
    model = Catalog(file).resolve("acme-chat-1")
    assert model.family is resolve("llama-3.1-8b-instruct").family
    assert (model.model_id, model.window, model.max_output) == ("acme-chat-1", 32768, 4096)
    quoted = quote(model, Usage({"input": 1_000_000, "cache_read": 1_000_000, "output": 1_000_000, "requests": 1}))
    assert quoted.total == Decimal("0.82")
    assert quoted.prices_version.startswith("catalog.toml@")


def test_bucket_without_a_price_stays_unknown(file: Path) -> None:
    quoted = quote(Catalog(file).resolve("gpt-4o"), Usage({"input": 10, "web_searches": 1}))
    assert (quoted.total, quoted.price_status, quoted.unpriced) == (None, "unknown", ("web_searches",))


def test_prices_and_limits_of_a_listed_model_change_and_nothing_else(file: Path) -> None:
    mine = Catalog(file)
    assert input_usd(mine, "openai/gpt-4o-2024-08-06") == Decimal("2.25")
    assert mine.resolve("gpt-4o").max_output == resolve("gpt-4o").max_output
    assert (mine.resolve("gpt-4.1").window, mine.resolve("gpt-4.1").max_output) == (200_000, 32_768)
    assert input_usd(Catalog(), "gpt-4o") == Decimal("2.5")


def test_catalog_keeps_what_it_read(file: Path) -> None:
    mine = Catalog(file)
    file.write_text(FILE.replace("2.25", "1.00"), encoding="utf-8")
    assert input_usd(mine, "gpt-4o") == Decimal("2.25")
    assert input_usd(Catalog(file), "gpt-4o") == Decimal("1.00")


def test_aliases_of_the_environment_come_before_those_of_the_file(file: Path) -> None:
    mine = Catalog(file, {"Our-Chat": "gpt-4.1", "prod-chat": "acme-chat-1"})
    assert (mine.resolve("our-chat").model_id, mine.resolve("our-chat").rule) == ("gpt-4.1", "own-alias")
    assert mine.resolve("PROD-chat").model_id == "acme-chat-1"
    assert Catalog(None, {"o": "gpt-4o"}).resolve("o").model_id == "gpt-4o"


@pytest.mark.parametrize("aliases", [{"prod-chat": "no-such-model"}, {"": "gpt-4o"}, {"prod-chat": ""}])
def test_mistaken_alias_of_the_environment_is_named(aliases: dict[str, str]) -> None:
    with pytest.raises(CatalogFileError, match="TALLYSTICK_ALIASES"):
        Catalog(None, aliases)


@pytest.mark.parametrize(("text", "place"), [
    ("[aliases", "TOML"),
    ("a = " + "[" * 100_000, "TOML"),
    ("aliases = 3", "aliases"),
    ("[aliases]\na = 3", "aliases.a"),
    ('[aliases]\na = "no-such-model"', "a"),
    ('[models."gpt-4o"]\nwindow = -1', "window"),
    ('[models."gpt-4o"]\nwindow = "big"', "window"),
    ('[models."gpt-4o"]\nwindow = true', "window"),
    ('[models."gpt-4o"]\nwindoww = 1', "windoww"),
    ('[models."gpt-4o"]\nshared_window = 1', "shared_window"),
    ('[models."gpt-4o"]\nprices = { input = "cheap" }', "prices.input"),
    ('[models."gpt-4o"]\nprices = { input = "-1" }', "prices.input"),
    ('[models."gpt-4o"]\nprices = { input = "NaN" }', "prices.input"),
    ('[models."gpt-4o"]\nprices = { inputs = "1" }', "prices.inputs"),
    ('[models]\n"gpt-4o" = 1', "gpt-4o"),
])
def test_mistake_is_named(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "catalog.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CatalogFileError) as caught:
        Catalog(path)
    assert str(path) in str(caught.value)
    assert place in str(caught.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogFileError, match="cannot be read"):
        Catalog(tmp_path / "nowhere.toml")


def test_process_uses_the_catalog_it_was_given(file: Path) -> None:
    try:
        catalog.use(Catalog(file))
        assert resolve("our-chat").model_id == "gpt-4o"
        assert catalog.current().file == file
    finally:
        catalog.use(Catalog())
    with pytest.raises(UnknownModel):
        resolve("our-chat")


def test_own_models_are_listed(file: Path) -> None:
    assert "acme-chat-1" in {model.model_id for model in Catalog(file).models()}
