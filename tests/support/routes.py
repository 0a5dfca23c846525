"""The count routes of the API, with their examples in the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from service.api.routers import ROUTERS
from service.api.routing import RawRoute
from service.api.schemas.examples import get_example


@dataclass(frozen=True)
class CountRoute:
    """A count route. In `path`, the parameters are replaced by examples."""

    name: str
    path: str
    route: RawRoute
    request: Any
    response: Any


def count_routes() -> Iterator[CountRoute]:
    """All RawRoutes. One with several paths is listed once for each path."""
    for router in ROUTERS:
        for route in router.routes:
            if isinstance(route, RawRoute):
                name = route.operation_id or ""
                example = get_example(name)
                path = re.sub(r"{[\w:]+}", "gemini-2.5-flash", route.path)
                yield CountRoute(name, path, route, example.request, example.response)
