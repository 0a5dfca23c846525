"""One request of the golden transcript, as a row of a table."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Show = Literal["all", "head", "sha256", "families"]
"""How much of an answer is compared: all of it; status and headers alone; the SHA-256 of the body in its place; or the
names and types of the metrics in it."""

DROP: Any = object()
"""In a change of a body: the field is left out."""

JSON_TYPE: Mapping[str, str] = {"content-type": "application/json"}

TIMES = ("period_start", "period_end", "expires_at", "retry_at", "from", "to", "start", "end")
"""Fields of JSON that hold the time of day, where they hold a string."""


@dataclass(frozen=True)
class Row:
    """`sent` is the method and the path with its query. A `body` that is text or bytes is sent as it is, None is no
    body, anything else is sent as JSON.

    `mask` are names of JSON fields whose strings are not compared. `keep` maps a name of a field to a word: later rows
    may write `<word>` in path and body, and answers have `<word>` in place of the value. `hide` are headers whose
    values are not compared. A `chunked` body goes out in three chunks, and a `raw` row is its body and nothing else.
    """

    name: str
    sent: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=lambda: JSON_TYPE)
    mask: tuple[str, ...] = ()
    keep: Mapping[str, str] = field(default_factory=dict)
    hide: tuple[str, ...] = ()
    show: Show = "all"
    chunked: bool = False
    raw: bool = False

    @property
    def method(self) -> str:
        return self.sent.partition(" ")[0]

    @property
    def content(self) -> bytes | None:
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else as_json(self.body)


def as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def zipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def get(path: str, name: str = "", headers: Mapping[str, str] | None = None, **more: Any) -> Row:
    return Row(name or path, f"GET {path}", headers=headers or {}, **more)


def changed(body: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A body with some fields set anew, or left out where they are DROP."""
    return {key: value for key, value in {**body, **change}.items() if value is not DROP}


def variants(path: str, good: Mapping[str, Any], *changes: Mapping[str, Any], **more: Any) -> Iterator[Row]:
    """POST rows: the good body, and the good body with each of the changes. Their names say what was changed."""
    for change in ({}, *changes):
        yield Row(f"{path} {change_name(change)}", f"POST {path}", changed(good, change), **more)


def change_name(change: Mapping[str, Any]) -> str:
    said = {key: "(left out)" if value is DROP else value for key, value in change.items()}
    text = as_json(said).decode()
    return "good" if not change else text if len(text) <= 90 else f"{text[:80]}... of {len(text)}"
