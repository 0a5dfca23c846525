"""CatalogModel, and how a model reference is resolved to one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

from service.catalog.hosts import NO_BASE, UNLISTED, Hosted, peel
from service.catalog.listing import PriceRow, find_row, listed_names
from service.catalog.names import spell
from service.catalog.overrides import Overrides
from service.catalog.suggestions import NameIndex
from service.catalog.windows import Limits, find_limits
from service.errors import InvalidRequest, UnknownModel
from service.families import find_family
from service.families.base import Family

Match = Literal["known", "alias", "inferred"]

MAX_NAME = 256
"""Characters of the longest model name accepted. The longest real ones (ARNs of inference profiles) have under 200."""

_MAX_REMEMBERED = 4096
"""How many resolved references are remembered. Beyond that the least recently used is dropped."""


@dataclass(frozen=True, slots=True)
class CatalogModel:
    """What a model reference means.

    `model_ref` is the reference as sent. `model_id` is the canonical id: lower case, without prefix, region and cloud
    version, and without a date when the undated name is the same model. `provider_id` is the genai-prices id of the
    family's provider, `host_id` that of the host that serves the model. `match` is `known` for a listed name, `alias`
    when the spelling rows in `rule` (joined by +) led to a listed name, `inferred` when only the family is known
    (`rule` then ends with it). `limits` are in tokens. `price` is the row of the price list; None when no list has one.
    """

    model_id: str
    model_ref: str
    provider_id: str
    family: Family
    match: Match
    rule: str
    limits: Limits
    price: PriceRow | None
    host_id: str

    def __hash__(self) -> int:
        return hash(self.model_ref)  # asked for in every count; equal models have equal references

    @property
    def window(self) -> int | None:
        """Context window in tokens; None when it is not known."""
        return self.limits.window

    @property
    def max_output(self) -> int | None:
        """Most output tokens of one answer; None when that is not known."""
        return self.limits.max_output


_DATED = re.compile(r"(?P<base>.+?)-(?:20\d{6}|20\d\d-\d\d-\d\d|latest|0\d\d)|(?P<gpt>(?:gpt|o\d).+?)-\d{4}")
_MOVING_ALIAS = re.compile(r"gemini-(?:pro|flash|flash-lite)-latest")
"""Names that Google points at one model after another. The price list says which one it is."""

_CANONICAL = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*(?::20[0-9-]+(?:-v[0-9])?)?")
"""What a canonical id looks like, whatever the family rows would accept. OpenAI dates some with a colon."""

_NO_TOKENIZER = re.compile(
    r"(?:grok|nova|titan|muse|mai|sonar|pplx|palmyra|composer|jamba|jurassic|voyage|reka|inkling|ember)(?:[-.].*)?"
)
"""Models whose maker does not publish the tokenizer (as of 2026-11). For others it is merely not included here."""


class Resolver:
    """Resolves references with one set of overrides. When the overrides are read again, a new resolver takes its
    place."""

    def __init__(self, overrides: Overrides) -> None:
        self.overrides = overrides
        self.resolve = lru_cache(_MAX_REMEMBERED)(self._resolve)

    def _resolve(self, model_ref: str) -> CatalogModel:
        name = check_name(model_ref)
        target = self.overrides.aliases.get(name)
        if target is not None:
            return replace(self._resolve_listed(check_name(target), model_ref), match="alias", rule="own-alias")
        return self._resolve_listed(name, model_ref)

    def _resolve_listed(self, name: str, model_ref: str) -> CatalogModel:
        """The model of a name that is not the operator's alias: the operator's own model, or a bundled one."""
        own = self.overrides.models.get(name)
        if own is not None and own.like is not None:
            like = self._resolve_bundled(check_name(own.like), model_ref)
            limits = _merge_limits(own.limits, like.limits)
            return replace(like, model_id=name, match="alias", rule="catalog-file", limits=limits, price=own.price)
        model = self._resolve_bundled(name, model_ref)
        own = own or self.overrides.models.get(model.model_id)
        if own is None or own.like is not None:
            return model
        return replace(model, limits=_merge_limits(own.limits, model.limits), price=own.price or model.price)

    def _resolve_bundled(self, name: str, model_ref: str) -> CatalogModel:
        hosted = peel(name)
        spelled, rules = spell(hosted.name)
        if _MOVING_ALIAS.fullmatch(spelled) and (row := find_row("google", spelled)):
            spelled, rules = row.row_id, (*rules, "moving-alias")
        family = find_family(spelled) if _CANONICAL.fullmatch(spelled) else None
        if family is None:
            raise self._make_unknown_error(name, spelled)
        maker = find_row(family.provider, spelled)
        model_id, maker = _strip_date(spelled, family, maker)
        rules = hosted.rules + rules
        price = _choose_price(hosted, spelled, rules, family.provider, maker)
        windows = (row.info.context_window for row in (price, maker) if row and row.info.context_window)
        limits = find_limits(model_id, next(windows, None))
        if "long-context" in rules:
            limits = replace(limits, window=1_000_000)
        match = _classify_match(spelled, model_id, family, maker, rules)
        if match == "inferred":
            rules = (*rules, f"family:{family.name}")
        return CatalogModel(
            model_id=model_id, model_ref=model_ref, provider_id=family.provider, family=family,
            match=match, rule="+".join(rules) or "as-listed", limits=limits, price=price,
            host_id=hosted.provider_id or family.provider,
        )

    @cached_property
    def listed(self) -> tuple[CatalogModel, ...]:
        """Every listed model that can be counted, and the operator's own. Each canonical id is there once, in order."""
        found: dict[str, CatalogModel] = {}
        for name in sorted({*listed_names(), *self.overrides.models}):
            try:
                model = self._resolve_listed(name, name)
            except UnknownModel:
                continue
            if model.model_id not in found or model.model_ref == model.model_id:
                found[model.model_id] = model
        return tuple(found[model_id] for model_id in sorted(found))

    @cached_property
    def _name_index(self) -> NameIndex:
        return NameIndex(
            [name for name in listed_names() if find_family(name)] + [*self.overrides.aliases, *self.overrides.models]
        )

    def _make_unknown_error(self, name: str, spelled: str) -> UnknownModel:
        suggestions = self._name_index.find(spelled)
        way_out = "Name a `tokenizer` (see /v1/tokenizers) for an estimate, or add the name to the catalog file."
        if NO_BASE.fullmatch(name):
            return UnknownModel(
                "This name does not tell which model is behind it: name the base model, or give the name an alias in "
                "the catalog file."
            )
        if _NO_TOKENIZER.fullmatch(spelled):
            return UnknownModel(f"The tokenizer of this model is not public. {way_out}", suggestions=suggestions)
        if spelled in listed_names():
            return UnknownModel(f"The tokenizer of this model is not carried. {way_out}", suggestions=suggestions)
        closest = f" Close names: {', '.join(suggestions)}." if suggestions else ""
        return UnknownModel(f"The model is not known.{closest} {way_out}", suggestions=suggestions)


