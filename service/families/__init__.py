"""FAMILIES: every model family, in order. The first row that matches a canonical model id is the family of the model.
"""

from __future__ import annotations

from service.families import anthropic, google, open_models, openai
from service.families.base import Family

FAMILIES: tuple[Family, ...] = (
    *openai.FAMILIES, *anthropic.FAMILIES, *google.FAMILIES, *open_models.FAMILIES,
)


def find_family(model_id: str) -> Family | None:
    """The family of a canonical model id (lower case, without a provider prefix), or None."""
    return next((family for family in FAMILIES if family.match.fullmatch(model_id)), None)
