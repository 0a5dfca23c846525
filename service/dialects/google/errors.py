"""Google's error envelope."""

from __future__ import annotations

from collections.abc import Mapping

from service.dialects.endpoints import Wire
from service.errors import ServiceError
from service.types import Json

_STATUSES: Mapping[int, str] = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    405: "UNIMPLEMENTED", 408: "DEADLINE_EXCEEDED", 413: "INVALID_ARGUMENT",
    415: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE",
}
_DETAIL = "type.googleapis.com/google.rpc."


def make_error(error: ServiceError, request_id: str) -> tuple[int, Json]:
    """Google's error envelope, with the details that its clients read: the field, when to retry, the request id."""
    details: list[Json] = []
    if error.field:
        violation = {"field": error.field, "description": error.message}
        details.append({"@type": f"{_DETAIL}BadRequest", "fieldViolations": [violation]})
    if error.retry_after is not None:
        details.append({"@type": f"{_DETAIL}RetryInfo", "retryDelay": f"{error.retry_after:g}s"})
    if request_id:
        details.append({"@type": f"{_DETAIL}RequestInfo", "requestId": request_id})
    status = _STATUSES.get(error.status, "INTERNAL")
    body = {"code": error.status, "message": error.message, "status": status, "details": details}
    return error.status, {"error": body}


WIRE = Wire("google", make_error)