def _merge_limits(own: Limits | None, listed: Limits) -> Limits:
    if own is None:
        return listed
    return Limits(
        own.window or listed.window, own.max_input or listed.max_input, own.max_output or listed.max_output, own.shared
    )


def check_name(model_ref: str) -> str:
    """`model_ref` in lower case. Raises InvalidRequest when no model can have such a name."""
    if not model_ref:
        raise InvalidRequest("model is empty: name a model, such as gpt-4o.", field="model")
    if len(model_ref) > MAX_NAME:
        raise InvalidRequest(f"model is too long: at most {MAX_NAME} characters.", field="model")
    if not model_ref.isascii() or not model_ref.isprintable():
        raise InvalidRequest("model has characters that no model name has: use printable ASCII.", field="model")
    if model_ref != model_ref.strip():
        raise InvalidRequest("model has blanks around it: send the bare name.", field="model")
    return model_ref.lower()


_TUNED = re.compile(r"^ft:|\.ft-")
"""What the id of a price row for fine-tunes contains."""


def _strip_date(name: str, family: Family, row: PriceRow | None) -> tuple[str, PriceRow | None]:
    """(name, row), without the date when the dated and the undated name are the same model: same family, same row."""
    dated = _DATED.fullmatch(name)
    base = dated and (dated["base"] or dated["gpt"])
    if not base or find_family(base) is not family:
        return name, row
    base_row = find_row(family.provider, base)
    if base_row is None or row is None:
        return (base, None) if base_row is row else (name, row)
    if base_row.row_id != row.row_id:
        return name, row
    return base, row if base_row.inferred else base_row


def _classify_match(name: str, model_id: str, family: Family, maker: PriceRow | None, rules: tuple[str, ...]) -> Match:
    """How well the name is known. Open models are hosted in more variants than any list has, so their family
    decides."""
    listed = (
        (maker is not None and not maker.inferred)
        or family.renderer == "plain"
        or name in listed_names()
        or model_id in listed_names()
    )
    if family.inferred or not listed:
        return "inferred"
    return "alias" if rules else "known"


def _choose_price(
    hosted: Hosted, spelled: str, rules: tuple[str, ...], maker_id: str, maker: PriceRow | None
) -> PriceRow | None:
    """The price row that applies: the host's own row, else the maker's row, which is then inferred.

    A fine-tune has the price of its own row, never that of its base. So has a route (`:free`, `:batch`).
    """
    if hosted.provider_id is None and "ollama-tag" in rules:
        return None
    if hosted.provider_id is None and "model-hub" in rules:
        return maker and replace(maker, inferred=True)
    host = hosted.provider_id or maker_id
    row = find_row(host, hosted.listed_as)
    if "fine-tune" in rules:
        return replace(row, inferred=False) if row and _TUNED.search(row.row_id) else None
    if row is not None and not row.inferred:
        return row
    if host == maker_id:
        return maker or row
    if host == UNLISTED or "route" in rules:
        return row
    row = row or find_row(host, spelled) or maker
    return row and replace(row, inferred=row.inferred or row.provider_id != host)


