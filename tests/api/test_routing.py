from __future__ import annotations

from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.routing import Mount, Route, Router
from starlette.types import Receive, Scope, Send

from service.api import routing
from service.api.routing import Directory


class Says:
    """An ASGI app that notes that it was reached, with which parameters."""

    def __init__(self, name: str, reached: list[Any]) -> None:
        self.name = name
        self.reached = reached

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.reached.append((self.name, scope["path_params"]))


@pytest.fixture
def reached() -> list[Any]:
    return []


@pytest.fixture
def directory(reached: list[Any]) -> Directory:
    routes = [
        Route("/count", Says("count", reached), methods=["POST"]),
        Route("/models/{name}", Says("model", reached), methods=["GET"]),
        Route("/models/special", Says("never", reached), methods=["GET"]),
        Mount("/files", Says("files", reached)),
    ]
    return Directory(Router(routes, redirect_slashes=False))


async def ask(directory: Directory, method: str, path: str) -> None:
    async def nothing(*_: Any) -> Any:
        return {}

    scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": [], "app": object()}
    await directory(scope, nothing, nothing)


async def test_the_first_time_and_every_time_after_the_first_route_that_matches_is_reached(
    directory: Directory, reached: list[Any]
) -> None:
    for _ in range(3):
        await ask(directory, "POST", "/count")
        await ask(directory, "GET", "/models/special")
        await ask(directory, "GET", "/models/other")
    assert reached == 3 * [("count", {}), ("model", {"name": "special"}), ("model", {"name": "other"})]


async def test_a_mount_is_reached_through_the_router(directory: Directory, reached: list[Any]) -> None:
    await ask(directory, "GET", "/files/a.css")
    assert [name for name, _ in reached] == ["files"]


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/count", 405), ("GET", "/nowhere", 404)])
async def test_what_leads_nowhere_is_refused_as_before_also_the_second_time(
    directory: Directory, method: str, path: str, status: int
) -> None:
    await ask(directory, "POST", "/count")
    for _ in range(2):
        with pytest.raises(HTTPException) as refusal:
            await ask(directory, method, path)
        assert refusal.value.status_code == status


async def test_made_up_paths_do_not_fill_the_memory(directory: Directory, reached: list[Any]) -> None:
    for number in range(2 * routing.REMEMBERED + 10):
        await ask(directory, "GET", f"/models/m{number}")
    assert len(directory._known) <= routing.REMEMBERED
    assert reached[-1] == ("model", {"name": f"m{2 * routing.REMEMBERED + 9}"})
