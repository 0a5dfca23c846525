"""The same input over several models: tokens, cost, share of the window; the cheapest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from service.catalog import CatalogModel
from service.errors import ServiceError, TokenizerUnavailable
from service.pricing.prices import Quote, quote
from service.pricing.usage import make_usage
from service.types import TokenCount

MAX_MODELS = 50


@dataclass(frozen=True, slots=True)
class Row:
    """A model's answer: `error` where it cannot be counted, else the rest. `window_share` is of the input alone."""

    model_ref: str
    count: TokenCount | None = None
    model: CatalogModel | None = None
    quote: Quote | None = None
    error: ServiceError | None = None

    @property
    def window_share(self) -> Decimal | None:
        """Input tokens by the longest input allowed, to six places; None where that is not known."""
        if self.count is None or self.model is None or not self.model.limits.longest_input:
            return None
        return round(Decimal(self.count.input_tokens) / self.model.limits.longest_input, 6)

    @property
    def rank(self) -> tuple[int, Decimal, int, str]:
        """Priced rows by cost, then counted ones by tokens, then errors; equals by name."""
        tokens = self.count.input_tokens if self.count else 0
        if self.quote is not None and self.quote.total is not None:
            return 0, self.quote.total, tokens, self.model_ref
        return (2 if self.error else 1), Decimal(0), tokens, self.model_ref


def compare(
    model_refs: Sequence[str],
    count: Callable[[str], TokenCount],
    resolve: Callable[[str], CatalogModel],
    output_tokens: int = 0,
) -> list[Row]:
    """A row for each of `model_refs` (repeats once), the cheapest first. `output_tokens` are priced along.

    Raises what `count` raises where the input is at fault; what is wrong with a model stands in its row.
    """
    rows = [_row(ref, count, resolve, output_tokens) for ref in dict.fromkeys(model_refs)]
    return sorted(rows, key=lambda row: row.rank)


def _row(
    model_ref: str, count: Callable[[str], TokenCount], resolve: Callable[[str], CatalogModel], output_tokens: int
) -> Row:
    try:
        model = resolve(model_ref)
    except ServiceError as error:
        return Row(model_ref, error=error)
    try:
        counted = count(model_ref)
    except TokenizerUnavailable as error:
        return Row(model_ref, error=error)
    usage = make_usage({"input": counted.input_tokens, "output": output_tokens, "requests": 1})
    return Row(model_ref, counted, model, quote(model, usage))
