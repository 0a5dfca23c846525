"""The app: what is made once, which routes there are, what happens at start and at the end. Nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from service import __version__
from service.bodies import BodyLimits, ByteBudget
from service.counter import Counter
from service.dialects import FOREIGN_ENDPOINTS, WIRES, native, native_schema
from service.edge import Edge
from service.metrics import Metrics
from service.openapi import DocumentedRoute, document, document_endpoint, gather_components
from service.operations import Count, CountBatch, Direct
from service.ops import Readiness, pages
from service.routes import JsonRoute, ServiceParts
from service.settings import Settings
from service.workers import Workers


class App(FastAPI):
    """FastAPI keeps the routes and writes their document; requests pass through our edge alone."""

    def build_middleware_stack(self) -> ASGIApp:
        return Edge(self.router, self.state.parts.metrics)

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = gather_components(super().openapi())
        return self.openapi_schema


def create_app(settings: Settings | None = None) -> App:
    """A service by its settings (the environment's when none are given). Loads nothing before the lifespan starts."""
    settings = settings or Settings()
    paths = [*ops_documents(), *(path for endpoint in ENDPOINTS for path in endpoint.paths), BATCH_PATH]
    parts = ServiceParts(
        counter=Counter.in_memory(settings.cache_bytes),
        workers=Workers(settings.threads, settings.queue),
        metrics=Metrics(paths),
        limits=BodyLimits(settings.max_body_bytes, settings.body_seconds),
        budget=ByteBudget(settings.inflight_bytes),
        inline_bytes=settings.inline_bytes,
    )
    readiness = Readiness(settings.warm, parts.metrics, parts.counter)
    parts.metrics.busy_workers.set_function(lambda: parts.workers.busy)
    parts.metrics.held_bytes.set_function(lambda: parts.budget.held)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        readiness.start()
        yield
        readiness.stop()
        parts.workers.close()

    app = App(
        title="Tallystick", version=__version__, summary="How many input tokens will this request be billed for?",
        docs_url=None, redoc_url=None, redirect_slashes=False, lifespan=lifespan,
    )
    app.state.parts, app.state.readiness = parts, readiness
    app.router.routes.extend((*count_routes(parts), *ops_routes(parts, readiness)))
    return app


# ---------------------------------------------------------------- routes

ENDPOINTS = (native.COUNT, *FOREIGN_ENDPOINTS)

BATCH_PATH = "/v1/countTokens:batch"


def count_routes(parts: ServiceParts) -> Iterator[BaseRoute]:
    """The native count first, then its batch, then every provider's own endpoints."""
    for endpoint in ENDPOINTS:
        is_native = endpoint is native.COUNT
        operation = Count(endpoint, parts.counter) if endpoint.direct is None else Direct(endpoint.direct)
        for number, path in enumerate(endpoint.paths):
            wire = native.WIRE if is_native else WIRES[endpoint.wire]
            route = JsonRoute(path, wire, operation, parts, takes_text=is_native)
            yield DocumentedRoute(path, route, ["POST"], **document_endpoint(endpoint, number, takes_text=is_native))
        if is_native:
            batch = JsonRoute(BATCH_PATH, native.WIRE, CountBatch(parts.counter, parts.metrics), parts)
            yield DocumentedRoute(BATCH_PATH, batch, ["POST"], **batch_document())


def batch_document() -> dict[str, Any]:
    return document(
        "count_tokens_batch", "Count up to 1,000 things in one call", "native",
        native_schema.schema_of(native_schema.BatchAnswer), native_schema.EXAMPLE_BATCH_ANSWER,
        body=native_schema.schema_of(native_schema.BatchBody), body_example=native_schema.EXAMPLE_BATCH_BODY,
    )


def ops_routes(parts: ServiceParts, readiness: Readiness) -> Iterator[BaseRoute]:
    documents = ops_documents()
    for page in pages(readiness, parts.metrics):
        yield DocumentedRoute(page.path, page, ["GET"], **documents[page.path])
        yield Route(page.path, page, methods=["HEAD"], include_in_schema=False)


def ops_documents() -> dict[str, dict[str, Any]]:
    status = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}
    return {
        "/livez": document("livez", "Is the process alive", "operations", status, {"status": "alive"}),
        "/readyz": document(
            "readyz", "Is it ready: every warmed tokenizer answers rightly", "operations", status,
            native_schema.EXAMPLE_READY, also={503: "Not ready; status is starting, failed or draining."},
        ),
        "/metrics": document("metrics", "Prometheus metrics", "operations", {"type": "string"}, media="text/plain"),
        "/v1/tokenizers": document(
            "tokenizers", "Every tokenizer: its data, its engines", "native",
            native_schema.schema_of(native_schema.TokenizersAnswer), native_schema.EXAMPLE_TOKENIZERS,
        ),
    }
