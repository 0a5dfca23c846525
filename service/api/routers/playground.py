"""The playground: `/` is the page, `/web/<revision>/...` are its files (service.api.site)."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from service.api.auth import needs
from service.api.errors import NO_PATH
from service.api.routing import Context, ServiceRoute
from service.api.site import ASK_AGAIN, FOR_EVER, SECURITY_HEADERS, File, site
from service.errors import NotFound

router = APIRouter(route_class=ServiceRoute, dependencies=[needs("models")], include_in_schema=False)

WEB = "/web"


@router.get("/")
async def page(request: Request) -> Response:
    return make_file_response(request, site().page, ASK_AGAIN)


@router.get(WEB + "/{revision}/{path:path}")
async def file(request: Request, context: Context, revision: str, path: str) -> Response:
    """Another revision in the address, as while replicas are replaced, gets the file we have, not to be kept."""
    context.route = WEB
    found = site().files.get(path)
    if found is None:
        raise NotFound(NO_PATH)
    return make_file_response(request, found, FOR_EVER if revision == site().revision else ASK_AGAIN)


def make_file_response(request: Request, file: File, keep: bytes) -> Response:
    """The file, or a 304 where the client has it."""
    headers = {name.decode(): value.decode() for name, value in SECURITY_HEADERS}
    headers |= {"etag": file.etag.decode(), "cache-control": keep.decode()}
    known = request.headers.get("if-none-match", "")
    if file.etag.decode() in known or known == "*":
        return Response(status_code=304, headers=headers)
    headers["content-type"] = file.content_type.decode()
    content = b"" if request.method == "HEAD" else file.content
    return Response(content, headers={**headers, "content-length": str(len(file.content))})
