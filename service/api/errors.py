"""Errors as answers: every refusal in the envelope of the dialect that the caller speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from service.api.body import DRAIN_FACTOR, DRAIN_SECONDS, BodyRefused, drain
from service.api.context import get_context
from service.dialects.model_validation import to_invalid_request
from service.dialects.native import WIRE as NATIVE
from service.dialects.registry import find_wire
from service.errors import InvalidRequest, MethodNotAllowed, NotFound, ServiceError, Unauthorized

NO_PATH = "There is nothing at this path; GET /openapi.json lists what there is."

CHALLENGE = {"www-authenticate": 'Bearer realm="tallystick"'}


class ErrorResponse(Response):
    """A ServiceError in the envelope of the caller's dialect. The context gets its code; no count was given."""

    def __init__(self, scope: Scope, error: ServiceError, headers: Mapping[str, str] | None = None) -> None:
        context = get_context(scope)
        context.error, context.counts, context.billed = error.code, (), None
        dialect = context.dialect or find_wire(scope["path"]) or NATIVE
        status, body = dialect.error(error, context.request_id)
        super().__init__(to_json(body), status, {**(headers or {})}, "application/json")
        if isinstance(error, Unauthorized):
            self.headers.update(CHALLENGE)
        if error.retry_after is not None:
            self.headers["retry-after"] = str(max(1, round(error.retry_after)))


class BodyRefusedResponse(ErrorResponse):
    """The answer to a body that was not read to its end. What its sender still sends is read and dropped, within
    bounds, so that the sender gets to see the answer; then the connection closes."""

    def __init__(self, scope: Scope, refused: BodyRefused, max_bytes: int) -> None:
        super().__init__(scope, refused.error, {"connection": "close"})
        self.refused, self.max_bytes = refused, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        if self.refused.still_sending:
            await drain(receive, DRAIN_FACTOR * self.max_bytes, DRAIN_SECONDS)
        await send({"type": "http.response.body", "body": b""})


def translate_parameter_error(error: Mapping[str, Any], query_names: Sequence[str]) -> InvalidRequest:
    """What FastAPI found wrong with a parameter of path or query; `query_names` are those that the path takes."""
    place, *names = error["loc"]
    if place == "query" and error["type"] == "extra_forbidden":
        known = ", ".join(query_names) or "none"
        return InvalidRequest(
            f"The query has a parameter that this path does not take. It takes: {known}.", field=str(names[-1])[:64]
        )
    return to_invalid_request({**error, "loc": tuple(names)}, "")


def make_no_route_response(scope: Scope, methods: Set[str]) -> ErrorResponse:
    """The answer to a request that no route takes; `methods` are those that its path would take."""
    if methods:
        allow = ", ".join(sorted(methods))
        return ErrorResponse(scope, MethodNotAllowed("This path does not take that method."), {"allow": allow})
    return ErrorResponse(scope, NotFound(NO_PATH))
