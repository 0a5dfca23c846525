"""The app: FastAPI with our routers, one middleware, and what all requests share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig

from service import __version__
from service.api.auth import Authenticator
from service.api.cors import Cors
from service.api.docs import OpenApi, make_openapi
from service.api.middleware import RequestMiddleware
from service.api.pipeline import Pipeline
from service.api.request_log import RequestLog
from service.api.routers import ROUTERS
from service.api.routing import RouteCache
from service.api.site import WEB
from service.services import Services, open_services
from service.settings import Settings


def create_app(settings: Settings | None = None) -> FastAPI:
    """A service by its settings (the environment's when none are given). No tokenizer is loaded before it starts.

    Raises CatalogFileError where what the operator wrote cannot be used, KeyStoreError likewise for keys.
    """
    services = open_services(settings or Settings())
    app = FastAPI(
        title="Tallystick", version=__version__, summary="How many input tokens will this request be billed for?",
        lifespan=_lifespan, openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False,
        separate_input_output_schemas=False, telemetry=NO_TELEMETRY,
    )
    for router in ROUTERS:
        app.router.routes.extend(router.routes)  # include_router would build each of them again, in 2 ms
    pipeline = _open_pipeline(services, RouteCache(app))
    app.state.services, app.state.pipeline, app.state.openapi = services, pipeline, OpenApi(app)
    app.openapi = lambda: make_openapi(app)  # type: ignore[method-assign]
    app.add_middleware(RequestMiddleware, pipeline=pipeline)
    services.metrics.watch(services.pool, services.body_budget, [*pipeline.routes.labels, WEB])
    return app


NO_TELEMETRY: TelemetryConfig = {
    "tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False
}
"""FastAPI's own OpenTelemetry: off, because a promise of this service is that it connects to nothing but Redis."""


def _open_pipeline(services: Services, routes: RouteCache) -> Pipeline:
    settings = services.settings
    cors = Cors(settings.cors_origins)
    authenticator = Authenticator(services.keys, services.limiter, cors, settings.public, settings.projects)
    return Pipeline(services, routes, authenticator, cors, RequestLog(services.metrics, services.ledger))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    services: Services = app.state.services
    app.state.pipeline.routes.read()  # whoever embeds the app may have added routes, and these have scopes, too
    await services.start()
    yield
    await services.stop()
