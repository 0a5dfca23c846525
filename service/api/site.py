"""The playground's files, from package data: read once, never from a path that a caller names.

`/` is the page. Everything else lies under `/web/<revision>/`, where the revision is a hash over all files: such an
address never changes its content and may be kept for ever. The page itself is asked for anew each time (ETag).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

MOUNT = "/web"

PAGE = "index.html"

CONTENT_TYPES: Mapping[str, bytes] = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
"""Kinds of files that are served; a file of another kind in the folder is not."""

CONTENT_SECURITY_POLICY = "; ".join((
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
    "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    "require-trusted-types-for 'script'", "trusted-types 'none'",
))
"""Nothing from elsewhere, nothing inline, and no text that becomes markup or code."""

SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)

ASK_AGAIN = b"no-cache"
FOR_EVER = b"public, max-age=31536000, immutable"

PLACEHOLDER = b"web/REVISION/"
"""How the page writes addresses of the other files."""


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    content_type: bytes
    etag: bytes


@dataclass(frozen=True, slots=True)
class Site:
    """`page` is what `/` answers; `files` by their path below the folder."""

    revision: str
    page: File
    files: Mapping[str, File]


@cache
def site() -> Site:
    """The playground as shipped. About 200 KB, kept for the life of the process."""
    contents = dict(sorted(_walk(files("service") / "web")))
    digest = blake2b(digest_size=6)
    for path, content in contents.items():
        digest.update(f"{path} {len(content)} ".encode() + content)
    revision = digest.hexdigest()
    page = contents.pop(PAGE).replace(PLACEHOLDER, f"web/{revision}/".encode())
    return Site(revision, _file(PAGE, page), {path: _file(path, content) for path, content in contents.items()})


def _walk(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        path = prefix + entry.name
        if entry.is_dir():
            yield from _walk(entry, f"{path}/")
        elif PurePosixPath(path).suffix in CONTENT_TYPES:
            yield path, entry.read_bytes()


def _file(path: str, content: bytes) -> File:
    tag = blake2b(content, digest_size=12).hexdigest()
    return File(content, CONTENT_TYPES[PurePosixPath(path).suffix], f'"{tag}"'.encode())
