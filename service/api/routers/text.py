"""Cutting: a text or a conversation to at most N tokens, and a text into pieces of at most N tokens."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter

from service import catalog
from service.answers.cost import count_json, model_json
from service.api.auth import needs
from service.api.routing import Context, ServiceRoute, Shared
from service.api.schemas.errors import describe_errors
from service.api.schemas.text import SplitAnswer, SplitBody, TruncateAnswer, TruncateBody
from service.catalog import CatalogModel
from service.dialects import native
from service.dialects.native_schema import CountBody
from service.errors import InvalidRequest
from service.services import Services
from service.text.split import split as split_into_pieces
from service.text.trim_messages import trim
from service.text.truncate import truncate as truncate_text
from service.tokenizers import registry
from service.tokenizers.base import Tokenizer
from service.types import Json, Prompt, TokenCount

router = APIRouter(
    route_class=ServiceRoute, dependencies=[needs("count")], tags=["native"], responses=describe_errors(native.WIRE)
)


@router.post(
    "/v1/truncate", operation_id="truncate", response_model=TruncateAnswer,
    summary="Cut a text or a conversation to at most N tokens",
)
def truncate(body: TruncateBody, services: Shared, context: Context) -> Json:
    """A text is cut on character boundaries. Of a request the oldest turns are dropped. What is left
    recounts to at most `max_tokens`."""
    if (body.text is None) == (body.request is None):
        raise InvalidRequest("Exactly one of text and request is needed.", field="text")
    if body.request is not None:
        answer, count = _truncate_request(body, body.request, services)
        context.counts = (count,)
        return answer
    tokenizer, model = _find_tokenizer(body.model, body.tokenizer)
    cut = truncate_text(body.text or "", body.max_tokens, tokenizer.count, body.cut_from, body.marker)
    return {
        **_target_json(tokenizer, model), "text": cut.text, "tokens": cut.tokens, "input_tokens": cut.input_tokens,
        "truncated": cut.truncated, "kept": [list(span) for span in cut.kept],
    }


def _truncate_request(body: TruncateBody, source: dict[str, Json], services: Services) -> tuple[Json, TokenCount]:
    if body.tokenizer is not None or body.marker or body.cut_from != "end":
        raise InvalidRequest(
            "A request is cut for a model, by whole turns from its start: leave out tokenizer, cut_from and marker.",
            field="request",
        )
    request = native.read_body(
        CountBody(model=body.model, request=source, dialect=body.dialect, platform=body.platform)
    )
    prompt = request.prompt
    assert prompt is not None

    def count(part: Prompt) -> int:
        return services.counter.count(replace(request, prompt=part)).input_tokens

    trimmed = trim(prompt, body.max_tokens, count)
    counted = services.counter.count(replace(request, prompt=trimmed.prompt))
    left, dropped = without_messages(source, [path for index in trimmed.dropped for path in _paths(prompt, index)])
    return {
        **model_json(catalog.resolve(request.model_ref or "")), "request": left, "tokens": trimmed.tokens,
        "truncated": bool(dropped), "dropped": dropped, "count_before": trimmed.input_tokens, **count_json(counted),
    }, counted


def _paths(prompt: Prompt, index: int) -> list[str]:
    message = prompt.messages[index]
    return [message.path, *(part.path for part in message.parts)]


def without_messages(source: dict[str, Json], paths: list[str]) -> tuple[dict[str, Json], list[str]]:
    """A copy of a wire body without the list items that `paths` point into, and the paths of those items."""
    items: dict[tuple[str, ...], set[int]] = {}
    for path in paths:
        keys = path.removeprefix("request").removeprefix(".").split(".")
        for depth, key in enumerate(keys):
            name, bracket, rest = key.partition("[")
            if bracket and name in ("messages", "input", "contents"):
                items.setdefault((*keys[:depth], name), set()).add(int(rest.partition("]")[0]))
                break
    left = source
    for where, indices in items.items():
        left = _without(left, where, indices)
    dropped = [f"{'.'.join(where)}[{index}]" for where, indices in items.items() for index in sorted(indices)]
    return left, dropped


def _without(value: Json, where: tuple[str, ...], indices: set[int]) -> Json:
    if where:
        return {**value, where[0]: _without(value[where[0]], where[1:], indices)}
    return [item for index, item in enumerate(value) if index not in indices]


@router.post(
    "/v1/split", operation_id="split", response_model=SplitAnswer,
    summary="Split a text into pieces of at most N tokens",
)
def split(body: SplitBody) -> Json:
    """Pieces end on character boundaries and lose no text; each recounts to at most `max_tokens`."""
    if body.overlap_tokens >= body.max_tokens:
        raise InvalidRequest("overlap_tokens must be less than max_tokens.", field="overlap_tokens")
    tokenizer, model = _find_tokenizer(body.model, body.tokenizer)
    pieces = split_into_pieces(body.text, body.max_tokens, tokenizer.count, body.overlap_tokens, body.split_at)
    return {
        **_target_json(tokenizer, model), "pieces": [
            {"text": body.text[piece.start : piece.end], "start": piece.start, "end": piece.end, "tokens": piece.tokens}
            for piece in pieces
        ],
    }


def _find_tokenizer(model_ref: str | None, name: str | None) -> tuple[Tokenizer, CatalogModel | None]:
    if (model_ref is None) == (name is None):
        raise InvalidRequest("Exactly one of model and tokenizer is needed.", field="model")
    model = None if model_ref is None else catalog.resolve(model_ref)
    return registry.get_tokenizer(model.family.tokenizer if model else name or "", "auto"), model


def _target_json(tokenizer: Tokenizer, model: CatalogModel | None) -> dict[str, Json]:
    named = model_json(model) if model is not None else {"model": None}
    return {**named, "tokenizer": tokenizer.name, "tokenizer_revision": tokenizer.fingerprint[:8]}
