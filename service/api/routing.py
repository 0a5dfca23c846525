"""From a path to its route: what was found once is remembered, for trying route by route takes longer than a count."""

from __future__ import annotations

from starlette.routing import Match, Route, Router
from starlette.types import Receive, Scope, Send

from service.types import Json

REMEMBERED = 1_024
"""Paths; a path may hold a model's name, so callers can make up any number of them."""


class Directory:
    """An ASGI app in front of a router: a request whose path leads to a route goes there at once. What leads to a
    mount, to nothing, or to a route of another method is left to the router."""

    def __init__(self, router: Router) -> None:
        self.router = router
        self._known: dict[tuple[str, str, str], tuple[Route, dict[str, Json]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self.find(scope) if scope["type"] == "http" else None
        if found is None:
            await self.router(scope, receive, send)
        else:
            route, scope["path_params"] = found
            await route.app(scope, receive, send)

    def find(self, scope: Scope) -> tuple[Route, dict[str, Json]] | None:
        """The route that a path leads to, and the parameters in it."""
        place = (scope["method"], scope["path"], scope.get("root_path", ""))
        return self._known.get(place) or self._find(place, scope)

    def _find(self, place: tuple[str, str, str], scope: Scope) -> tuple[Route, dict[str, Json]] | None:
        for route in self.router.routes:
            match, child = route.matches(scope)
            if match is Match.FULL:
                if not isinstance(route, Route):
                    return None
                if len(self._known) >= REMEMBERED:
                    self._known.clear()
                self._known[place] = route, child["path_params"]
                return self._known[place]
        return None
