"""How a count endpoint of a provider reads a body and words its answer, and how a provider words an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from service.errors import ServiceError
from service.types import CountRequest, Json, TokenCount


@dataclass(frozen=True, slots=True)
class Wire:
    """How a provider words an error: `error(error, request_id)` -> (HTTP status, body).

    `busy` are the statuses of a service that cannot answer now.
    """

    name: str
    error: Callable[[ServiceError, str], tuple[int, Json]]
    busy: tuple[int, ...] = (503,)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A count endpoint. Its paths, and the models that describe it, are in `service/api/routers`.

    `read(body, params)` gives the CountRequest, where `params` are path parameters by name, or raises ServiceError.
    `answer(count)` is the provider's own response body. `reply(request, count)` takes its place where the answer needs
    the request, too, such as the ids of its text.
    """

    wire: Wire
    read: Callable[[Json, Mapping[str, str]], CountRequest]
    answer: Callable[[TokenCount], Json]
    reply: Callable[[CountRequest, TokenCount], Json] | None = None
