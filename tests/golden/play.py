"""Plays rows against a live server over a socket, and writes down what comes back."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.golden.row import Row, Show

Entry = dict[str, Any]
"""A line of the transcript: name, sent, status, headers, and the body under `json`, `text` or `sha256`."""

MASKED_HEADERS = frozenset({"date"})

USUAL = (
    "cache-control: no-store",
    "content-security-policy: default-src 'none'; frame-ancestors 'none'",
    "content-type: application/json",
    "cross-origin-resource-policy: same-origin",
    "date: <masked>",
    "x-content-type-options: nosniff",
    "x-request-id: <request id>",
)
"""Headers of nearly every answer. Where all of them are there, `(usual)` stands for them."""

REQUEST_ID = re.compile(r"[0-9a-f]{16}")
"""The shape of a request id that the server made up itself."""

LIMIT = re.compile(r'"(?P<kind>\w+)";r=\d+;t=(?P<seconds>\d+)')
"""The header that says what is left of a rate limit."""

SECONDS = re.compile(r"(;t=|starts anew in |\"retryDelay\":\")\d+")
"""Seconds until a rate limit starts anew, in a header or a message."""


class RolledOver(Exception):
    """The minute of a rate limit ended while its rows were played: their answers are of two minutes."""


@dataclass
class Client:
    """One connection, opened again where the server has closed it. `known` maps words to the values they stand for."""

    url: str
    known: dict[str, str] = field(default_factory=dict)
    socket: socket.socket | None = None
    resets: dict[str, int] = field(default_factory=dict)

    def play(self, rows: Iterable[Row]) -> Iterator[Entry]:
        try:
            for row in rows:
                yield self._entry(row, *self._ask(row))
        finally:
            self._close()

    def learn_revision(self) -> None:
        """Let rows write <revision> for the part of the page's addresses that changes with its files."""
        status, _, body = self._ask(Row("page", "GET /", headers={}))
        found = re.search(rb"web/([0-9a-f]{12})/", body)
        assert status == 200, status
        assert found is not None, "the page names no file under /web/"
        self.known["revision"] = found[1].decode()
        self._close()

    def _close(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def _ask(self, row: Row) -> tuple[int, list[tuple[str, str]], bytes]:
        if self.socket is None:
            host, _, port = self.url.removeprefix("http://").partition(":")
            self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.socket.sendall(self._bytes(row))
        answer = http.client.HTTPResponse(self.socket, method=row.method)
        try:
            answer.begin()
            body = answer.read()
            if answer.will_close:
                self._close()
            return answer.status, answer.getheaders(), body
        finally:
            answer.close()

    def _bytes(self, row: Row) -> bytes:
        content = row.content
        if row.raw:
            return content or b""
        headers = {"host": "tallystick.test", **row.headers}
        if content is not None:
            content = self._filled(content.decode("latin-1")).encode("latin-1")
            headers |= {"transfer-encoding": "chunked"} if row.chunked else {"content-length": str(len(content))}
            content = chunks(content) if row.chunked else content
        lines = [f"{self._filled(row.sent)} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + (content or b"")

    def _filled(self, text: str) -> str:
        for word, value in self.known.items():
            text = text.replace(f"<{word}>", value)
        return text

    def _entry(self, row: Row, status: int, headers: list[tuple[str, str]], body: bytes) -> Entry:
        own = {name.lower(): value for name, value in headers}
        self._check_minute(row, headers)
        if row.method != "HEAD" and "content-length" in own:
            assert int(own["content-length"]) == len(body), f"{row.name}: content-length is not that of the body"
        self.known.pop("request id", None)
        if REQUEST_ID.fullmatch(own.get("x-request-id", "")):
            self.known["request id"] = own["x-request-id"]
        for name, word in row.keep.items():
            self.known[word] = json.loads(body)[name]
        hidden = {"content-length"} if row.show in ("head", "families") else set()
        hidden |= {name.lower() for name in row.hide} | MASKED_HEADERS
        lines = sorted(f"{name.lower()}: {self._header(name.lower(), value, hidden)}" for name, value in headers)
        return {
            "name": row.name, "sent": row.sent, "status": status, "headers": shortened(lines),
            **SHOWN[row.show](self._masked(body, row)),
        }

    def _check_minute(self, row: Row, headers: list[tuple[str, str]]) -> None:
        """Raises RolledOver where a limit starts anew later than it was going to, a request before."""
        for name, value in headers:
            found = LIMIT.fullmatch(value) if name.lower() == "ratelimit" else None
            if found is not None:
                limit, left = row.headers.get("authorization", "") + found["kind"], int(found["seconds"])
                if left > self.resets.setdefault(limit, left):
                    raise RolledOver
                self.resets[limit] = left

    def _header(self, name: str, value: str, hidden: set[str]) -> str:
        if name in hidden:
            return "<masked>"
        if name in ("ratelimit-reset", "retry-after") and self.resets:
            return "<seconds>"
        if name == "allow":  # the names of a set, in no order
            return ", ".join(sorted(value.split(", ")))
        return self._hidden(value)

    def _masked(self, body: bytes, row: Row) -> bytes:
        if not body or row.show in ("head", "sha256"):
            return body
        text = self._hidden(body.decode())
        for name in row.mask:
            text = re.sub(rf'("{name}":)"[^"]*"', rf'\1"<{name}>"', text)
        return text.encode()

    def _hidden(self, text: str) -> str:
        for word, value in self.known.items():
            text = text.replace(value, f"<{word}>")
        return SECONDS.sub(r"\1<seconds>", text) if self.resets else text


def shortened(lines: list[str]) -> list[str]:
    """The headers, with one word in place of the usual ones."""
    usual = set(USUAL)
    return ["(usual)", *(line for line in lines if line not in usual)] if usual <= set(lines) else lines


def chunks(content: bytes) -> bytes:
    """A body in chunks, a third of it in each."""
    step = max(1, -(-len(content) // 3))
    parts = [content[i : i + step] for i in range(0, len(content), step)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in [*parts, b""])


def yesterday() -> str:
    return (datetime.now(UTC) - timedelta(days=1)).date().isoformat()


# ---------------------------------------------------------------- how a body is written down


def show_all(body: bytes) -> Entry:
    """JSON as JSON where writing it again gives the same bytes, so that nothing but the reading is made easier."""
    text = body.decode()
    try:
        value = json.loads(text)
        same = json.dumps(value, ensure_ascii=False, separators=(",", ":")) == text
    except ValueError:
        same = False
    return {"json": value} if same else {"text": text}


def show_families(body: bytes) -> Entry:
    return {"text": "\n".join(sorted(re.findall(r"^# TYPE (.*)$", body.decode(), re.MULTILINE)))}


SHOWN: Mapping[Show, Callable[[bytes], Entry]] = {
    "all": show_all,
    "head": lambda _: {},
    "sha256": lambda body: {"sha256": hashlib.sha256(body).hexdigest()},
    "families": show_families,
}
