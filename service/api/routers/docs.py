"""The OpenAPI document."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.api.auth import needs
from service.api.docs import OpenApi
from service.api.routing import ServiceRoute

router = APIRouter(route_class=ServiceRoute, dependencies=[needs("models")], include_in_schema=False)


@router.get("/openapi.json")
def openapi(request: Request) -> Response:
    document: OpenApi = request.app.state.openapi
    return Response(document.get_content(), media_type="application/json")
