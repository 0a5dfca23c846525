"""The providers' own count endpoints, so that their SDKs and coding agents work by changing a base URL."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from service.api.auth import needs
from service.api.operations import Count, Direct
from service.api.routing import RawRoute, raw
from service.api.schemas.errors import describe_errors
from service.api.schemas.providers import (
    AnthropicCountAnswer,
    AnthropicCountBody,
    GeminiCountAnswer,
    GeminiCountBody,
    LitellmCountAnswer,
    LitellmCountBody,
    ResponsesCountAnswer,
    ResponsesCountBody,
    VllmDetokenizeAnswer,
    VllmDetokenizeBody,
    VllmTokenizeAnswer,
    VllmTokenizeBody,
)
from service.dialects import anthropic, google, litellm, openai, vllm
from service.dialects.fields import Wire


def _router(dialect: Wire, scope: str = "count") -> APIRouter:
    return APIRouter(
        route_class=RawRoute, dependencies=[needs(scope)], tags=[dialect.name], responses=describe_errors(dialect)
    )


# ---------------------------------------------------------------- Anthropic

claude = _router(anthropic.WIRE)


@claude.post("/v1/messages/count_tokens", operation_id="anthropic_count_tokens", response_model=AnthropicCountAnswer,
             summary="Count the input tokens of an Anthropic Messages request")
@claude.post("/anthropic/v1/messages/count_tokens", operation_id="anthropic_count_tokens_1",
             response_model=AnthropicCountAnswer, summary="Count the input tokens of an Anthropic Messages request")
@raw(Count(anthropic.COUNT), anthropic.WIRE)
def anthropic_count_tokens(body: AnthropicCountBody) -> None:
    """Takes what Anthropic's own endpoint takes, beta features included."""
