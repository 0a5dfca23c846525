"""The question that the counter answers, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from typing import Literal

from service.types.prompt import Prompt
from service.types.rendering import CountedPrefix, Doubt, Feature, Section, Uncounted, Warned
from service.types.value import value

Method = Literal["exact", "calibrated", "estimate"]


@value
class CountRequest:
    """What the counter is asked: a whole `prompt`, or `texts` whose content alone is counted.

    One of `model_ref` and `tokenizer` is set. `single` says that the caller sent one text, not a list.
    `special_tokens` is "parse" where special-token strings in texts are to be read as such; `add_special_tokens` adds
    what the tokenizer's own post-processor adds (a bos). `path` prefixes the fields named in errors (batch items).
    `guessed` says that the tokenizer stands in for models it may not be the one of: an estimate at best. Where `prefix`
    is given, the prompt is only what is newer.
    """

    model_ref: str | None = None
    tokenizer: str | None = None
    prompt: Prompt | None = None
    prefix: CountedPrefix | None = None
    texts: tuple[str, ...] | None = None
    single: bool = True
    special_tokens: Literal["text", "parse"] = "text"
    add_special_tokens: bool = False
    engine: Literal["auto", "reference", "fast"] = "auto"
    guessed: bool = False
    warnings: tuple[Warned, ...] = ()
    path: str = ""


@value
class InputCost:
    """What counted input costs in US dollars now: uncached, at the standard tier. Exact, never rounded.

    `price_status` is `inferred` where the price is that of a wider name or of another host.
    """

    usd: Decimal
    price_status: Literal["known", "inferred"]
    prices_version: str


@value
class WindowUse:
    """What a count leaves of a model's context window, in tokens.

    `remaining` is what may be added to the input (negative where it is too long already); `fits` goes by the upper end
    of the error band. `max_input` is set where the provider refuses inputs shorter than the window: both go by it then.
    """

    window: int
    remaining: int
    fits: bool
    max_input: int | None = None


@value
class TokenCount:
    """The answer to every count. All numbers are tokens; `low`..`high` is the error band, inclusive.

    `details` has only sections that are not zero and sums to `input_tokens`. `counts` is per text for `texts`.
    `modalities` splits section media (`IMAGE`, `AUDIO`, `VIDEO`, `DOCUMENT`) where the rules of its costs tell.
    `family` names the row of the families that the model is of; `doubts` are part of the band. `cost` is None where no
    price is known, `context` where no window is.
    """

    input_tokens: int
    method: Method
    low: int
    high: int
    tokenizer: str
    tokenizer_revision: str
    details: Mapping[Section, int]
    model: str | None = None
    model_ref: str | None = None
    model_match: Literal["known", "alias", "inferred"] | None = None
    provider: str | None = None
    counts: tuple[int, ...] | None = None
    uncounted: tuple[Uncounted, ...] = ()
    warnings: tuple[Warned, ...] = ()
    rules: str | None = None
    feature: Feature | None = None
    modalities: Mapping[str, int] = field(default_factory=dict)
    engine: str = "reference"
    family: str | None = None
    doubts: tuple[Doubt, ...] = ()
    cost: InputCost | None = None
    context: WindowUse | None = None
