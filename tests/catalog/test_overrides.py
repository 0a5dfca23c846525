"""A user's catalog file: aliases, own models, changed limits and prices; taken whole or not at all."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from service import catalog
from service.catalog import Catalog, CatalogFileError, resolve
from service.errors import UnknownModel
from service.pricing import quote, quote_input
from service.usage import Usage

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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "catalog.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_alias_is_a_whole_name_in_any_case(file: Path) -> None:
    mine = Catalog(file)
    model = mine.resolve("our-CHAT")
    assert (model.model_id, model.model_ref, model.match, model.rule) == ("gpt-4o", "our-CHAT", "alias", "catalog-file")
    with pytest.raises(UnknownModel) as caught:
        mine.resolve("our-chat-2")
    assert "our-chat" in caught.value.near


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
    assert quote_input(mine.resolve("openai/gpt-4o-2024-08-06"), 1_000_000).total == Decimal("2.25")
    assert mine.resolve("gpt-4o").max_output == resolve("gpt-4o").max_output
    assert (mine.resolve("gpt-4.1").window, mine.resolve("gpt-4.1").max_output) == (200_000, 32_768)
    assert quote_input(resolve("gpt-4o"), 1_000_000).total == Decimal("2.5")


def test_reload_takes_the_new_file(file: Path) -> None:
    mine = Catalog(file)
    before = mine.resolve("gpt-4o")
    file.write_text(FILE.replace("2.25", "1.00"), encoding="utf-8")
    assert quote_input(mine.resolve("gpt-4o"), 1_000_000).total == Decimal("2.25")
    mine.reload()
    assert quote_input(mine.resolve("gpt-4o"), 1_000_000).total == Decimal("1.00")
    assert quote_input(before, 1_000_000).total == Decimal("2.25")


def test_broken_file_changes_nothing(file: Path) -> None:
    mine = Catalog(file)
    file.write_text(FILE + '\n[models."x"]\nlike = "no-such-model"\n', encoding="utf-8")
    with pytest.raises(CatalogFileError, match="x"):
        mine.reload()
    assert mine.resolve("our-chat").model_id == "gpt-4o"


@pytest.mark.parametrize(("text", "place"), [
    ("[aliases", "TOML"),
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


def test_process_catalog_can_be_given_a_file(file: Path) -> None:
    try:
        catalog.use_file(file)
        assert resolve("our-chat").model_id == "gpt-4o"
        assert catalog.current().file == file
    finally:
        catalog.use_file(None)
    with pytest.raises(UnknownModel):
        resolve("our-chat")


def test_own_models_are_listed(file: Path) -> None:
    assert "acme-chat-1" in {model.model_id for model in Catalog(file).models()}
