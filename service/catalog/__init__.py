"""The catalog: what a model reference means. The only normaliser of model names in the service.

`resolve(model_ref)` gives a `CatalogModel`, by the bundled data and, once `use_file` named it, a user's own file.
"""

from __future__ import annotations

from pathlib import Path

from service.catalog.limits import Limits
from service.catalog.listing import PriceRow, PriceStatus, version
from service.catalog.models import CatalogModel, Match, Resolver
from service.catalog.overrides import CatalogFileError, Overrides, read_overrides
from service.errors import InvalidRequest, UnknownModel

__all__ = [
    "Catalog", "CatalogFileError", "CatalogModel", "Limits", "Match", "PriceRow", "PriceStatus", "current",
    "resolve", "use_file", "version",
]


class Catalog:
    """Resolves model references; thread-safe. With a `file`, its aliases, models, limits and prices come first.

    Raises CatalogFileError where the file cannot be used.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._resolver = Resolver(Overrides()) if file is None else _resolver_of(file)

    def resolve(self, model_ref: str) -> CatalogModel:
        """What `model_ref` means. Raises UnknownModel (404, with near names) or InvalidRequest; field is "model"."""
        return self._resolver.resolve(model_ref)

    @property
    def edition(self) -> object:
        """Another object once names may mean something else: what was remembered under the one before is stale."""
        return self._resolver

    def reload(self) -> None:
        """Read the file again: all of it or, where it cannot be used, nothing (CatalogFileError). Requests in flight
        keep what they resolved."""
        if self.file is not None:
            self._resolver = _resolver_of(self.file)

    def models(self) -> tuple[CatalogModel, ...]:
        """Every listed model that can be counted, and the user's own, each canonical id once, in order of ids."""
        return self._resolver.listed


def _resolver_of(file: Path) -> Resolver:
    """A resolver under `file`, proved to understand every name that the file points at."""
    overrides = read_overrides(file)
    resolver = Resolver(overrides)
    for name in (*overrides.aliases, *overrides.models):
        try:
            resolver.resolve(name)
        except (UnknownModel, InvalidRequest) as error:
            raise CatalogFileError(f"{file}: {name}: {error.message}") from None
    return resolver


_current = Catalog()


def use_file(file: Path | None) -> None:
    """Make `resolve` know a user's file from now on. Raises CatalogFileError and then changes nothing."""
    global _current  # noqa: PLW0603 - the process has one catalog, as it has one registry of tokenizers
    _current = Catalog(file)


def current() -> Catalog:
    """The catalog of this process: bundled data, and the file that `use_file` named."""
    return _current


def resolve(model_ref: str) -> CatalogModel:
    """`Catalog.resolve` of this process's catalog."""
    return _current.resolve(model_ref)
