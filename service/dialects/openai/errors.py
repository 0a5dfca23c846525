"""OpenAI's error envelope."""

from __future__ import annotations

from collections.abc import Mapping

from service.dialects.endpoints import Wire
from service.errors import ServiceError
from service.types import Json

_ERROR_TYPES: Mapping[int, str] = {
    401: "invalid_request_error", 404: "invalid_request_error", 429: "rate_limit_error", 503: "server_error",
    500: "server_error",
}
_ERROR_CODES: Mapping[str, str | None] = {
    "unauthorized": "invalid_api_key", "unknown_model": "model_not_found", "rate_limited": "rate_limit_exceeded",
    "too_large": "request_too_large", "overloaded": "server_overloaded", "invalid_request": None, "internal": None,
}


def make_error(error: ServiceError, request_id: str) -> tuple[int, Json]:
    """OpenAI's error envelope. The code is OpenAI's where it has one, else ours."""
    return error.status, {
        "error": {
            "message": error.message,
            "type": _ERROR_TYPES.get(error.status, "invalid_request_error"),
            "param": error.field,
            "code": _ERROR_CODES.get(error.code, error.code),
        }
    }


WIRE = Wire("openai", make_error)
