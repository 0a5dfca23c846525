"""The API's documentation: `/openapi.json` is the document, `/docs` is a page that shows it (service.api.site)."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from service.api.auth import needs
from service.api.docs import OpenApi
from service.api.routing import ServiceRoute
from service.api.site import docs_site

router = APIRouter(route_class=ServiceRoute, dependencies=[needs("models")], include_in_schema=False)

DOCS = "/docs"


@router.get("/openapi.json")
def openapi(request: Request) -> Response:
    document: OpenApi = request.app.state.openapi
    return Response(document.get_content(), media_type="application/json")


@router.get(DOCS)
def page(request: Request) -> Response:
    return docs_site().respond_with_page(request)


@router.get(DOCS + "/{path:path}")
def file(request: Request, path: str) -> Response:
    return docs_site().respond_with_file(request, path)
