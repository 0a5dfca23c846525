"""What genai-prices lists: models, their context windows and prices. The data is as shipped; nothing is ever fetched.

The library is loaded when the first model is resolved, not when the service starts. That takes 0.3 s and, on top of the
rest of the service, 12 MB (genai-prices 0.2.3, 2-core machine, 2026-11). Its updater is opt-in and never started here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from genai_prices.types import MatchLogic, ModelInfo, Provider

PriceStatus = Literal["known", "inferred", "unknown"]


@dataclass(frozen=True, slots=True)
class PriceRow:
    """A row of a price list. `provider_id` and `row_id` name it, `info` has its prices.

    It is `inferred` when it is meant for a wider name (`gpt-5-nano-` for `gpt-5-nano-x`) or for another host.
    `revision` is "" for the bundled list, else it identifies the text of the operator's file.
    """

    provider_id: str
    row_id: str
    inferred: bool
    info: ModelInfo = field(repr=False, compare=False)
    revision: str = ""

    def __hash__(self) -> int:
        return hash(self.row_id)  # needed in every count; few rows share a name


@cache
def providers() -> Mapping[str, Provider]:
    """The bundled price lists, by genai-prices provider id."""
    from genai_prices.data import providers as bundled

    return {provider.id: provider for provider in bundled}


@cache
def version() -> str:
    """The version of the bundled price lists."""
    return metadata.version("genai-prices")


_DATE = r"(?:20\d{6}|20\d\d-\d\d-\d\d)"
_MARK = re.compile(
    rf"(?:-(?:preview|exp))?(?:[-@](?:{_DATE}|latest|\d{{3}}|\d\d-\d\d|\d\d-20\d\d))?(?:-v\d+)?(?::\d+)*"
)
"""What may follow a listed name and still mean the same model: `preview`, a date, `latest`, a cloud version."""

_GEOGRAPHY = re.compile(r"(?:[a-z-]+\.){0,2}")


def _match_clause(clause: MatchLogic, name: str) -> Literal["exact", "wide"] | None:
    """How a match clause of genai-prices fits `name`. It is `wide` when it would also fit names of other models."""
    if not clause.is_match(name):
        return None
    kind = type(clause).__name__
    if kind == "ClauseOr":
        fits = {_match_clause(part, name) for part in clause.or_}  # type: ignore[union-attr]
        return "exact" if "exact" in fits else "wide"
    if kind == "ClauseAnd":
        fits = {_match_clause(part, name) for part in clause.and_}  # type: ignore[union-attr]
        return "exact" if "exact" in fits else "wide"
    if kind == "ClauseEquals":
        return "exact"
    if kind == "ClauseRegex":
        pattern: str = clause.regex  # type: ignore[union-attr]
        return "exact" if pattern.startswith("^") and pattern.endswith("$") else "wide"
    (written,) = vars(clause).values()
    before, _, after = name.partition(written.lower())
    return "exact" if _GEOGRAPHY.fullmatch(before) and _MARK.fullmatch(after) else "wide"


def find_row(provider_id: str, name: str) -> PriceRow | None:
    """The row of `provider_id` for `name`: the one for exactly this name, else the first that fits it."""
    provider = providers().get(provider_id)
    if provider is None:
        return None
    wide: ModelInfo | None = None
    for info in provider.models:
        fit = "exact" if info.id.lower() == name else _match_clause(info.match, name)
        if fit == "exact":
            return PriceRow(provider_id, info.id, False, info)
        if fit == "wide" and wide is None:
            wide = info
    if wide is not None:
        return PriceRow(provider_id, wide.id, True, wide)
    for other in provider.fallback_model_providers or ():
        row = find_row(other, name)
        if row is not None:
            return PriceRow(row.provider_id, row.row_id, True, row.info)
    return None


_RETIRED = (
    "claude-1", "claude-1.0", "claude-1.2", "claude-1.3", "claude-2.0", "claude-2.1",
    "claude-instant-1", "claude-instant-1.1", "claude-instant-1.2",
)
"""Models that were retired before the price list began, and models that it has only under a wider name."""


@cache
def listed_names() -> frozenset[str]:
    """Every model name of every list: in lower case, without the maker's path, without a route such as `:free`."""
    return frozenset(_RETIRED) | frozenset(
        info.id.lower().rpartition("/")[2].partition(":")[0]
        for provider in providers().values()
        for info in provider.models
    )
