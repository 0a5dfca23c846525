"""The new messages of a conversation as a request of their own, and what the whole of it comes to without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from service.counting.message_bytes import decode, replace_list
from service.counting.split_points import is_self_contained, starts_with_user_text
from service.dialects.detect import find_signs_in_messages, infer_dialect
from service.dialects.json import MAX_DEPTH, check_depth
from service.dialects.readers import READERS
from service.types import CountedPrefix, CountRequest, Doubt, Json, Prompt, TokenCount

MESSAGE_LISTS: Mapping[str, str] = {
    "anthropic.messages": "messages", "openai.chat": "messages", "openai.responses": "input",
    "google.generateContent": "contents",
}
"""Dialect -> its list of messages."""

MAX_NOTES_CHARS = 500
"""Characters of warnings and uncounted items that a known conversation may have outside its new messages."""


class KnownConversation(NamedTuple):
    """What is known of a conversation up to a split point. It holds no text.

    `request` is the request without its messages, with the `prefix` that was counted. It is valid for one `revision` of
    the catalog. `full_bytes` is the size of the body when all of it was last counted, `list_depth` how many objects
    the list of messages is nested in.
    """

    revision: object
    request: CountRequest
    dialect: str
    platform: str | None
    full_bytes: int
    list_depth: int


class NewMessages(NamedTuple):
    """The new messages of a body: their bytes are `start`..`end`, and `messages` is what they decode to.

    `request` has only these messages, and as its `prefix` what was counted of the others.
    """

    start: int
    end: int
    messages: list[Json]
    request: CountRequest
    full_bytes: int
    list_depth: int

    def has_same_notes(self, counted: TokenCount) -> bool:
        """Whether `counted` has no warning and no uncounted item of the new messages. Their paths would be wrong, since
        they count from the first new message."""
        prefix = self.request.prefix
        return prefix is not None and (prefix.uncounted, prefix.warnings) == (counted.uncounted, counted.warnings)


def read_new_messages(known: KnownConversation, body: bytes, start: int, end: int) -> NewMessages | None:
    """The messages in the bytes `start`..`end`. None when they cannot be counted alone. Raises ServiceError."""
    content = body[start:end]
    messages = decode(b"[%b]" % content)
    if not isinstance(messages, list):
        return None
    if content.count(b"{") + content.count(b"[") + known.list_depth > MAX_DEPTH - 1:
        check_depth(messages, MAX_DEPTH - known.list_depth)
    prompt: Prompt = READERS[known.dialect]({MESSAGE_LISTS[known.dialect]: messages}, "")
    if prompt.warnings or not starts_with_user_text(prompt.messages) or not is_self_contained(prompt.messages):
        return None
    if _may_be_other_dialect(known.dialect, messages):
        return None
    if known.platform is not None:
        prompt = replace(prompt, platform=known.platform)
    asked = known.request
    request = CountRequest(model_ref=asked.model_ref, prompt=prompt, prefix=asked.prefix, engine=asked.engine)
    return NewMessages(start, end, messages, request, known.full_bytes, known.list_depth)


# ---------------------------------------------------------------- the dialect stays the same


def find_list_path(prompt: Prompt) -> list[str]:
    """The fields that lead to the list of messages. Empty when the messages come from elsewhere."""
    path, bracket, rest = prompt.messages[0].path.rpartition("[0]") if prompt.messages else ("", "", "")
    names = path.split(".") if bracket and not rest else []
    return names if names and names[-1] == MESSAGE_LISTS[prompt.dialect] else []


def find_list(value: Json, path: Sequence[str]) -> list[Json] | None:
    """The list at `path` of a decoded body; None when there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if path and isinstance(value, list) else None


def keeps_dialect(value: Json, path: Sequence[str], older: list[Json], dialect: str, provider: str | None) -> bool:
    """Whether the body is in the same dialect when its list of messages is only `older`."""
    if path[-1] != "messages":
        return True
    holder = replace_list(value, path, older)
    for name in path[:-1]:
        holder = holder[name]
    return infer_dialect(holder, provider) == dialect


def _may_be_other_dialect(dialect: str, messages: list[Json]) -> bool:
    """Whether these messages look like another dialect than the older ones. The first of them is a text."""
    if MESSAGE_LISTS[dialect] != "messages" or (len(messages) == 1 and len(messages[0]) == len(("role", "content"))):
        return False
    is_anthropic, is_openai = find_signs_in_messages(messages)
    return is_openai if dialect == "anthropic.messages" else is_anthropic


# ---------------------------------------------------------------- tokens


def subtract(counted: TokenCount, newest: TokenCount, field: str) -> CountedPrefix | None:
    """What was counted without the new messages. None when the two cannot be separated.

    `field` is the list of messages: a note with a path in it makes the two inseparable.
    """
    notes = [(item.path, item.kind, item.reason) for item in counted.uncounted]
    notes += [(item.path, item.code, "") for item in counted.warnings]
    if sum(map(len, chain.from_iterable(notes))) > MAX_NOTES_CHARS:
        return None
    if newest.uncounted or newest.warnings or newest.rules != counted.rules or newest.modalities or counted.modalities:
        return None
    if any(f"{field}[" in path for path, _, _ in notes):
        return None
    doubts, of_newest = Counter(counted.doubts), Counter(newest.doubts)
    if of_newest - doubts:
        return None
    older = [*(doubts - of_newest).elements()]
    doubt = Doubt(sum(doubt.low for doubt in older), sum(doubt.high for doubt in older), "before")
    details: Counter[Any] = Counter(dict(counted.details))
    details.subtract(newest.details)
    return CountedPrefix(
        tuple(details.items()), doubts=(doubt,) if older else (), uncounted=counted.uncounted, warnings=counted.warnings
    )
