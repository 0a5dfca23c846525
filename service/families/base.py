"""A family: the models that share a tokenizer, a template and its constants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

RendererName = Literal["openai", "anthropic", "google", "plain"]


@dataclass(frozen=True, slots=True)
class Family:
    """One row of a family table."""

    name: str
    """From a closed set: it is a label of metrics and a key of the accuracy table."""
    provider: str
    """The provider's id in genai-prices."""
    match: re.Pattern[str]
    """Must fit the whole canonical model id. The first row that does is the family."""
    tokenizer: str
    """A name in the tokenizer registry."""
    renderer: RendererName
    """The module of `service.renderers` that renders prompts."""
    rules: Any = None
    """The constants of that renderer, frozen."""
    inferred: bool = False
    """The row is for unknown members of a known family. The answer then says `model_match: inferred`."""
