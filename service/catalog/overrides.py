"""The operator's own aliases, models, limits and prices, from a TOML file. Aliases may also come from the environment.

    [aliases]                                   # a whole name, in any case -> a name the catalog knows
    "our-chat" = "azure/gpt-4o"

    [models."acme-chat-1"]                      # your own model: counted like another
    like = "llama-3.1-8b-instruct"
    window = 32768
    max_output = 4096
    prices = { input = "0.20", output = "0.60", cache_read = "0.02" }   # USD for a million tokens

    [models."gpt-4o"]                           # a listed model without `like`: only what is given changes
    prices = { input = "2.25", output = "9.00" }

Prices are decimals, quoted or not. A bucket that is left out has no price. `service.budgets.named` reads `[budgets]` in
the same file.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from service.catalog.listing import PriceRow
from service.catalog.windows import Limits

_PRICE_KEYS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "reasoning": "output_reasoning_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "cache_write_5m": "cache_write_5m_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
    "input_audio": "input_audio_mtok",
    "output_audio": "output_audio_mtok",
    "input_image": "input_image_mtok",
}
ALIASES_VARIABLE = "TALLYSTICK_ALIASES"

_MODEL_KEYS = ("like", "window", "max_input", "max_output", "shared_window", "prices")


class CatalogFileError(ValueError):
    """The file cannot be used. The message names the file, the place in it, and what is expected there."""


@dataclass(frozen=True, slots=True)
class OwnModel:
    """What the file says about a model. None keeps what is listed. `like` is the model whose tokenizer and template it
    has."""

    like: str | None = None
    limits: Limits | None = None
    price: PriceRow | None = None


@dataclass(frozen=True, slots=True)
class Overrides:
    """The content of a catalog file, by lower-case model name."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, OwnModel] = field(default_factory=dict)


def read_overrides(path: Path) -> Overrides:
    """The overrides in the file. Raises CatalogFileError for anything unknown or invalid: nothing is ignored."""
    try:
        raw = path.read_bytes()
        tables = tomllib.loads(raw.decode("utf-8"), parse_float=Decimal)
    except OSError as error:
        raise CatalogFileError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise CatalogFileError(f"{path}: is not TOML: {error}") from None
    unknown = next((key for key in tables if key not in ("aliases", "models", "budgets")), None)
    if unknown is not None:
        raise CatalogFileError(f"{path}: {unknown} is not known; known: aliases, models, budgets")
    revision = f"{path.name}@{hashlib.sha256(raw).hexdigest()[:8]}"
    reader = _FileReader(path, revision)
    aliases = {
        name.lower(): reader.text(target, f"aliases.{name}") for name, target in reader.table(tables, "aliases").items()
    }
    models = {name.lower(): reader.model(name, value) for name, value in reader.table(tables, "models").items()}
    return Overrides(aliases, models)


def read_aliases(aliases: Mapping[str, str]) -> dict[str, str]:
    """The aliases of the environment, by lower-case name. Raises CatalogFileError for an empty name."""
    if not all(name and target for name, target in aliases.items()):
        raise CatalogFileError(f'{ALIASES_VARIABLE} must map names to model names, such as {{"our-chat": "gpt-4o"}}')
    return {name.lower(): target for name, target in aliases.items()}


@dataclass(frozen=True, slots=True)
class _FileReader:
    path: Path
    revision: str

    def make_error(self, place: str, wanted: str) -> CatalogFileError:
        return CatalogFileError(f"{self.path}: {place} must be {wanted}")

    def table(self, parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = parent.get(key, {})
        if not isinstance(value, dict):
            raise self.make_error(key, "a table")
        return value

    def text(self, value: object, place: str) -> str:
        if not isinstance(value, str) or not value:
            raise self.make_error(place, "a model name")
        return value

    def tokens(self, value: object, place: str) -> int | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            raise self.make_error(place, "a positive whole number of tokens")
        return value

    def money(self, value: object, place: str) -> Decimal:
        wanted = 'an amount such as "2.50"'
        if isinstance(value, bool) or not isinstance(value, (str, int, Decimal)):
            raise self.make_error(place, wanted)
        try:
            amount = Decimal(value)
        except InvalidOperation:
            raise self.make_error(place, wanted) from None
        if not amount.is_finite() or not 0 <= amount <= 1_000_000:
            raise self.make_error(place, wanted)
        return amount

    def model(self, name: str, value: object) -> OwnModel:
        place = f'models."{name}"'
        if not isinstance(value, dict):
            raise self.make_error(place, "a table")
        unknown = next((key for key in value if key not in _MODEL_KEYS), None)
        if unknown is not None:
            raise CatalogFileError(f"{self.path}: {place}.{unknown} is not known; known: {', '.join(_MODEL_KEYS)}")
        like = value.get("like")
        shared = value.get("shared_window", True)
        if not isinstance(shared, bool):
            raise self.make_error(f"{place}.shared_window", "true or false")
        window, max_input, max_output = (
            self.tokens(value.get(key), f"{place}.{key}") for key in ("window", "max_input", "max_output")
        )
        limits = Limits(window, max_input, max_output, shared)
        return OwnModel(
            like=None if like is None else self.text(like, f"{place}.like"),
            limits=None if limits == Limits(shared=shared) else limits,
            price=self.price(name.lower(), value["prices"], f"{place}.prices") if "prices" in value else None,
        )

    def price(self, name: str, value: object, place: str) -> PriceRow:
        from genai_prices.types import ClauseEquals, ModelInfo, ModelPrice

        if not isinstance(value, dict):
            raise self.make_error(place, "a table of buckets")
        unknown = next((key for key in value if key not in _PRICE_KEYS), None)
        if unknown is not None:
            raise CatalogFileError(f"{self.path}: {place}.{unknown} is not known; known: {', '.join(_PRICE_KEYS)}")
        amounts = {_PRICE_KEYS[key]: self.money(amount, f"{place}.{key}") for key, amount in value.items()}
        info = ModelInfo(id=name, match=ClauseEquals(equals=name), prices=ModelPrice(**amounts))
        return PriceRow("catalog-file", name, False, info, self.revision)
