"""A user's own aliases, models, limits and prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from service.catalog.limits import Limits
from service.catalog.listing import PriceRow


@dataclass(frozen=True, slots=True)
class OwnModel:
    """A model of the user's: counted like `like`; None keeps what is listed."""

    like: str
    limits: Limits | None = None
    price: PriceRow | None = None


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a catalog file says; keys are lower-case model names."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, OwnModel] = field(default_factory=dict)
    adjusted: Mapping[str, OwnModel] = field(default_factory=dict)
