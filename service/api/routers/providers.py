"""The providers' own count endpoints, so that their SDKs and coding agents work by changing a base URL."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from service.api.auth import needs
from service.api.operations import Count, Direct
from service.api.routing import RawRoute, raw
from service.api.schemas import providers as wire
from service.api.schemas.errors import describe_errors
from service.auth.keys import Scope as KeyScope
from service.dialects import litellm, vllm
from service.dialects.anthropic import endpoints as anthropic
from service.dialects.endpoints import Wire
from service.dialects.google import endpoints as google
from service.dialects.openai import endpoints as openai


def _open_router(dialect: Wire, scope: KeyScope) -> APIRouter:
    return APIRouter(
        route_class=RawRoute, dependencies=[needs(scope)], tags=[dialect.name], responses=describe_errors(dialect)
    )


# ---------------------------------------------------------------- Anthropic

anthropic_router = _open_router(anthropic.COUNT.wire, "count")


@anthropic_router.post(
    "/v1/messages/count_tokens", operation_id="anthropic_count_tokens",
    response_model=wire.AnthropicCountAnswer, summary="Count the input tokens of an Anthropic Messages request",
)
@anthropic_router.post(
    "/anthropic/v1/messages/count_tokens", operation_id="anthropic_count_tokens_1",
    response_model=wire.AnthropicCountAnswer, summary="Count the input tokens of an Anthropic Messages request",
)
@raw(Count(anthropic.COUNT))
def anthropic_count_tokens(body: wire.AnthropicCountBody) -> None:
    """Takes what Anthropic's own endpoint takes, beta features included."""


# ---------------------------------------------------------------- OpenAI

openai_router = _open_router(openai.COUNT.wire, "count")


@openai_router.post(
    "/v1/responses/input_tokens", operation_id="openai_input_tokens", response_model=wire.OpenAIInputTokensAnswer,
    summary="Count the input tokens of a Responses request (OpenAI's own endpoint)",
)
@raw(Count(openai.COUNT))
def openai_input_tokens(body: wire.OpenAIInputTokensBody) -> None:
    """Takes what OpenAI's own endpoint takes. Chat requests are counted by /v1/countTokens."""


# ---------------------------------------------------------------- Google

google_router = _open_router(google.GEMINI.wire, "count")

Model = Annotated[str, Path(description="A model by any of its names, of any provider.")]
Project = Annotated[str, Path(description="Any; it changes nothing.")]
Location = Annotated[str, Path(description="Any; it changes nothing.")]
Publisher = Annotated[str, Path(description="google, or another publisher whose models Vertex AI serves.")]
PUBLISHED = "publishers/{publisher}/models/{model}:countTokens"


@google_router.post(
    "/v1beta/models/{model:path}:countTokens", operation_id="gemini_count_tokens",
    response_model=wire.GoogleCountAnswer, summary="Gemini API: count the tokens of a generateContent request",
)
@google_router.post(
    "/v1/models/{model:path}:countTokens", operation_id="gemini_count_tokens_1",
    response_model=wire.GoogleCountAnswer, summary="Gemini API: count the tokens of a generateContent request",
)
@raw(Count(google.GEMINI))
def gemini_count_tokens(model: Model, body: wire.GoogleCountBody) -> None:
    """Takes `contents`, or a whole request in `generateContentRequest`."""


@google_router.post(
    "/v1beta/tunedModels/{model}:countTokens", operation_id="gemini_tuned_count_tokens",
    response_model=wire.GoogleCountAnswer, summary="Gemini API: count the tokens of a request to a tuned model",
)
@google_router.post(
    "/v1/tunedModels/{model}:countTokens", operation_id="gemini_tuned_count_tokens_1",
    response_model=wire.GoogleCountAnswer, summary="Gemini API: count the tokens of a request to a tuned model",
)
@raw(Count(google.TUNED))
def gemini_tuned_count_tokens(model: Model, body: wire.GoogleCountBody) -> None:
    """The catalog file may say which base a tuned model has."""


@google_router.post(
    "/v1beta1/projects/{project}/locations/{location}/" + PUBLISHED, operation_id="vertex_count_tokens",
    response_model=wire.GoogleCountAnswer, summary="Vertex AI: count the tokens of a generateContent request",
)
@google_router.post(
    "/v1/projects/{project}/locations/{location}/" + PUBLISHED, operation_id="vertex_count_tokens_2",
    response_model=wire.GoogleCountAnswer, summary="Vertex AI: count the tokens of a generateContent request",
)
@raw(Count(google.VERTEX))
def vertex_count_tokens(
    project: Project, location: Location, publisher: Publisher, model: Model, body: wire.GoogleCountBody
) -> None:
    """Vertex AI and the Gemini API bill the same request differently: the path picks the rules."""


@google_router.post(
    "/v1beta1/" + PUBLISHED, operation_id="vertex_count_tokens_1",
    response_model=wire.GoogleCountAnswer, summary="Vertex AI: count the tokens of a generateContent request",
)
@google_router.post(
    "/v1/" + PUBLISHED, operation_id="vertex_count_tokens_3",
    response_model=wire.GoogleCountAnswer, summary="Vertex AI: count the tokens of a generateContent request",
)
@raw(Count(google.VERTEX))
def vertex_express_count_tokens(publisher: Publisher, model: Model, body: wire.GoogleCountBody) -> None:
    """Vertex AI without a project in the path."""


# ---------------------------------------------------------------- LiteLLM

litellm_router = _open_router(litellm.WIRE, "count")


@litellm_router.post(
    "/utils/token_counter", operation_id="litellm_token_counter", response_model=wire.LiteLLMCountAnswer,
    summary="Count the tokens of a prompt, messages or contents (LiteLLM's route)",
)
@raw(Count(litellm.COUNT))
def litellm_token_counter(body: wire.LiteLLMCountBody) -> None:
    """Takes what LiteLLM's proxy takes at this path."""


# ---------------------------------------------------------------- vLLM

vllm_router = _open_router(vllm.WIRE, "tokenize")


@vllm_router.post(
    "/tokenize", operation_id="vllm_tokenize", response_model=wire.VllmTokenizeAnswer,
    summary="Token ids of a prompt, or the count of messages (vLLM's route)",
)
@raw(Count(vllm.TOKENIZE))
def vllm_tokenize(body: wire.VllmTokenizeBody) -> None:
    """Ids are there where the vocabulary is published."""


@vllm_router.post(
    "/detokenize", operation_id="vllm_detokenize", response_model=wire.VllmDetokenizeAnswer,
    summary="The text of token ids (vLLM's route)",
)
@raw(Direct(vllm.WIRE, vllm.detokenize))
def vllm_detokenize(body: wire.VllmDetokenizeBody) -> None:
    """Counts nothing."""


ROUTERS: tuple[APIRouter, ...] = (anthropic_router, openai_router, google_router, litellm_router, vllm_router)
