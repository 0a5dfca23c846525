"""The rows that make the routes of the providers, and how each provider words an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from service.errors import ServiceError
from service.types import CountRequest, Json, TokenCount


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's count endpoint that we speak.

    `paths` are FastAPI paths. `read(body, params)` gives the CountRequest (params: path parameters by name) or raises
    ServiceError; `answer(count)` is the provider's own response body. `example` is (request, response) for OpenAPI;
    `request_schema` and `response_schema` are JSON schemas for the same.

    `reply(request, count)` takes the place of `answer` where the answer needs the request too (the ids of its text).
    `direct(body)` answers a route that counts nothing; `read` and `answer` are not asked then.
    """

    name: str
    paths: tuple[str, ...]
    summary: str
    read: Callable[[Json, Mapping[str, str]], CountRequest]
    answer: Callable[[TokenCount], Json]
    example: tuple[Json, Json]
    request_schema: Mapping[str, Any]
    response_schema: Mapping[str, Any]
    wire: str
    reply: Callable[[CountRequest, TokenCount], Json] | None = None
    direct: Callable[[Json], Json] | None = None


@dataclass(frozen=True, slots=True)
class Wire:
    """How a provider words an error: `error(error, request_id)` -> (HTTP status, body).

    `error_schema` is the JSON schema of that body, `busy` the statuses of a service that cannot answer now.
    """

    name: str
    error: Callable[[ServiceError, str], tuple[int, Json]]
    error_schema: Mapping[str, Any]
    busy: tuple[int, ...] = (503,)


def schema_object(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The JSON schema of an object with these members."""
    return {"type": "object", "required": [*required], "properties": {**required, **(optional or {})}}


def any_of(*schemas: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [*schemas]}


NULL: Mapping[str, Any] = {"type": "null"}
STRING: Mapping[str, Any] = {"type": "string"}
OBJECT: Mapping[str, Any] = {"type": "object"}
OBJECTS: Mapping[str, Any] = any_of({"type": "array", "items": OBJECT}, OBJECT, NULL)
"""A list of objects, one object that stands for a list of one, or nothing: what `each` takes."""
