"""Claude 3 and later, counted exactly as ctok counts them, without loading it."""

from __future__ import annotations

from service.errors import TokenizerUnavailable

from .tables import FAMILIES
from .tokenizer import TilingTokenizer

NAMES = tuple(FAMILIES)


def load(name: str) -> TilingTokenizer:
    """A fresh tokenizer of one of NAMES; raises TokenizerUnavailable when its tables are damaged or unknown."""
    family = FAMILIES.get(name)
    if family is None:
        raise TokenizerUnavailable(f"no tiling tokenizer {name!r}; there are {', '.join(NAMES)}")
    return TilingTokenizer(family)
