"""create_app: an ordinary FastAPI app, made in few lines."""

from __future__ import annotations

import inspect

from fastapi import FastAPI

from service.api.middleware import RequestMiddleware
from service.api.routing import RawRoute, ServiceRoute
from service.app import create_app
from service.settings import Settings
from tests.support.web import client_of, make_app

MAX_LINES = 30


def test_it_is_an_app_of_fastapi_made_in_few_lines() -> None:
    assert isinstance(create_app(Settings(warm=())), FastAPI)
    assert len(inspect.getsource(create_app).splitlines()) <= MAX_LINES


def test_there_is_one_middleware_and_there_are_two_kinds_of_routes() -> None:
    app = make_app(warm=())
    assert [repr(middleware.cls) for middleware in app.user_middleware] == [repr(RequestMiddleware)]
    assert all(isinstance(route, RawRoute | ServiceRoute) for route in app.state.pipeline.routes.routes)


async def test_apps_of_one_process_share_no_counts_no_budgets_and_no_metrics() -> None:
    one, other = make_app(warm=()), make_app(warm=())
    async with client_of(one) as client:
        await client.post("/v1/countTokens", json={"model": "gpt-4o", "text": "hello"})
    samples = [
        app.state.services.metrics.registry.get_sample_value(
            "tallystick_requests_total", {"route": "/v1/countTokens", "status": "2xx"}
        )
        for app in (one, other)
    ]
    assert samples == [1, None]
    assert one.state.services.counter is not other.state.services.counter
    assert one.state.services.leases is not other.state.services.leases


async def test_it_is_ready_while_its_lifespan_runs_and_drains_after() -> None:
    app = make_app(warm=("gpt2",))
    readiness = app.state.services.readiness
    async with app.router.lifespan_context(app), client_of(app) as client:
        readiness.join()
        assert (await client.get("/readyz")).json()["status"] == "ready"
        assert (await client.get("/livez")).headers.get("connection") is None
    assert readiness.report()[1]["status"] == "draining"
    async with client_of(app) as client:
        assert (await client.get("/livez")).headers["connection"] == "close"
