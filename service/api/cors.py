"""Calls from web pages of other origins: none by default, those of listed origins otherwise. Never with cookies."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.types import Scope

Headers = list[tuple[bytes, bytes]]

ANY = "*"

EXPOSED = (
    b"x-request-id, x-tallystick-method, x-tallystick-error-band, x-tallystick-uncounted, x-tallystick-tokenizer, "
    b"x-tallystick-cost, retry-after, ratelimit, ratelimit-policy"
)
"""What a page may read of an answer, beside what every page may."""

KEPT_SECONDS = b"600"
"""How long a browser keeps the answer to its question."""


class Cors:
    """`origins` as browsers write them (https://app.example:8443), or one `*`."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._any = ANY in origins
        self._origins = frozenset(origin.rstrip("/").encode() for origin in origins)

    @property
    def active(self) -> bool:
        """Whether pages of any other origin may call."""
        return bool(self._origins)

    def headers(self, scope: Scope) -> Headers:
        """What the answer to a request tells the browser; nothing for an origin that is not listed."""
        if not self._origins:
            return []
        origin = _header(scope, b"origin")
        vary = [] if self._any else [(b"vary", b"origin")]
        if origin is None or not (self._any or origin in self._origins):
            return vary
        allowed = b"*" if self._any else origin
        return [(b"access-control-allow-origin", allowed), (b"access-control-expose-headers", EXPOSED), *vary]

    def is_foreign(self, scope: Scope) -> bool:
        """Whether a page of another origin, one that is not listed, makes its reader's browser call.

        Browsers say so themselves, in a header that no page can change, to addresses of this machine and over TLS.
        """
        site = origin = None
        for name, value in scope["headers"]:
            if name == b"sec-fetch-site":
                site = value
            elif name == b"origin":
                origin = value
        return site in (b"cross-site", b"same-site") and not (self._any or origin in self._origins)

    def preflight(self, scope: Scope) -> Headers | None:
        """What answers a browser that asks before it calls; None for any other request."""
        if scope["method"] != "OPTIONS" or not self._origins:
            return None
        if _header(scope, b"origin") is None or _header(scope, b"access-control-request-method") is None:
            return None
        wanted = _header(scope, b"access-control-request-headers")
        return [
            (b"access-control-allow-methods", b"GET, POST"),
            *([(b"access-control-allow-headers", wanted)] if wanted else []),
            (b"access-control-max-age", KEPT_SECONDS),
        ]


def _header(scope: Scope, wanted: bytes) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == wanted), None)
