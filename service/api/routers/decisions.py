"""Decisions over HTTP: what it costs, whether it fits, which model, how to cut it; and the catalog they go by.

`DECISIONS` are rows that make routes: what they take, what they answer, how they are described. Handlers are
synchronous and may count large texts: run them in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from service import catalog
from service.api.schemas.decision_answers import (
    catalog_json,
    count_json,
    instant,
    model_json,
    quote_json,
    row_json,
    verdict_json,
)
from service.api.schemas.decision_bodies import (
    CheckBody,
    CompareBody,
    EstimateBody,
    SplitBody,
    TruncateBody,
    as_instant,
    as_money,
    as_tier,
)
from service.budgets.budget import Limit, check_budget
from service.budgets.leases import Leases
from service.budgets.named import Budget
from service.catalog import CatalogModel
from service.counting.counter import Counter
from service.dialects import native
from service.dialects.model_validation import validate_model
from service.dialects.native_schema import CountBody
from service.dialects.usage import read_usage
from service.errors import InvalidRequest, ServiceError
from service.pricing.compare import compare
from service.pricing.prices import quote
from service.text.trim_messages import trim
from service.tokenizers import registry
from service.tokenizers.base import Tokenizer
from service.types import CountRequest, Json, Prompt, TokenCount


@dataclass(frozen=True, slots=True)
class Deciders:
    """What handlers need: one in an app. `budgets` gives the named budgets as they are now."""

    counter: Counter
    leases: Leases
    budgets: Callable[[], Mapping[str, Budget]]


@dataclass(frozen=True, slots=True)
class Decided:
    """An answer and the counts in it, for metrics."""

    body: Json
    counts: tuple[TokenCount, ...] = ()


Handler = Callable[[Json, Mapping[str, str], Deciders], Decided]


@dataclass(frozen=True, slots=True)
class Decision:
    """A row: `handle(body, parameters of path and query, deciders)`; `body` is its model, None for a GET. `asks_store`
    where it may have to wait for Redis."""

    name: str
    method: str
    path: str
    summary: str
    handle: Handler
    body: type[Any] | None
    query: Mapping[str, str] = field(default_factory=dict)
    asks_store: bool = False


# ---------------------------------------------------------------- cost


def estimate_cost(value: Json, _params: Mapping[str, str], _deciders: Deciders) -> Decided:
    body = validate_model(EstimateBody, value)
    model = catalog.resolve(body.model)
    usage = read_usage(body.usage, "usage", body.dialect)
    at = as_instant(body.at)
    quoted = quote(model, usage, as_tier(body.service_tier), at)
    said = {"usage": dict(usage.buckets), "at": instant(at)}
    return Decided({**model_json(model), **said, **quote_json(quoted, model.price)})


def check(value: Json, _params: Mapping[str, str], deciders: Deciders) -> Decided:
    body = validate_model(CheckBody, value)
    limit = Limit(
        body.max_input_tokens, body.max_output_tokens, as_money(body.max_cost_usd, "max_cost_usd"),
        as_tier(body.service_tier), as_instant(body.at),
    )
    count, model = counted(value, body, deciders)
    return Decided(verdict_json(check_budget(count, model, limit), count, model), (count,))


def counted(value: Json, body: CountBody, deciders: Deciders) -> tuple[TokenCount, CatalogModel | None]:
    """The count of the part of a body that countTokens takes, and the model it is for."""
    request = _count_request(value, body)
    count = deciders.counter.count(request)
    return count, None if request.model_ref is None else catalog.resolve(request.model_ref)


def _count_request(value: Json, body: CountBody) -> CountRequest:
    own = type(body).model_fields.keys() - CountBody.model_fields.keys()
    return native.read({key: given for key, given in value.items() if key not in own})


# ---------------------------------------------------------------- comparing


def compare_models(value: Json, _params: Mapping[str, str], deciders: Deciders) -> Decided:
    body = validate_model(CompareBody, value)
    if body.model is not None or body.tokenizer is not None or body.provider is not None:
        raise InvalidRequest("Name what to compare in `models` alone.", field="models")

    def count(model_ref: str) -> TokenCount:
        return deciders.counter.count(_count_request({**value, "model": model_ref}, body))

    def resolve(model_ref: str) -> CatalogModel:
        try:
            return catalog.resolve(model_ref)
        except ServiceError as error:
            error.field = f"models[{body.models.index(model_ref)}]"
            raise

    rows = compare(body.models, count, resolve, body.output_tokens)
    cheapest = next((row.model_ref for row in rows if row.quote is not None and row.quote.total is not None), None)
    counts = tuple(row.count for row in rows if row.count is not None)
    return Decided({"rows": [row_json(row) for row in rows], "cheapest": cheapest}, counts)


# ---------------------------------------------------------------- cutting


def cut_text_or_chat(value: Json, _params: Mapping[str, str], deciders: Deciders) -> Decided:
    body = validate_model(TruncateBody, value)
    if (body.text is None) == (body.request is None):
        raise InvalidRequest("Exactly one of text and request is needed.", field="text")
    if body.request is not None:
        return _cut_chat(body, body.request, deciders)
    from service.text.truncate import truncate  # noqa: PLC0415 - loads regex, which counting never needs

    tokenizer, model = _tokenizer(body.model, body.tokenizer)
    cut = truncate(body.text or "", body.max_tokens, tokenizer.count, body.cut_from, body.marker)
    return Decided({
        **_target(tokenizer, model), "text": cut.text, "tokens": cut.tokens, "input_tokens": cut.input_tokens,
        "truncated": cut.truncated, "kept": [list(span) for span in cut.kept],
    })


def _cut_chat(body: TruncateBody, source: dict[str, Json], deciders: Deciders) -> Decided:
    if body.tokenizer is not None or body.marker or body.cut_from != "end":
        raise InvalidRequest(
            "A request is cut for a model, by whole turns from its start: leave out tokenizer, cut_from and marker.",
            field="request",
        )
    fields = {"model": body.model, "request": source, "dialect": body.dialect, "platform": body.platform}
    request = native.read({key: given for key, given in fields.items() if given is not None})
    prompt = request.prompt
    assert prompt is not None

    def count(part: Prompt) -> int:
        return deciders.counter.count(replace(request, prompt=part)).input_tokens

    trimmed = trim(prompt, body.max_tokens, count)
    answer = deciders.counter.count(replace(request, prompt=trimmed.prompt))
    left, dropped = without_messages(source, [path for index in trimmed.dropped for path in _paths(prompt, index)])
    return Decided({
        **model_json(catalog.resolve(request.model_ref or "")), "request": left, "tokens": trimmed.tokens,
        "truncated": bool(dropped), "dropped": dropped, "count_before": trimmed.input_tokens, **count_json(answer),
    }, (answer,))


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


def split_text(value: Json, _params: Mapping[str, str], _deciders: Deciders) -> Decided:
    body = validate_model(SplitBody, value)
    if body.overlap_tokens >= body.max_tokens:
        raise InvalidRequest("overlap_tokens must be less than max_tokens.", field="overlap_tokens")
    from service.text.split import split  # noqa: PLC0415 - as above

    tokenizer, model = _tokenizer(body.model, body.tokenizer)
    pieces = split(body.text, body.max_tokens, tokenizer.count, body.overlap_tokens, body.split_at)
    return Decided({
        **_target(tokenizer, model), "pieces": [
            {"text": body.text[piece.start : piece.end], "start": piece.start, "end": piece.end, "tokens": piece.tokens}
            for piece in pieces
        ],
    })


def _tokenizer(model_ref: str | None, name: str | None) -> tuple[Tokenizer, CatalogModel | None]:
    if (model_ref is None) == (name is None):
        raise InvalidRequest("Exactly one of model and tokenizer is needed.", field="model")
    model = None if model_ref is None else catalog.resolve(model_ref)
    return registry.get_tokenizer(model.family.tokenizer if model else name or "", "auto"), model


def _target(tokenizer: Tokenizer, model: CatalogModel | None) -> dict[str, Json]:
    named = model_json(model) if model is not None else {"model": None}
    return {**named, "tokenizer": tokenizer.name, "tokenizer_revision": tokenizer.fingerprint[:8]}


# ---------------------------------------------------------------- the catalog


_MOST_ROWS = 500


def list_models(_value: Json, params: Mapping[str, str], _deciders: Deciders) -> Decided:
    limit = _whole(params, "limit", 100, _MOST_ROWS)
    search, provider = params.get("search", "").lower(), params.get("provider", "")
    family, after = params.get("family", ""), params.get("page_token", "")
    prices = params.get("prices", "false")
    if prices not in ("true", "false"):
        raise InvalidRequest("prices must be true or false.", field="prices")
    found = [
        model for model in catalog.current().models()
        if search in model.model_id and provider in ("", model.provider_id) and family in ("", model.family.name)
    ]
    page = [model for model in found if model.model_id > after][:limit]
    more = bool(page) and page[-1].model_id != found[-1].model_id
    return Decided({
        "models": [catalog_json(model, prices=prices == "true") for model in page], "total": len(found),
        "next_page_token": page[-1].model_id if more else None, "prices_version": catalog.version(),
    })


def get_model(_value: Json, params: Mapping[str, str], _deciders: Deciders) -> Decided:
    return Decided(catalog_json(catalog.resolve(params["model_id"])))


def _whole(params: Mapping[str, str], name: str, usual: int, most: int) -> int:
    text = params.get(name, str(usual))
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= most:
        raise InvalidRequest(f"{name} must be a whole number from 1 to {most}.", field=name)
    return int(text)
