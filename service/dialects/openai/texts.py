"""Reading bodies that hold bare texts: the completions API and the embeddings API."""

from __future__ import annotations

from service.dialects.fields import as_object, join, wrong_type
from service.errors import InvalidRequest
from service.types import Json, Message, Part, Prompt, Text, Unknown


def read_completions(value: Json, path: str) -> Prompt:
    """A body of POST /v1/completions: text, texts, token ids, or lists of token ids."""
    body = as_object(value, path)
    texts = _read_texts(body.get("prompt", ""), join(path, "prompt"))
    if body.get("suffix"):
        texts = (*texts, *_read_texts(body["suffix"], join(path, "suffix")))
    return Prompt(texts, dialect="openai.completions")


def read_embeddings(value: Json, path: str) -> Prompt:
    """A body of POST /v1/embeddings: text, texts, token ids, or lists of token ids."""
    body = as_object(value, path)
    at = join(path, "input")
    if body.get("input") is None:
        raise InvalidRequest(f"{at} is missing: give the text to embed.", field=at)
    return Prompt(_read_texts(body["input"], at), dialect="openai.embeddings")


def _read_texts(value: Json, path: str) -> tuple[Message, ...]:
    if isinstance(value, list) and not _are_token_ids(value):
        return tuple(Message("user", (_read_text(item, f"{path}[{i}]"),), path=path) for i, item in enumerate(value))
    return (Message("user", (_read_text(value, path),), path=path),)


def _read_text(value: Json, path: str) -> Part:
    if isinstance(value, str):
        return Text(value, path)
    if isinstance(value, list) and _are_token_ids(value):
        return Unknown("token_ids", value, path)
    raise wrong_type(path, "a string or an array of token ids", value)


def _are_token_ids(value: list[Json]) -> bool:
    return bool(value) and all(type(item) is int for item in value)
