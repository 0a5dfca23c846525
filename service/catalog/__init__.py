"""The catalog: what a model reference means. The only normaliser of model names in the service.

`resolve(model_ref)` gives a `CatalogModel`, by the bundled data and what the catalog in use was given of a user's own.
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
    """Resolves model references; thread-safe, and never changes.

    A `file`'s aliases, models, limits and prices come before the bundled data, and `aliases`, which the environment
    gives, before the file's. Raises CatalogFileError where one of them cannot be used.
    """

    def __init__(self, file: Path | None = None, aliases: Mapping[str, str] | None = None) -> None:
        self.file = file
        self.aliases = aliases or {}
        self._resolver = _make_resolver(file, self.aliases)

    def resolve(self, model_ref: str) -> CatalogModel:
        """What `model_ref` means. Raises UnknownModel (404, with suggestions) or InvalidRequest; field is "model"."""
        return self._resolver.resolve(model_ref)

    @property
    def revision(self) -> object:
        """Another object once names may mean something else: what was remembered under the one before is stale."""
        return self._resolver

    def models(self) -> tuple[CatalogModel, ...]:
        """Every listed model that can be counted, and the user's own, each canonical id once, in order of ids."""
        return self._resolver.listed


def _make_resolver(file: Path | None, aliases: Mapping[str, str]) -> Resolver:
    """A resolver proved to understand every name that the file or an alias points at."""
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
    """Make `resolve` ask this one from now on. Requests in flight keep what they resolved."""
    global _current  # noqa: PLW0603 - the process has one catalog, as it has one registry of tokenizers
    _current = catalog


def current() -> Catalog:
    """The catalog of this process: the bundled data alone, until `use` gave another."""
    return _current


def resolve(model_ref: str) -> CatalogModel:
    """`Catalog.resolve` of this process's catalog."""
    return _current.resolve(model_ref)
