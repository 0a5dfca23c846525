"""The catalog: what a model reference means. Model names are normalized here and nowhere else.

`resolve(model_ref)` gives a `CatalogModel`. It uses the bundled data, and the operator's own file and aliases if any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from service.catalog.listing import PriceRow, PriceStatus, version
from service.catalog.models import CatalogModel, Match, Resolver
from service.catalog.overrides import ALIASES_VARIABLE, CatalogFileError, Overrides, read_aliases, read_overrides
from service.catalog.windows import Limits
from service.errors import InvalidRequest, UnknownModel

__all__ = [
    "Catalog", "CatalogFileError", "CatalogModel", "Limits", "Match", "PriceRow", "PriceStatus", "current",
    "resolve", "use", "version",
]


class Catalog:
    """Resolves model references. Thread-safe; never changes.

    Aliases, models, limits and prices of a `file` override the bundled data. `aliases` come from the environment and
    override those of the file. Raises CatalogFileError when the file or an alias cannot be used.
    """

    def __init__(self, file: Path | None = None, aliases: Mapping[str, str] | None = None) -> None:
        self.file = file
        self.aliases = aliases or {}
        self._resolver = _make_resolver(file, self.aliases)

    def resolve(self, model_ref: str) -> CatalogModel:
        """The model that `model_ref` means. Raises UnknownModel (404, with suggestions) or InvalidRequest; field is
        "model"."""
        return self._resolver.resolve(model_ref)

    @property
    def revision(self) -> object:
        """An object that identifies the data of this catalog. What was remembered under another one is stale."""
        return self._resolver

    def models(self) -> tuple[CatalogModel, ...]:
        """Every listed model that can be counted, and the operator's own. Each canonical id is there once, in order."""
        return self._resolver.listed


def _make_resolver(file: Path | None, aliases: Mapping[str, str]) -> Resolver:
    """A resolver. It was checked to know every name in the file and in the aliases."""
    overrides = Overrides() if file is None else read_overrides(file)
    places = dict.fromkeys((*overrides.aliases, *overrides.models), str(file))
    own = read_aliases(aliases)
    places |= dict.fromkeys(own, ALIASES_VARIABLE)
    resolver = Resolver(replace(overrides, aliases={**overrides.aliases, **own}))
    for name, place in places.items():
        try:
            resolver.resolve(name)
        except (UnknownModel, InvalidRequest) as error:
            raise CatalogFileError(f"{place}: {name}: {error.message}") from None
    return resolver


_current = Catalog()


def use(catalog: Catalog) -> None:
    """Make `resolve` use this catalog from now on. Running requests keep the models they have."""
    global _current  # noqa: PLW0603 - the process has one catalog, as it has one registry of tokenizers
    _current = catalog


def current() -> Catalog:
    """The catalog of this process. Until `use` is called, it has only the bundled data."""
    return _current


def resolve(model_ref: str) -> CatalogModel:
    """`Catalog.resolve` of the catalog of this process."""
    return _current.resolve(model_ref)
