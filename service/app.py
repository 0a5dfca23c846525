"""The app: what is made once, which routes there are, what happens at start and at the end. Nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from service.api.auth import Guard, guard_routes
from service.api.body import BodyLimits
from service.api.cors import Cors
from service.api.decision_routes import decision_routes, described_decisions
from service.api.fast_path import Express
from service.api.health import Readiness, pages
from service.api.inspection_routes import described_inspections, inspection_models, inspection_routes
from service.api.middleware import Edge
from service.api.operations import Count, CountBatch, Direct
from service.api.pages import MOUNT, web_routes
from service.api.request_log import Books
from service.api.routers.decisions import Deciders
from service.api.routes import JsonRoute, ServiceParts
from service.api.routing import Directory
from service.api.usage_routes import described_usage, usage_routes
from service.auth.admission import open_keys, open_limiter
from service.auth.key_store import Keys
from service.cache.responses import Replies
from service.concurrency.byte_budget import ByteBudget
from service.concurrency.periodic import Beat
from service.concurrency.thread_pool import Workers
from service.counting.conversations import Beginnings
from service.counting.counter import Counter
from service.dialects import native, native_schema
from service.dialects.registry import FOREIGN_ENDPOINTS, WIRES
from service.observability.metrics import Metrics
from service.services import STORE_THREADS, OperatorFiles, open_backends
from service.settings import Settings

if TYPE_CHECKING:
    from service.api.openapi import Described

ENDPOINTS = (native.COUNT, *FOREIGN_ENDPOINTS)

BATCH_PATH = "/v1/countTokens:batch"


class App(Starlette):
    """Requests pass through our edge alone: it answers whatever happens inside, so no other middleware is needed."""

    def build_middleware_stack(self) -> ASGIApp:
        return Edge(self.state.guard, self.state.books, self.state.readiness, self.state.cors)

    def openapi(self) -> dict[str, Any]:
        """The document of every route."""
        from service.api.openapi import make_document  # noqa: PLC0415  not needed to serve
        from service.api.schemas.decision_bodies import BODIES  # noqa: PLC0415
        from service.api.schemas.usage_wire import UsageBody  # noqa: PLC0415

        return make_document(described_routes(), (*native_schema.MODELS, *inspection_models(), *BODIES, UsageBody))

    def reload(self) -> bool:
        """Read catalog and budgets again, for SIGHUP. Never raises: False where they stay as they were, and the log
        says why. May take a while: call it in a thread."""
        reloaded: bool = self.state.operator_files.reload()
        return reloaded


def create_app(settings: Settings | None = None) -> App:
    """A service by its settings (the environment's when none are given). Loads no tokenizer before the lifespan starts.

    Raises CatalogFileError where what the operator wrote cannot be used, KeyStoreError likewise for keys.
    """
    settings = settings or Settings()
    files = OperatorFiles(settings)
    metrics = Metrics()
    backends = open_backends(settings, metrics)
    counter = Counter(backends.segments)
    parts = ServiceParts(
        counter=counter,
        workers=Workers(settings.threads, settings.queue, settings.request_seconds),
        metrics=metrics,
        limits=BodyLimits(settings.max_body_bytes, settings.body_seconds),
        budget=ByteBudget(settings.inflight_bytes),
        inline_bytes=settings.inline_bytes,
        replies=Replies(settings.cache_bytes // 4, metrics),
        beginnings=Beginnings(counter.count, settings.cache_bytes // 8, shared=settings.redis_url is not None),
        ledger=backends.ledger,
    )
    asking = replace(parts, workers=Workers(STORE_THREADS, settings.queue, settings.request_seconds))
    keys, limiter = open_keys(settings), open_limiter(settings, metrics)
    readiness = Readiness(
        settings.warm, parts.metrics, parts.counter, backends.report, lambda: keys is None or keys.ring is not None
    )
    housekeeping = Beat("housekeeping", HOUSEKEEPING_SECONDS, lambda: keep_house(metrics, keys))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        readiness.start()
        backends.start()
        await limiter.open()
        if keys is not None and keys.ring is None:
            await asyncio.to_thread(keys.refresh)  # before the first request, which would be refused
        housekeeping.start()
        yield
        readiness.stop()
        parts.workers.close()
        asking.workers.close()
        await limiter.close()
        backends.stop()
        housekeeping.stop()

    app = App(lifespan=lifespan)
    deciders = Deciders(parts.counter, backends.leases, lambda: files.budgets)
    app.state.parts, app.state.readiness, app.state.operator_files = parts, readiness, files
    app.state.keys, app.state.cors = keys, Cors(settings.cors_origins)
    app.state.books = Books(metrics, backends.ledger)
    directory = Directory(app.router)
    app.state.guard = Guard(
        directory, app.routes, keys, limiter=limiter, public=settings.public, projects=settings.projects,
        cors=app.state.cors,
    )
    app.state.express = Express(app.state.guard, directory, app.state.books, readiness, app.state.cors)
    app.router.redirect_slashes = False
    app.router.routes.extend((
        *count_routes(parts), *decision_routes(parts, asking, deciders), *inspection_routes(parts),
        *usage_routes(parts, asking),
        *page_routes(app), *web_routes(),
    ))
    guard_routes(app.routes)
    paths = (route.path for route in app.routes if isinstance(route, Route))
    parts.metrics.watch(parts.workers, parts.budget, (*paths, MOUNT))
    return app


HOUSEKEEPING_SECONDS = 1.0


def keep_house(metrics: Metrics, keys: Keys | None) -> None:
    """What is done every second: gauges that other workers' scrapes read, keys that were added or revoked."""
    metrics.sample()
    if keys is not None:
        keys.refresh()


# ---------------------------------------------------------------- routes


def count_routes(parts: ServiceParts) -> Iterator[BaseRoute]:
    """The native count first, then its batch, then the endpoints of others."""
    count = Count(native.COUNT, parts.counter)
    for path in native.COUNT.paths:
        yield Route(path, JsonRoute(path, native.WIRE, count, parts, takes_text=True), methods=["POST"])
    batch = CountBatch(parts.counter, parts.metrics)
    yield Route(BATCH_PATH, JsonRoute(BATCH_PATH, native.WIRE, batch, parts), methods=["POST"])
    for endpoint in FOREIGN_ENDPOINTS:
        operation = Count(endpoint, parts.counter) if endpoint.direct is None else Direct(endpoint.direct)
        for path in endpoint.paths:
            yield Route(path, JsonRoute(path, WIRES[endpoint.wire], operation, parts), methods=["POST"])


def page_routes(app: App) -> Iterator[BaseRoute]:
    for page in pages(app.state.readiness, app.state.parts.metrics, app.openapi):
        yield Route(page.path, page, methods=["GET"])


def described_routes() -> Iterator[Described]:
    """What the OpenAPI document says, in the order of the routes (tests/api/test_app.py proves none is missing)."""
    from service.api.openapi import Described, describe_endpoint  # noqa: PLC0415

    yield from describe_endpoint(native.COUNT, takes_text=True)
    yield Described(
        BATCH_PATH, "post", "count_tokens_batch", "Count up to 1,000 things in one call", "native",
        native_schema.reference(native_schema.BatchAnswer), native_schema.EXAMPLE_BATCH_ANSWER,
        native_schema.reference(native_schema.BatchBody), native_schema.EXAMPLE_BATCH_BODY,
    )
    for endpoint in FOREIGN_ENDPOINTS:
        yield from describe_endpoint(endpoint)
    yield from described_decisions()
    yield from described_inspections()
    yield from described_usage()
    yield Described(
        "/v1/tokenizers", "get", "tokenizers", "Every tokenizer: its data, its engines", "native",
        native_schema.reference(native_schema.TokenizersAnswer), native_schema.EXAMPLE_TOKENIZERS,
    )
    status = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}
    yield Described("/livez", "get", "livez", "Is the process alive", "operations", status, {"status": "alive"})
    yield Described(
        "/readyz", "get", "readyz", "Is it ready: every warmed tokenizer answers rightly", "operations",
        status, native_schema.EXAMPLE_READY, others={503: "Not ready: starting, failed or draining."},
    )
    yield Described(
        "/metrics", "get", "metrics", "Prometheus metrics", "operations", {"type": "string"},
        "tallystick_requests_in_flight 1.0\n", media="text/plain",
    )
