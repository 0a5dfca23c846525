"""From a path to its route, what a ServiceRoute does with a body, and what an app may not have."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from service.api import routing
from service.api.auth import needs
from service.api.routing import RawRoute, RouteCache, ServiceRoute
from tests.auth.test_auth import Door, bearer
from tests.support.web import client_of, make_app


def scope(method: str, path: str) -> Scope:
    return {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}


@pytest.fixture
def routes() -> RouteCache:
    router = APIRouter(route_class=ServiceRoute)

    @router.post("/count")
    def count() -> None:
        """Takes POST alone."""

    @router.get("/count")
    def get_count() -> None:
        """The same path by another method."""

    @router.get("/models/{name}")
    def model(name: str) -> None:
        """Any name."""

    @router.get("/models/special")
    def never() -> None:
        """Stands behind a route that takes its path."""

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.include_router(router)
    return RouteCache(app)


def find(routes: RouteCache, method: str, path: str) -> tuple[str, dict[str, Any]] | None:
    found = routes.find(scope(method, path))
    return None if found is None else (found[0].name, found[1])


# ---------------------------------------------------------------- from a path to its route


def test_the_first_time_and_every_time_after_the_first_route_that_matches_is_found(routes: RouteCache) -> None:
    for _ in range(3):
        assert find(routes, "POST", "/count") == ("count", {})
        assert find(routes, "GET", "/count") == ("get_count", {})
        assert find(routes, "GET", "/models/special") == ("model", {"name": "special"})
        assert find(routes, "GET", "/models/other") == ("model", {"name": "other"})


def test_head_finds_the_route_of_get(routes: RouteCache) -> None:
    for _ in range(2):
        assert find(routes, "HEAD", "/models/other") == ("model", {"name": "other"})
        assert find(routes, "HEAD", "/count") == ("get_count", {})


@pytest.mark.parametrize(("method", "path"), [("PUT", "/count"), ("GET", "/nowhere"), ("HEAD", "/count/")])
def test_what_leads_nowhere_leads_nowhere_also_the_second_time(routes: RouteCache, method: str, path: str) -> None:
    find(routes, "POST", "/count")
    assert [find(routes, method, path) for _ in range(2)] == [None, None]


def test_the_methods_of_a_path_are_those_of_all_routes_of_its_template(routes: RouteCache) -> None:
    assert routes.find_methods(scope("PUT", "/count")) == {"GET", "HEAD", "POST"}
    assert routes.find_methods(scope("PUT", "/models/x")) == {"GET", "HEAD"}
    assert routes.find_methods(scope("PUT", "/nowhere")) == set()


def test_made_up_paths_do_not_fill_the_memory(routes: RouteCache) -> None:
    for number in range(2 * routing.MAX_REMEMBERED + 10):
        assert find(routes, "GET", f"/models/m{number}") == ("model", {"name": f"m{number}"})
    assert len(routes._known) <= routing.MAX_REMEMBERED


# ---------------------------------------------------------------- what an app may have


async def _page(_: Request) -> PlainTextResponse:
    return PlainTextResponse("open to everybody")


async def _files(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("open to everybody")(scope, receive, send)


@pytest.mark.parametrize(
    "route", [Route("/page", _page), Mount("/files", _files)], ids=["a route of Starlette", "a mount"]
)
def test_a_route_that_no_key_can_be_asked_for_is_a_type_error_at_the_start(route: Any) -> None:
    app = make_app(warm=())
    app.router.routes.append(route)
    with pytest.raises(TypeError, match=f"{type(route).__name__} is no route that a key could be asked for"):
        RouteCache(app)


def test_a_route_of_fastapi_itself_is_a_type_error_too() -> None:
    app = make_app(warm=())
    app.get("/page")(_page)
    with pytest.raises(TypeError, match="APIRoute"):
        RouteCache(app)


@pytest.mark.parametrize(
    "route", [Route("/page", _page), Mount("/files", _files)], ids=["a route of Starlette", "a mount"]
)
async def test_an_app_that_was_given_such_a_route_later_does_not_start(route: Any) -> None:
    app = make_app(warm=())
    app.router.routes.append(route)
    with pytest.raises(TypeError, match="no route that a key could be asked for"):
        async with app.router.lifespan_context(app):
            pass


async def test_a_router_that_is_included_later_is_known_at_the_start_with_its_scope(tmp_path: Path) -> None:
    door = Door(tmp_path)
    router = APIRouter(route_class=ServiceRoute, dependencies=[needs("usage")])

    @router.get("/v1/later")
    async def later() -> dict[str, int]:
        """Of an app that wraps ours."""
        return {"later": 1}

    door.app.include_router(router)
    async with door.app.router.lifespan_context(door.app), client_of(door.app) as client:
        assert (await client.get("/v1/later")).status_code == 401
        assert (await client.get("/v1/later", headers=bearer(door.key("count")))).status_code == 403
        answer = await client.get("/v1/later", headers=bearer(door.key("usage")))
    assert (answer.status_code, answer.json()) == (200, {"later": 1})


def test_a_count_route_without_an_operation_is_a_type_error() -> None:
    router = APIRouter(route_class=RawRoute)
    with pytest.raises(TypeError, match="decorate the endpoint of a RawRoute"):
        router.post("/count")(lambda: None)


# ---------------------------------------------------------------- every route of the service


APP = make_app(warm=())


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(APP) as client:
        yield client


def paths(app: FastAPI) -> dict[str, set[str]]:
    """A path of every template, with a value for each parameter -> the methods of the first template that fits it."""
    values = {"name": "none", "model_id:path": "gpt-4o", "revision": "x", "path:path": "js/main.js"}
    routes, found = app.state.pipeline.routes.routes, {}
    for route in routes:
        path = re.sub(r"{(.+?)}", lambda name: values.get(name[1], "gemini-2.5-flash"), route.path)
        first = next(other.path for other in routes if other.path_regex.match(path))
        found[path] = {method for other in routes if other.path == first for method in other.methods}
        found[path] |= {"HEAD"} if "GET" in found[path] else set()
    return found


PATHS = paths(APP)


@pytest.mark.parametrize("path", sorted(path for path, methods in PATHS.items() if "GET" in methods))
async def test_head_is_answered_like_get_without_a_body(client: httpx.AsyncClient, path: str) -> None:
    whole, head = await client.get(path), await client.head(path)
    assert (head.status_code, head.headers["content-type"]) == (whole.status_code, whole.headers["content-type"])
    if path != "/metrics":  # the first scrape is counted in the second
        assert head.headers["content-length"] == whole.headers["content-length"]


GEMINI = "/v1/models/gemini-2.5-flash:countTokens"
"""GET would look for a model of this name. Allow names what the path is there for, as OpenAPI does."""


@pytest.mark.parametrize("path", sorted(PATHS))
async def test_a_method_that_a_path_does_not_take_is_a_405_that_names_all_it_takes(
    client: httpx.AsyncClient, path: str
) -> None:
    taken = {"GET"} if path == "/v1/models/gemini-2.5-flash:countTokens" else set()  # by GET /v1/models/{model_id}
    for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} - PATHS[path] - taken:
        answer = await client.request(method, path)
        assert answer.status_code == 405, (method, path)
        allowed = {"POST"} if path == GEMINI else PATHS[path]
        assert set(answer.headers["allow"].split(", ")) == allowed, (method, path)


# ---------------------------------------------------------------- bodies of a ServiceRoute

FIRST = '{"model": "gpt-4o", "text": "hello", "max_tokens": 9}'

BODIES = {
    "/v1/estimateCost": '{"model": "gpt-4o", "usage": {"input": 1}}',
    "/v1/checkBudget": '{"model": "gpt-4o", "text": "hello"}',
    "/v1/compare": '{"models": ["gpt-4o"], "text": "hello"}',
    "/v1/truncate": FIRST, "/v1/split": FIRST, "/v1/explain": '{"tokenizer": "gpt2", "text": "hello"}',
    "/v1/tokenize": '{"tokenizer": "gpt2", "text": "hello"}', "/v1/detokenize": '{"tokenizer": "gpt2", "ids": [1]}',
    "/v1/bpe/train": '{"corpus": "low low", "merges": 1}',
    "/v1/usage": '{"model": "gpt-4o", "usage": {"prompt_tokens": 1, "completion_tokens": 1}}',
    "/v1/budgets/none/reserve": '{"tokens": 1}', "/v1/budgets/none/settle": '{"lease_id": "x", "tokens": 1}',
    "/v1/budgets/none/release": '{"lease_id": "x"}',
}


def test_every_service_route_with_a_body_is_asked() -> None:
    asked = {
        route.path.replace("{name}", "none") for route in APP.state.pipeline.routes.routes
        if isinstance(route, ServiceRoute) and route.body_field is not None
    }
    assert asked == set(BODIES)


@pytest.mark.parametrize(
    "sent", ["application/json", "application/x-www-form-urlencoded", "text/json", "text/plain", "x", "", None]
)
@pytest.mark.parametrize("path", BODIES)
async def test_json_is_taken_whatever_its_content_type_says(
    client: httpx.AsyncClient, path: str, sent: str | None
) -> None:
    headers = {} if sent is None else {"content-type": sent}
    answer = await client.post(path, content=BODIES[path].encode(), headers=headers)
    assert answer.status_code == (404 if "/none/" in path else 200), answer.text  # there is no budget of that name


@pytest.mark.parametrize(
    "sent", ["multipart/form-data; boundary=x", "image/png", "Audio/wav", "video/mp4", "application/octet-stream"]
)
@pytest.mark.parametrize("path", BODIES)
async def test_the_type_of_a_file_is_a_415(client: httpx.AsyncClient, path: str, sent: str) -> None:
    answer = await client.post(path, content=BODIES[path].encode(), headers={"content-type": sent})
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "unsupported_media")


@pytest.mark.parametrize("blanks", [0, 100_000])
async def test_a_body_is_read_in_the_thread_that_answers_it(monkeypatch: pytest.MonkeyPatch, blanks: int) -> None:
    """It waits for a thread once, so one deadline holds for reading and answering."""
    where: list[bool] = []
    app = make_app(warm=())
    read, run = routing.read_json, app.state.services.pool.run
    runs = 0

    def watch(content: bytes) -> Any:
        where.append(threading.current_thread() is threading.main_thread())
        return read(content)

    async def count(work: Any) -> Any:
        nonlocal runs
        runs += 1
        return await run(work)

    monkeypatch.setattr(routing, "read_json", watch)
    monkeypatch.setattr(app.state.services.pool, "run", count)
    async with client_of(app) as client:
        answer = await client.post("/v1/split", content=FIRST.encode() + b" " * blanks)
    assert answer.status_code == 200
    assert (where, runs) == ([False], 1)


async def test_where_all_threads_are_taken_a_plain_route_is_a_503_and_probes_go_on() -> None:
    app = make_app(warm=(), threads=1, queue=0)
    entered, let_go = threading.Event(), threading.Event()

    def wait() -> None:
        entered.set()
        let_go.wait(60)

    async with client_of(app) as client:
        taken = asyncio.ensure_future(app.state.services.pool.run(wait))
        await asyncio.to_thread(entered.wait, 60)
        try:
            for method, path in (("POST", "/v1/split"), ("GET", "/v1/models")):
                refused = await client.request(method, path, content=FIRST if method == "POST" else None)
                assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded"), path
                assert refused.headers["retry-after"] == "1"
            assert (await client.get("/livez")).status_code == 200
            assert (await client.get("/readyz")).json()["status"] == "starting"
            assert "tallystick_rejections_total" in (await client.get("/metrics")).text
            assert (await client.get("/")).status_code == 200
            assert (await client.get("/v1/tokenizers")).status_code == 200
            assert (await client.get("/v1/usage")).status_code == 200  # has threads of its own
        finally:
            let_go.set()
            await taken
        assert (await client.post("/v1/split", content=FIRST)).status_code == 200
