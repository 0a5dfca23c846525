"""The body of a native count as a pydantic model: it checks what comes in and describes it in OpenAPI."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MODEL = "A model by any of its names: gpt-4o, openai/gpt-4o-2024-08-06, a Bedrock or Vertex id."
TOKENIZER = "A tokenizer by name, see GET /v1/tokenizers."

# The following have names in OpenAPI, so that a generated client has one type for each, and not one for each place.

type JsonObject = Annotated[dict[str, Any], Field(description="Any JSON object.")]

type Platform = Literal["gemini-api", "vertex"]

type SpecialTokens = Literal["text", "parse"]

type Engine = Literal["auto", "reference", "fast"]


def describe_defaults(schema: dict[str, Any]) -> None:
    """For `json_schema_extra`: write defaults into the descriptions, and remove the titles of properties.

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
    request: JsonObject | None = Field(None, description="A whole request body as the provider takes it.")
    dialect: str | None = Field(
        None, description="What request is written in: openai.chat, anthropic.messages, ... Inferred when absent."
    )
    platform: Platform | None = Field(
        None, description="Where a Gemini request goes; the two bill the same request differently."
    )
    special_tokens: SpecialTokens = Field(
        "text", description="Whether special-token strings in a text are ordinary text (as providers treat them)."
    )
    add_special_tokens: bool = Field(
        False, description="Add what the tokenizer's own post-processor adds to each text (a bos)."
    )
    engine: Engine = Field("auto", description="Which implementation counts.")
