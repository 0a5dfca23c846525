"""FAMILIES: every family in order; the first row that matches a canonical model id is its family."""

from __future__ import annotations

from service.families import anthropic, google, open_models, openai
from service.families.base import Family

FAMILIES: tuple[Family, ...] = (
    *openai.FAMILIES, *anthropic.FAMILIES, *google.FAMILIES, *open_models.FAMILIES,
)


def find_family(model_id: str) -> Family | None:
    """The family of a canonical model id (no provider prefix, lower case), or None."""
    return next((family for family in FAMILIES if family.match.fullmatch(model_id)), None)
