"""The catalog: what a model reference means. The only normaliser of model names in the service.

`resolve(model_ref)` gives a `CatalogModel` from the bundled data alone; a `Catalog` also knows a user's own file.
"""

from __future__ import annotations

from pathlib import Path

from service.catalog.limits import Limits
from service.catalog.listing import PriceRow, PriceStatus, version
from service.catalog.models import CatalogModel, Match, Resolver
from service.catalog.overrides import Overrides

__all__ = ["Catalog", "CatalogModel", "Limits", "Match", "PriceRow", "PriceStatus", "resolve", "version"]


class Catalog:
    """Resolves model references; thread-safe. With a `file`, its aliases, models, limits and prices come first."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._resolver = Resolver(Overrides())

    def resolve(self, model_ref: str) -> CatalogModel:
        """What `model_ref` means. Raises UnknownModel (404, with near names) or InvalidRequest; field is "model"."""
        return self._resolver.resolve(model_ref)


_BUNDLED = Catalog()


def resolve(model_ref: str) -> CatalogModel:
    """`Catalog.resolve` by the bundled data alone."""
    return _BUNDLED.resolve(model_ref)
