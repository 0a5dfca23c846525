"""Anthropic's error envelope."""

from __future__ import annotations

from collections.abc import Mapping

from service.dialects.endpoints import Wire
from service.errors import ServiceError
from service.types import Json

OVERLOADED = 529
"""Anthropic's own status for a service that is too busy. Its SDKs retry after it as after a 503."""

_ERROR_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    OVERLOADED: "overloaded_error",
}


def make_error(error: ServiceError, request_id: str) -> tuple[int, Json]:
    status = OVERLOADED if error.code == "overloaded" else error.status
    kind = _ERROR_TYPES.get(status) or ("invalid_request_error" if status < 500 else "api_error")
    return status, {"type": "error", "error": {"type": kind, "message": error.message}, "request_id": request_id}


WIRE = Wire("anthropic", make_error, busy=(503, OVERLOADED))
