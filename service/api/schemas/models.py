"""The catalog: models with their limits, methods and prices; and the tokenizers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from service.api.schemas.base import Answer, Method, Usd
from service.api.schemas.count import Feature
from service.api.schemas.counts import NamedModel
from service.errors import InvalidRequest

MAX_MODELS = 500
"""Models in one page."""

# ---------------------------------------------------------------- GET /v1/models


def _read_limit(value: object) -> object:
    """The number in a query. Raises InvalidRequest for anything but ASCII digits from 1 to MAX_MODELS."""
    if isinstance(value, str):
        if not value.isascii() or not value.isdigit() or not 1 <= int(value[:9]) <= MAX_MODELS:
            raise InvalidRequest(f"limit must be a whole number from 1 to {MAX_MODELS}.", field="limit")
        return int(value)
    return value


def _check_prices(value: object) -> object:
    if value not in ("true", "false"):
        raise InvalidRequest("prices must be true or false.", field="prices")
    return value


class ListModelsQuery(BaseModel):
    """Which models to list. An empty filter leaves nothing out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    search: str = Field("", description="Part of a model's id.")
    provider: str = Field("", description="Of this provider alone.")
    family: str = Field("", description="Of this family alone.")
    limit: Annotated[int, BeforeValidator(_read_limit)] = Field(
        100, ge=1, le=MAX_MODELS, description=f"Models a page: 1 to {MAX_MODELS}, 100 when absent."
    )
    prices: Annotated[Literal["true", "false"], BeforeValidator(_check_prices)] = Field(
        "false", description="true: each with today's prices, as /v1/models/{model_id} has them."
    )
    page_token: str = Field("", description="next_page_token of the page before.")


class ModelMethods(Answer):
    """How far counts can be trusted, as measured: of a bare text, and by rule set and main feature of a request."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, dict[Feature, Method]] = Field(init=False)

    text: Method


class PriceStep(Answer):
    """The price where a request has more input tokens than above_input_tokens."""

    above_input_tokens: int
    price: Usd


class PriceRate(Answer):
    """steps are in order; the last one that applies holds."""

    per: int = Field(description="How many units the prices are for.")
    steps: list[PriceStep]


type ListedBucket = Literal[
    "input", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h", "output", "reasoning", "input_audio",
    "output_audio", "input_image", "web_searches",
]


class ModelPrices(Answer):
    """Today's standard rates. A bucket that is not in rates costs what input or output costs."""

    currency: Literal["USD"]
    provider: str
    model: str
    price_status: Literal["known", "inferred"]
    prices_version: str
    rates: dict[ListedBucket, PriceRate]


class _CatalogModel(Answer):
    id: str = Field(description="The canonical id, as model.")


class _ModelFacts(NamedModel, _CatalogModel):
    family: str
    tokenizer: str
    context_window: int | None = Field(description="In tokens. Null where it is not known.")
    max_input_tokens: int | None = Field(description="Longest input that is not refused. Null where it is not known.")
    max_output_tokens: int | None = Field(description="Longest answer. Null where it is not known.")
    window_shared_with_output: bool
    methods: ModelMethods


class ListedModel(_ModelFacts):
    """A model of the catalog."""

    prices: ModelPrices | None = Field(
        None, description="Only where the query has prices=true. Null where no price list has the model."
    )


class ModelsAnswer(Answer):
    """A page of models, in order of their ids."""

    models: list[ListedModel]
    total: int = Field(description="How many models there are on all pages.")
    next_page_token: str | None = Field(description="Null where this is the last page.")
    prices_version: str


# ---------------------------------------------------------------- GET /v1/models/{model_id}


class ModelAnswer(_ModelFacts):
    """A model of the catalog with its prices."""

    prices: ModelPrices | None = Field(description="Null where no price list has the model.")


# ---------------------------------------------------------------- GET /v1/tokenizers


class TokenizerItem(Answer):
    """A tokenizer: revision identifies the data that decides its counts, the same for both engines."""

    name: str
    revision: str
    engines: list[Literal["fast", "reference"]]
    verified: bool
    loaded: bool
    source: str
    licence: str


class TokenizersAnswer(Answer):
    """providers maps the legacy names to tokenizers."""

    tokenizers: list[TokenizerItem]
    providers: dict[str, str]
