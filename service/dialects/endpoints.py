"""The rows that make the routes of the providers, and how each provider words an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from service.errors import ServiceError
from service.types import CountRequest, Json, TokenCount


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's count endpoint that we speak.

    `paths` are FastAPI paths. `read(body, params)` gives the CountRequest (params: path parameters by name) or raises
    ServiceError; `answer(count)` is the provider's own response body.

    `reply(request, count)` takes the place of `answer` where the answer needs the request too (the ids of its text).
    `direct(body)` answers a route that counts nothing; `read` and `answer` are not asked then.
    """

    name: str
    paths: tuple[str, ...]
    summary: str
    read: Callable[[Json, Mapping[str, str]], CountRequest]
    answer: Callable[[TokenCount], Json]
    wire: str
    reply: Callable[[CountRequest, TokenCount], Json] | None = None
    direct: Callable[[Json], Json] | None = None


@dataclass(frozen=True, slots=True)
class Wire:
    """How a provider words an error: `error(error, request_id)` -> (HTTP status, body).

    `busy` are the statuses of a service that cannot answer now.
    """

    name: str
    error: Callable[[ServiceError, str], tuple[int, Json]]
    busy: tuple[int, ...] = (503,)
