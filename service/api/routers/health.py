"""Is the process alive, is it ready, what has it done. Nothing here waits for a count or for a thread."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from prometheus_client.exposition import choose_encoder
from pydantic_core import to_json
from starlette.responses import Response

from service.api.auth import needs
from service.api.routing import ServiceRoute, Shared
from service.api.schemas.errors import describe_errors
from service.api.schemas.health import LiveAnswer, ReadyAnswer
from service.dialects import native
from service.types import Json

router = APIRouter(
    route_class=ServiceRoute, dependencies=[needs("metrics")], tags=["operations"],
    responses=describe_errors(native.WIRE),
)


@router.get("/livez", operation_id="livez", response_model=LiveAnswer, summary="Is the process alive")
async def livez() -> Json:
    """Answers as long as the event loop runs."""
    return {"status": "alive"}


@router.get(
    "/readyz", operation_id="readyz", response_model=ReadyAnswer,
    summary="Is it ready: every warmed tokenizer answers rightly",
    responses={503: {"model": ReadyAnswer, "description": "Not ready: starting, failed or draining."}},
)
async def readyz(services: Shared) -> Response:
    """Each warmed tokenizer is asked for a count that is known."""
    ready, report = services.readiness.report()
    return Response(to_json(report), 200 if ready else 503, media_type="application/json")


@router.get(
    "/metrics", operation_id="metrics", response_class=Response, summary="Prometheus metrics",
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(services: Shared, accept: Annotated[str, Header(include_in_schema=False)] = "") -> Response:
    """In the Prometheus text format, or in OpenMetrics where Accept asks for it."""
    encode, content_type = choose_encoder(accept)
    return Response(encode(services.metrics.scrape()), headers={"content-type": content_type})
