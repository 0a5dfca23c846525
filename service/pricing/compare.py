"""The same input for several models: tokens, cost and share of the window, the cheapest first."""

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
    """The result for one model: `error` when it cannot be counted, else the other fields."""

    model_ref: str
    count: TokenCount | None = None
    model: CatalogModel | None = None
    quote: Quote | None = None
    error: ServiceError | None = None

    @property
    def window_share(self) -> Decimal | None:
        """Input tokens divided by the longest input allowed, to six places. None when that is not known."""
        if self.count is None or self.model is None or not self.model.limits.longest_input:
            return None
        return round(Decimal(self.count.input_tokens) / self.model.limits.longest_input, 6)

    @property
    def rank(self) -> tuple[int, Decimal, int, str]:
        """The sort key: priced rows by cost, then rows without a price by tokens, then errors. Ties go by name."""
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
    """A row for each of `model_refs`, without repeats, the cheapest first. The cost includes `output_tokens`.

    Raises what `count` raises when the input is wrong. An error of one model stands in its row.
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
