"""The two pages, from package data: read once, never from a path that a caller names.

The playground is `/`, the API's documentation is `/docs`. What a page consists of lies under `/web/<revision>/` or
`/docs/<revision>/`, where the revision is a hash over all its files: such an address never changes its content and may
be kept for ever. The page itself is asked for anew each time (ETag).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from starlette.requests import Request
from starlette.responses import Response

from service.api.errors import NO_PATH
from service.errors import NotFound

WEB = "/web"
"""What metrics and log call the paths of the playground's files."""

PAGE = "index.html"

CONTENT_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Kinds of files that are served; a file of another kind in the folder is not."""

def _make_policy(*, images: str, trusted_types: str) -> str:
    """A Content-Security-Policy: nothing from another origin, and nothing inline."""
    return "; ".join((
        "default-src 'none'", "script-src 'self'", "style-src 'self'", f"img-src {images}", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", f"trusted-types {trusted_types}",
    ))


PLAYGROUND_POLICY = _make_policy(images="'self'", trusted_types="'none'")
"""No text becomes markup or code."""

DOCS_POLICY = _make_policy(images="'self' data:", trusted_types="dompurify default")
"""What Swagger UI needs: the icons in its style sheet, and the markup that it makes of descriptions. DOMPurify cleans
that markup, and the policy `default` (web_docs/start.js) lets it in. No text becomes code."""

SECURITY_HEADERS: Mapping[str, str] = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

ASK_AGAIN = "no-cache"
FOR_EVER = "public, max-age=31536000, immutable"

PLACEHOLDER = b"/REVISION/"
"""How a page writes addresses of its other files."""


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    content_type: str
    etag: str


@dataclass(frozen=True, slots=True)
class Site:
    """A page and its `files`, by their path below the folder. `policy` is its Content-Security-Policy."""

    revision: str
    page: File
    files: Mapping[str, File]
    policy: str

    def respond_with_page(self, request: Request) -> Response:
        return self._respond(request, self.page, ASK_AGAIN)

    def respond_with_file(self, request: Request, path: str) -> Response:
        """The file at `path`, which begins with a revision. Another revision than ours, as while replicas are replaced,
        gets the file we have, not to be kept. Raises NotFound.
        """
        revision, _, path = path.partition("/")
        found = self.files.get(path)
        if found is None:
            raise NotFound(NO_PATH)
        return self._respond(request, found, FOR_EVER if revision == self.revision else ASK_AGAIN)

    def _respond(self, request: Request, file: File, keep: str) -> Response:
        """The file, or a 304 where the client has it."""
        headers = {
            "content-security-policy": self.policy, **SECURITY_HEADERS, "etag": file.etag, "cache-control": keep
        }
        known = request.headers.get("if-none-match", "")
        if file.etag in known or known == "*":
            return Response(status_code=304, headers=headers)
        content = b"" if request.method == "HEAD" else file.content
        headers |= {"content-type": file.content_type, "content-length": str(len(file.content))}
        return Response(content, headers=headers)


@cache
def site() -> Site:
    """The playground as shipped. About 200 KB, kept for the life of the process."""
    return _read_site("web", PLAYGROUND_POLICY)


@cache
def docs_site() -> Site:
    """The API's documentation as shipped. About 2 MB, read when it is first asked for."""
    return _read_site("web_docs", DOCS_POLICY)


def _read_site(folder: str, policy: str) -> Site:
    contents = dict(sorted(_walk(files("service") / folder)))
    digest = blake2b(digest_size=6)
    for path, content in contents.items():
        digest.update(f"{path} {len(content)} ".encode() + content)
    revision = digest.hexdigest()
    page = contents.pop(PAGE).replace(PLACEHOLDER, f"/{revision}/".encode())
    return Site(revision, _file(PAGE, page), {path: _file(path, content) for path, content in contents.items()}, policy)


def _walk(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        path = prefix + entry.name
        if entry.is_dir():
            yield from _walk(entry, f"{path}/")
        elif PurePosixPath(path).suffix in CONTENT_TYPES:
            yield path, entry.read_bytes()


def _file(path: str, content: bytes) -> File:
    tag = blake2b(content, digest_size=12).hexdigest()
    return File(content, CONTENT_TYPES[PurePosixPath(path).suffix], f'"{tag}"')
