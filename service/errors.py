"""Every error of the service, as a tree of exceptions. Each has an HTTP status and a code that does not change.

    ServiceError
    ├── InvalidRequest          400 invalid_request
    ├── Unauthorized            401 unauthorized
    ├── Forbidden               403 forbidden
    ├── UnknownModel            404 unknown_model
    ├── NotFound                404 not_found
    ├── MethodNotAllowed        405 method_not_allowed
    ├── BodyTimeout             408 body_timeout
    ├── TooLarge                413 too_large
    ├── UnsupportedMedia        415 unsupported_media
    ├── RateLimited             429 rate_limited
    ├── Overloaded              503 overloaded
    │   └── DeadlineExceeded    503 deadline_exceeded
    ├── KeysUnavailable         503 keys_unavailable
    └── TokenizerUnavailable    503 tokenizer_unavailable

A message names the field that is wrong and says what to do. It never repeats the caller's text: no prompt may get into
logs, metrics or responses through an error.
"""

from __future__ import annotations


class ServiceError(Exception):
    """Base of the tree.

    `message` is for people. `field` is the JSON path of what is wrong (`messages[2].content[0].source.data`), or None.
    `retry_after` is in seconds.
    """

    status: int = 500
    code: str = "internal"

    def __init__(self, message: str, *, field: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.retry_after = retry_after


class InvalidRequest(ServiceError):
    status, code = 400, "invalid_request"


class Unauthorized(ServiceError):
    status, code = 401, "unauthorized"


class Forbidden(ServiceError):
    status, code = 403, "forbidden"


class UnknownModel(ServiceError):
    """`suggestions` lists the closest known names, best first."""

    status, code = 404, "unknown_model"

    def __init__(self, message: str, *, field: str | None = "model", suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(message, field=field)
        self.suggestions = suggestions


class NotFound(ServiceError):
    status, code = 404, "not_found"


class MethodNotAllowed(ServiceError):
    status, code = 405, "method_not_allowed"


class BodyTimeout(ServiceError):
    status, code = 408, "body_timeout"


class TooLarge(ServiceError):
    status, code = 413, "too_large"


class UnsupportedMedia(ServiceError):
    status, code = 415, "unsupported_media"


class RateLimited(ServiceError):
    status, code = 429, "rate_limited"


class Overloaded(ServiceError):
    status, code = 503, "overloaded"


class DeadlineExceeded(Overloaded):
    """The request has waited, or was counted, for longer than it may."""

    status, code = 503, "deadline_exceeded"


class KeysUnavailable(ServiceError):
    """No caller can be authenticated, because the API keys cannot be read."""

    status, code = 503, "keys_unavailable"


class TokenizerUnavailable(ServiceError):
    status, code = 503, "tokenizer_unavailable"
