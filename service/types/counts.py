"""What the counter is asked, and what it answers."""

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
    """What the counter is asked: a whole `prompt`, or `texts` of which only the content is counted.

    One of `model_ref` and `tokenizer` is set. `prefix` is what was counted of the older messages of a conversation; the
    prompt then has only the newer ones. `single` says that the caller sent one text, not a list. With `special_tokens`
    "parse", strings of special tokens in texts count as such tokens. `add_special_tokens` adds what the tokenizer's
    post-processor adds (a bos). `guessed` says that the tokenizer may be the wrong one for the model, so that the count
    is an estimate. `path` goes before field names in errors (batch items).
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
    """What counted input costs in US dollars now, uncached and at the standard tier. Exact, never rounded.

    `price_status` is `inferred` when the price is that of a wider name or of another host.
    """

    usd: Decimal
    price_status: Literal["known", "inferred"]
    prices_version: str


@value
class WindowUse:
    """What a count leaves of a model's context window, in tokens.

    `remaining` is what may be added to the input; it is negative when the input is too long. `fits` is for the upper
    end of the error band. `max_input` is set when the provider refuses inputs that are shorter than the window; then
    both refer to it.
    """

    window: int
    remaining: int
    fits: bool
    max_input: int | None = None


@value
class TokenCount:
    """The answer to every count. All numbers are tokens; `low`..`high` is the error band, inclusive.

    `details` has only sections that are not zero; it sums to `input_tokens`. `counts` has a number for each of `texts`.
    `modalities` splits section media (`IMAGE`, `AUDIO`, `VIDEO`, `DOCUMENT`) when its rules name the modality.
    `family` names the family of the model. `doubts` are included in the band. `cost` is None when no price is known,
    `context` when no window is.
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
