"""Catalog and budgets of an operator: from settings into the service, and read again whole or not at all."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service import catalog
from service.catalog import Catalog, CatalogFileError
from service.cli.main import main
from service.cli.output import USAGE
from service.services import OperatorFiles
from service.settings import CatalogSettings
from tests.support.live import HTTP, running_server
from tests.support.web import client_of, make_app

CATALOG = """
[aliases]
"our-chat" = "gpt-4o"
[models."acme-1"]
like = "llama-3.1-8b-instruct"
window = 1000
prices = { input = "0.20" }
[budgets.ci]
limit_tokens = 100
"""

BUDGETS = """
[budgets.team-a]
limit_usd = "50"
"""


@pytest.fixture(autouse=True)
def _bundled_catalog() -> Iterator[None]:
    yield
    catalog.use(Catalog())


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    paths = {"catalog_file": tmp_path / "catalog.toml", "budgets_file": tmp_path / "budgets.toml"}
    paths["catalog_file"].write_text(CATALOG, encoding="utf-8")
    paths["budgets_file"].write_text(BUDGETS, encoding="utf-8")
    return paths


def open_files(**fields: Any) -> OperatorFiles:
    return OperatorFiles(CatalogSettings.model_construct(
        **{"catalog_file": None, "budgets_file": None, "aliases": {}, **fields}
    ))


def test_budgets_of_both_files_are_there(files: dict[str, Any]) -> None:
    assert set(open_files(**files).budgets) == {"ci", "team-a"}
    assert catalog.resolve("our-chat").model_id == "gpt-4o"


def test_without_files_the_bundled_catalog_stays_as_it_is() -> None:
    before = catalog.current()
    assert open_files().budgets == {}
    assert catalog.current() is before


def test_another_app_without_files_does_not_inherit_them(files: dict[str, Any]) -> None:
    open_files(**files, aliases={"prod": "gpt-4o"})
    open_files()
    assert (catalog.current().file, catalog.current().aliases) == (None, {})


def test_reload_is_all_or_nothing(files: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    opened = open_files(**files)
    files["catalog_file"].write_text('[aliases]\n"our-chat" = "gpt-4.1"\n', encoding="utf-8")
    files["budgets_file"].write_text("[budgets.team-a]\nlimit_usd = -1\n", encoding="utf-8")
    assert not opened.reload()
    assert catalog.resolve("our-chat").model_id == "gpt-4o"
    assert set(opened.budgets) == {"ci", "team-a"}
    assert "budgets.team-a.limit_usd" in str(caplog.records[-1].fields)  # type: ignore[attr-defined]
    files["budgets_file"].write_text("[budgets.team-b]\nlimit_usd = 1\n", encoding="utf-8")
    assert opened.reload()
    assert catalog.resolve("our-chat").model_id == "gpt-4.1"
    assert set(opened.budgets) == {"team-b"}
    files["catalog_file"].unlink()
    assert not opened.reload()
    assert catalog.resolve("our-chat").model_id == "gpt-4.1"


def test_environment_names_files_and_aliases(
    files: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TALLYSTICK_CATALOG_FILE", str(files["catalog_file"]))
    monkeypatch.setenv("TALLYSTICK_ALIASES", '{"prod-chat": "acme-1"}')
    settings = CatalogSettings()
    assert (settings.catalog_file, settings.aliases) == (files["catalog_file"], {"prod-chat": "acme-1"})
    OperatorFiles(settings)
    assert catalog.resolve("prod-chat").window == 1000
    for wrong in ("{", "[]", '{"a": 1}', "gpt-4o"):
        monkeypatch.setenv("TALLYSTICK_ALIASES", wrong)
        assert main(["serve", "--port", "0"]) == USAGE
        assert "TALLYSTICK_ALIASES" in capsys.readouterr().err
    for name in ("TALLYSTICK_ALIASES", "TALLYSTICK_CATALOG_FILE"):
        monkeypatch.setenv(name, "")
    assert (CatalogSettings().catalog_file, CatalogSettings().aliases) == (None, {})


@pytest.mark.parametrize(("settings", "said"), [
    ({"TALLYSTICK_CATALOG_FILE": "/nowhere/catalog.toml"}, "/nowhere/catalog.toml: cannot be read"),
    ({"TALLYSTICK_BUDGETS_FILE": "/nowhere/budgets.toml"}, "/nowhere/budgets.toml: cannot be read"),
    ({"TALLYSTICK_ALIASES": '{"prod": "no-such-model"}'}, "TALLYSTICK_ALIASES: prod: The model is not known"),
])
def test_a_service_that_cannot_use_them_does_not_start(
    settings: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert main(["serve", "--port", "0"]) == USAGE
    assert said in capsys.readouterr().err


async def test_own_models_have_their_own_price_and_window_everywhere(files: dict[str, Any]) -> None:
    async with client_of(make_app(**files)) as client:
        count = (await client.post("/v1/countTokens", json={"model": "acme-1", "text": "hello"})).json()
        model = (await client.get("/v1/models/our-chat")).json()
    assert (count["model"], count["input_tokens"]) == ("acme-1", 1)
    assert count["cost"] == {
        "currency": "USD", "input": "0.0000002", "price_status": "known",
        "prices_version": count["cost"]["prices_version"],
    }
    assert count["cost"]["prices_version"].startswith("catalog.toml@")
    assert count["context"] == {"window": 1000, "remaining": 999, "fits": True}
    assert (model["id"], model["rule"], model["model_match"]) == ("gpt-4o", "own-alias", "alias")


def test_sighup_reads_them_again_while_requests_are_answered(files: dict[str, Any]) -> None:
    def name_of(alias: str) -> Any:
        return HTTP.get(f"{server.url}/v1/models/{alias}").json().get("id")

    with running_server(warm="o200k_base", **files) as server:
        assert (name_of("our-chat"), name_of("new-chat")) == ("gpt-4o", None)
        files["catalog_file"].write_text('[aliases]\n"new-chat" = "gpt-4.1"\n', encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 60
        while name_of("new-chat") is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert (name_of("our-chat"), name_of("new-chat")) == (None, "gpt-4.1")
        budgets = HTTP.get(f"{server.url}/v1/budgets").json()["budgets"]
        assert [budget["name"] for budget in budgets] == ["team-a"]


def test_broken_file_is_an_error_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "budgets.toml"
    path.write_text('[aliases]\n"x" = "gpt-4o"\n', encoding="utf-8")
    with pytest.raises(CatalogFileError, match="aliases does not belong here"):
        open_files(budgets_file=path)
    path.write_text(BUDGETS, encoding="utf-8")
    both = tmp_path / "catalog.toml"
    both.write_text(BUDGETS, encoding="utf-8")
    with pytest.raises(CatalogFileError, match=r"budgets\.team-a .*too"):
        open_files(catalog_file=both, budgets_file=path)
    assert set(open_files(catalog_file=both, budgets_file=both).budgets) == {"team-a"}
