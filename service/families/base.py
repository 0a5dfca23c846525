"""A family: the models that share a tokenizer, a template and its constants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

RendererName = Literal["openai", "anthropic", "google", "plain"]


@dataclass(frozen=True, slots=True)
class Family:
    """One row of a family table; the first row whose `match` fits the whole canonical model id wins.

    `name` is from a closed set (it labels metrics and keys the accuracy table), `provider` is the genai-prices
    provider id, `tokenizer` a registry name, `renderer` the room of `service.renderers` that draws its template,
    `rules` that renderer's own frozen constants. `inferred` rows catch unknown members of a known family: the answer
    then says `model_match: inferred`.
    """

    name: str
    provider: str
    match: re.Pattern[str]
    tokenizer: str
    renderer: RendererName
    rules: Any = None
    inferred: bool = False
