"""The playground: `/` is the page, `/web/<revision>/...` are its files (service.api.site)."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from service.api.auth import needs
from service.api.routing import ServiceRoute
from service.api.site import WEB, site

router = APIRouter(route_class=ServiceRoute, dependencies=[needs("models")], include_in_schema=False)


@router.get("/")
async def page(request: Request) -> Response:
    return site().respond_with_page(request)


@router.get(WEB + "/{path:path}")
async def file(request: Request, path: str) -> Response:
    return site().respond_with_file(request, path)
