"""Where the last messages of a list stand in the bytes of a JSON body.

The bytes are not parsed here. Messages are found by how clients write their first field, so what is found is only a
guess. `are_last_messages` and `is_message_boundary` prove it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import pydantic_core

from service.types import Json

MESSAGE_STARTS: Mapping[str, bytes] = {name: b'{"%b"' % name.encode() for name in ("role", "parts", "content", "type")}
"""First field of a message -> how the message begins. A message that begins otherwise is not found."""

PLACEHOLDER = "split"
"""A string put in the place of the last messages, to see whether they are whole items of the list."""

_decode_from = json.JSONDecoder().raw_decode
_BLANKS = re.compile(r"[ \t\n\r]*")


def find_message_start(messages: Sequence[Json]) -> bytes:
    """How the first of the messages begins; b"" when that is none of MESSAGE_STARTS."""
    first = messages[0]
    return MESSAGE_STARTS.get(next(iter(first), ""), b"") if isinstance(first, dict) else b""


def find_positions(body: bytes, start: bytes, end: int) -> Iterator[int]:
    """Where `start` occurs before `end`, the last position first."""
    while (end := body.rfind(start, 0, end)) >= 0:
        yield end


def locate_messages(body: bytes, after: int, end: int, messages: Sequence[Json]) -> int | None:
    """Where the `messages` that end at `end` seem to begin. None when that is not behind `after`, or not found."""
    start = find_message_start(messages)
    if not start:
        return None
    alike = sum(find_message_start([message]) == start for message in messages)
    found = next(islice(find_positions(body, start, end), alike - 1, None), None)
    return None if found is None or found <= after else found


def locate_list_end(body: bytes, start: int) -> int | None:
    """Where the list items that begin at `start` end. None when they are not the last items of a list."""
    try:
        text, at = body[start:].decode(), 0
        while True:
            _, end = _decode_from(text, at)
            after = _skip_blanks(text, end)
            if text[after : after + 1] != ",":
                break
            at = _skip_blanks(text, after + 1)
    except (ValueError, RecursionError):
        return None
    return start + len(text[:end].encode()) if text[after : after + 1] == "]" else None


def _skip_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


# ---------------------------------------------------------------- proof


def decode(content: bytes) -> Json:
    """The decoded JSON; None when it is not valid."""
    try:
        return pydantic_core.from_json(content, allow_inf_nan=False)
    except ValueError:
        return None


def replace_list(value: Json, path: Sequence[str], messages: list[Json]) -> Json:
    """The decoded body with another list at `path`."""
    name, *others = path
    return {**value, name: replace_list(value[name], others, messages) if others else messages}


def are_last_messages(body: bytes, start: int, end: int, expected: Json) -> bool:
    """Whether the bytes `start`..`end` are exactly the last messages of the body.

    `expected` is the decoded body with one PLACEHOLDER in the place of those messages.
    """
    return bool(decode(b'%b"%b"%b' % (body[:start], PLACEHOLDER.encode(), body[end:])) == expected)


def is_message_boundary(content: bytes, older: Sequence[Json]) -> bool:
    """Whether `content`, the items of a list up to some byte, is exactly `older` and the comma behind them."""
    return bool(decode(b'[%b"%b"]' % (content, PLACEHOLDER.encode())) == [*older, PLACEHOLDER])
