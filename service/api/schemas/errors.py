"""The error envelope of each wire format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from service.api.schemas.base import Answer
from service.dialects.endpoints import Wire

type ErrorCode = Literal[
    "invalid_request", "unauthorized", "forbidden", "unknown_model", "not_found", "method_not_allowed", "body_timeout",
    "too_large", "unsupported_media", "rate_limited", "overloaded", "deadline_exceeded", "keys_unavailable",
    "tokenizer_unavailable", "internal",
]
"""Stable; the HTTP status follows from it."""

# ---------------------------------------------------------------- native


class ErrorDetail(Answer):
    """code is stable, message is for a person, field is the JSON path of the culprit."""

    code: ErrorCode
    message: str
    field: str | None = Field(description="Null where no single field is at fault.")
    near: list[str] = Field([], description="Only for unknown_model: the closest known names, best first.")


class ErrorAnswer(Answer):
    """What the native API answers instead of a result."""

    error: ErrorDetail


# ---------------------------------------------------------------- OpenAI, LiteLLM, vLLM


class OpenAIError(Answer):
    """code is OpenAI's own where it has one, else the service's."""

    message: str
    type: Literal["invalid_request_error", "rate_limit_error", "server_error"]
    param: str | None = Field(description="The JSON path of the culprit. Null where no single field is at fault.")
    code: Literal[
        "invalid_api_key", "model_not_found", "rate_limit_exceeded", "request_too_large", "server_overloaded",
        "forbidden", "not_found", "method_not_allowed", "body_timeout", "unsupported_media", "deadline_exceeded",
        "keys_unavailable", "tokenizer_unavailable",
    ] | None = Field(description="Null for an invalid request and for a failure inside.")


class OpenAIErrorAnswer(Answer):
    """OpenAI's error envelope."""

    error: OpenAIError


class LiteLLMError(Answer):
    """type is the service's own code, code the HTTP status as a string."""

    message: str
    type: ErrorCode
    param: str | None = Field(description="The JSON path of the culprit. Null where no single field is at fault.")
    code: Literal["400", "401", "403", "404", "405", "408", "413", "415", "429", "500", "503"]


class LiteLLMErrorAnswer(Answer):
    """The error envelope of LiteLLM's proxy."""

    error: LiteLLMError


class VllmError(Answer):
    """code is the HTTP status."""

    message: str
    type: Literal[
        "BadRequestError", "UnauthorizedError", "NotFoundError", "RequestEntityTooLargeError", "RateLimitError",
        "ServiceUnavailableError", "InternalServerError",
    ]
    param: str | None = Field(description="The JSON path of the culprit. Null where no single field is at fault.")
    code: int


class VllmErrorAnswer(Answer):
    """vLLM's error envelope."""

    error: VllmError


# ---------------------------------------------------------------- Anthropic


class AnthropicError(Answer):
    type: Literal[
        "invalid_request_error", "authentication_error", "permission_error", "not_found_error", "timeout_error",
        "request_too_large", "rate_limit_error", "overloaded_error", "api_error",
    ]
    message: str


class AnthropicErrorAnswer(Answer):
    """Anthropic's error envelope."""

    type: Literal["error"]
    error: AnthropicError
    request_id: str


# ---------------------------------------------------------------- Google


class GoogleFieldViolation(Answer):
    field: str = Field(description="The JSON path of the culprit.")
    description: str


class GoogleBadRequest(Answer):
    """Which field is at fault. Only where a single one is."""

    type_url: Literal["type.googleapis.com/google.rpc.BadRequest"] = Field(alias="@type")
    field_violations: list[GoogleFieldViolation] = Field(alias="fieldViolations")


class GoogleRetryInfo(Answer):
    """When to try again. Only where there is a time."""

    type_url: Literal["type.googleapis.com/google.rpc.RetryInfo"] = Field(alias="@type")
    retry_delay: str = Field(alias="retryDelay", description='Seconds with an s, such as "2s".')


class GoogleRequestInfo(Answer):
    """Which request it was, for the log."""

    type_url: Literal["type.googleapis.com/google.rpc.RequestInfo"] = Field(alias="@type")
    request_id: str = Field(alias="requestId")


class GoogleStatus(Answer):
    """A google.rpc.Status. code is the HTTP status."""

    code: int
    message: str
    status: Literal[
        "INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "UNIMPLEMENTED", "DEADLINE_EXCEEDED",
        "RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL",
    ]
    details: list[GoogleBadRequest | GoogleRetryInfo | GoogleRequestInfo]


class GoogleErrorAnswer(Answer):
    """Google's error envelope."""

    error: GoogleStatus


def describe_errors(wire: Wire) -> dict[int | str, dict[str, Any]]:
    """FastAPI's `responses` of the routes whose errors are written in this dialect."""
    model = ERROR_ANSWERS[wire.name]
    refused = {"model": model, "description": "Refused: code is stable, field is the JSON path of the culprit."}
    busy = {
        "model": model, "headers": RETRY_AFTER,
        "description": "Too busy, or a tokenizer is not available; Retry-After says when to come again.",
    }
    return {"4XX": {**refused, "headers": RETRY_AFTER}, **dict.fromkeys(wire.busy, busy)}


RETRY_AFTER: Mapping[str, Any] = {
    "Retry-After": {"schema": {"type": "integer", "minimum": 1}, "description": "Seconds, where there is a time."},
}

ERROR_ANSWERS: Mapping[str, type[Answer]] = {
    "native": ErrorAnswer, "openai": OpenAIErrorAnswer, "anthropic": AnthropicErrorAnswer, "google": GoogleErrorAnswer,
    "vllm": VllmErrorAnswer, "litellm": LiteLLMErrorAnswer,
}
"""By the name of the wire format (`service.dialects.fields.Wire.name`)."""
