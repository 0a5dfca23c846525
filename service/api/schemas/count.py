"""Counts: `POST /v1/countTokens` and its batch. The body of one count is `CountBody` of the native dialect."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from service.api.schemas.base import Absent, Answer, Body, Method, ModelMatch, Usd
from service.api.schemas.counts import ErrorBand, UncountedItem, WarningItem
from service.api.schemas.errors import ErrorAnswer
from service.dialects.native import MAX_ITEMS
from service.dialects.native_schema import CountBody

type Section = Literal["system", "tools", "messages", "media", "schema", "frame"]
"""A part of a request. frame is what the provider adds around the others."""

type Feature = Literal[
    "media", "hosted", "tool_history", "tools", "documents", "schema", "thinking", "multi_turn", "system", "text"
]
"""The main feature of a request: the first of these that it has."""


class InputCost(Answer):
    """What the input costs now by list price: uncached, at the standard tier.

    price_status inferred: the price is that of a wider name or of the maker, not of exactly this model and host.
    """

    currency: Literal["USD"]
    input: Usd
    price_status: Literal["known", "inferred"]
    prices_version: str


class ContextUse(Answer):
    """What the input leaves of the context window, in tokens.

    fits goes by the upper end of the error band, for the input alone; /v1/checkBudget looks at the answer, too.
    """

    window: int
    remaining: int = Field(description="What may be added to the input. Negative where it is too long already.")
    fits: bool
    max_input: int | Absent = Field(
        None, description="Only where the provider refuses inputs shorter than the window; both go by it then."
    )


class AccuracyClass(Answer):
    """The rule set that rendered a request and its main feature; see the table in docs/accuracy.md."""

    rules: str
    feature: Feature


class CountAnswer(Answer):
    """A count and how far it can be trusted. All numbers are tokens.

    The four names of the model are null where a tokenizer was named in its place.
    """

    model: str | None = Field(description="The canonical id.")
    model_ref: str | None = Field(description="The name that was sent.")
    model_match: ModelMatch | None
    provider: str | None
    tokenizer: str
    tokenizer_revision: str
    input_tokens: int
    method: Method
    error_band: ErrorBand
    details: dict[Section, int] = Field(description="Tokens by section, those without any left out.")
    uncounted: list[UncountedItem]
    warnings: list[WarningItem]
    cost: InputCost | None = Field(description="Null where no price is known; never 0 for that.")
    context: ContextUse | None = Field(description="Null where no context window is known.")
    counts: list[int] = Field([], description="Only where texts was asked: tokens of each, in order.")
    accuracy_class: AccuracyClass | Absent = Field(
        None, alias="class", description="Only for a whole request: the class whose measured accuracy holds."
    )


class BatchBody(Body):
    """Several counts. An item that is not valid does not fail the batch: its error stands in its place."""

    model_config = ConfigDict(extra="allow")

    items: list[CountBody] = Field(min_length=1, max_length=MAX_ITEMS)


class BatchAnswer(Answer):
    """One result or error for each item, in order."""

    results: list[CountAnswer | ErrorAnswer]
    input_tokens: int | None = Field(description="The sum. Null where any item failed.")
    failed: int = Field(description="How many items failed.")
