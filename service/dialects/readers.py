"""The dialects: the name of each, and the function that reads a request body in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from service.dialects.anthropic.request import read_messages
from service.dialects.google.request import read_generate_content
from service.dialects.openai.chat import read_chat
from service.dialects.openai.responses import read_responses
from service.dialects.openai.texts import read_completions, read_embeddings
from service.errors import InvalidRequest
from service.types import Json, Prompt

Reader = Callable[[Json, str], Prompt]

READERS: Mapping[str, Reader] = {
    "openai.chat": read_chat,
    "openai.responses": read_responses,
    "openai.completions": read_completions,
    "openai.embeddings": read_embeddings,
    "anthropic.messages": read_messages,
    "google.generateContent": read_generate_content,
}
"""Dialect name -> reader of a request body. The second argument of a reader is the JSON path of the request."""

ALIASES: Mapping[str, str] = {
    "openai.input_tokens": "openai.responses",
    "anthropic.count_tokens": "anthropic.messages",
    "google.countTokens": "google.generateContent",
}

DIALECTS: tuple[str, ...] = (*READERS, *ALIASES)


def get_reader(dialect: str, field: str = "dialect") -> Reader:
    """The reader of a dialect or an alias. Raises InvalidRequest naming `field` and listing the known dialects."""
    reader = READERS.get(ALIASES.get(dialect, dialect))
    if reader is None:
        raise InvalidRequest(f"{field} must be one of {', '.join(DIALECTS)}.", field=field)
    return reader
