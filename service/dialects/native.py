"""The native dialect: reading bodies of `POST /v1/countTokens` and its batch, and wording counts and errors.

It is JSON in snake_case. A body is a `CountBody` (see native_schema).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from service import catalog
from service.dialects.detect import infer_dialect
from service.dialects.endpoints import Endpoint, Wire
from service.dialects.fields import as_object, wrong_type
from service.dialects.model_validation import validate_model
from service.dialects.native_schema import CountBody
from service.dialects.readers import get_reader
from service.errors import InvalidRequest, ServiceError, UnknownModel
from service.pricing.prices import format_decimal
from service.tokenizers.registry import PROVIDER_ALIASES
from service.types import CountRequest, InputCost, Json, Prompt, TokenCount, Warned, WindowUse

MAX_TEXTS = 100_000
"""Texts in one body. Each takes a fixed time, so that a body of empty texts could keep a thread busy for minutes."""

MAX_ITEMS = 1_000
"""Items in one batch."""

SHORT = frozenset({"model", "text"})
"""The fields of most bodies. Such a body is not validated by pydantic, which takes longer than counting the text."""

LEGACY_PROVIDER = "anthropic"
"""As a `provider` it stands for the vocabulary of Claude 1 and 2. No model that is still served has it."""


# ---------------------------------------------------------------- body -> CountRequest


def read(value: Json, params: Mapping[str, str] | None = None, *, path: str = "") -> CountRequest:
    """The request in a decoded body. `path` is its JSON path in a batch. Raises InvalidRequest and UnknownModel."""
    if type(value) is dict and value.keys() == SHORT and type(value["model"]) is str and type(value["text"]) is str:
        return CountRequest(model_ref=value["model"], texts=(value["text"],), path=path)
    return read_body(validate_model(CountBody, value, path), path)


def read_body(body: CountBody, path: str = "") -> CountRequest:
    """The request in a body that is validated. The fields that a subclass of CountBody adds are not read."""
    at = f"{path}." if path else ""
    target = _one_of(body, ("model", "tokenizer", "provider"), at, required=body.request is None)
    given = _one_of(body, ("text", "texts", "request"), at)
    unknown = tuple(Warned("unknown_field_ignored", f"{at}{key[:64]}") for key in body.model_extra or ())
    texts = (body.text or "",) if given == "text" else tuple(body.texts or ())
    if len(texts) > MAX_TEXTS:
        raise InvalidRequest(f"{at}texts holds more than {MAX_TEXTS} texts.", field=f"{at}texts")
    request = CountRequest(
        model_ref=body.model,
        tokenizer=body.tokenizer,
        texts=None if given == "request" else texts,
        single=given != "texts",
        special_tokens=body.special_tokens,
        add_special_tokens=body.add_special_tokens,
        engine=body.engine,
        warnings=unknown,
        path=path,
    )
    if target == "provider":
        request = _for_provider(request, body.provider or "", at)
    return _with_prompt(request, body, at) if given == "request" else request


def read_text(text: str, query: Mapping[str, str]) -> Json:
    """The JSON body that a `text/plain` body with query parameters such as `?model=` stands for."""
    fields: dict[str, Json] = {key: value for key, value in query.items() if key in QUERY_FIELDS}
    if "add_special_tokens" in fields:
        fields["add_special_tokens"] = fields["add_special_tokens"].lower() in ("1", "true", "yes")
    return {**fields, "text": text}


QUERY_FIELDS = frozenset({"model", "tokenizer", "provider", "engine", "special_tokens", "add_special_tokens"})


def read_items(value: Json) -> list[tuple[Json, str]]:
    """The items of a batch with the path of each. Raises InvalidRequest."""
    body = as_object(value, "")
    items = body.get("items")
    if not isinstance(items, list | None):
        raise wrong_type("items", "an array", items)
    if not items:
        raise InvalidRequest("items must hold at least one request.", field="items")
    if len(items) > MAX_ITEMS:
        raise InvalidRequest(f"items holds more than {MAX_ITEMS} requests; send several batches.", field="items")
    return [(item, f"items[{i}]") for i, item in enumerate(items)]


def _one_of(body: CountBody, names: tuple[str, ...], at: str, *, required: bool = True) -> str | None:
    given = [name for name in names if getattr(body, name) is not None]
    if len(given) > 1:
        raise InvalidRequest(
            f"Give one of {at}{given[0]} and {at}{given[1]}, not both.", field=f"{at}{given[1]}"
        )
    if not given and required:
        choices = ", ".join(f"{at}{name}" for name in names[:-1])
        raise InvalidRequest(f"Exactly one of {choices} and {at}{names[-1]} is needed.", field=f"{at}{names[0]}")
    return given[0] if given else None


def _for_provider(request: CountRequest, provider: str, at: str) -> CountRequest:
    tokenizer = PROVIDER_ALIASES.get(provider)
    if tokenizer is None:
        known = ", ".join(PROVIDER_ALIASES)
        raise InvalidRequest(f"{at}provider must be one of {known}; or name a model.", field=f"{at}provider")
    if provider != LEGACY_PROVIDER:
        return replace(request, tokenizer=tokenizer)
    warning = Warned("legacy_tokenizer_claude_3_and_later_need_model", f"{at}provider")
    return replace(request, tokenizer=tokenizer, guessed=True, warnings=(*request.warnings, warning))


def _with_prompt(request: CountRequest, body: CountBody, at: str) -> CountRequest:
    source = body.request or {}
    inner = source.get("model")
    if request.model_ref is None and request.tokenizer is None and isinstance(inner, str):
        request = replace(request, model_ref=inner)
    if request.model_ref is None:
        raise InvalidRequest(
            f"A whole request is counted for a model: name one in {at}model.", field=f"{at}model"
        )
    model = catalog.resolve(request.model_ref)
    dialect = body.dialect or infer_dialect({"model": request.model_ref, **source}, model.provider_id)
    prompt: Prompt = get_reader(dialect, f"{at}dialect")(source, f"{at}request")
    if body.platform is not None:
        prompt = replace(prompt, platform=body.platform)
    return replace(request, prompt=prompt)


# ---------------------------------------------------------------- TokenCount -> answer


def answer(count: TokenCount) -> dict[str, Json]:
    """The native answer. `cost` is null where no price is known, `context` where no window is known."""
    out: dict[str, Json] = {
        "model": count.model,
        "model_ref": count.model_ref,
        "model_match": count.model_match,
        "provider": count.provider,
        "tokenizer": count.tokenizer,
        "tokenizer_revision": count.tokenizer_revision,
        "input_tokens": count.input_tokens,
        "method": count.method,
        "error_band": {"low": count.low, "high": count.high},
        "details": dict(count.details),
        "uncounted": [
            {"path": item.path, "kind": item.kind, "reason": item.reason, "assumed_tokens": item.assumed_tokens}
            for item in count.uncounted
        ],
        "warnings": [{"code": warned.code, "path": warned.path} for warned in count.warnings],
        "cost": count.cost and _cost(count.cost),
        "context": count.context and _context(count.context),
    }
    if count.counts is not None:
        out["counts"] = list(count.counts)
    if count.rules is not None:
        out["class"] = {"rules": count.rules, "feature": count.feature}
    return out


def _cost(cost: InputCost) -> dict[str, Json]:
    return {
        "currency": "USD", "input": format_decimal(cost.usd), "price_status": cost.price_status,
        "prices_version": cost.prices_version,
    }


def _context(use: WindowUse) -> dict[str, Json]:
    out: dict[str, Json] = {"window": use.window, "remaining": use.remaining, "fits": use.fits}
    if use.max_input is not None:
        out["max_input"] = use.max_input
    return out


def batch_answer(results: list[TokenCount | ServiceError]) -> dict[str, Json]:
    """The answer of a batch: results in order, with an error for each item that could not be counted.

    There is a sum only where all items could be counted.
    """
    failed = sum(isinstance(result, ServiceError) for result in results)
    return {
        "results": [
            error_body(result) if isinstance(result, ServiceError) else answer(result) for result in results
        ],
        "input_tokens": None if failed else sum(r.input_tokens for r in results if isinstance(r, TokenCount)),
        "failed": failed,
    }


def error_body(error: ServiceError) -> dict[str, Json]:
    body: dict[str, Any] = {"code": error.code, "message": error.message, "field": error.field}
    if isinstance(error, UnknownModel):
        body["near"] = list(error.suggestions)
    return {"error": body}


WIRE = Wire("native", lambda error, request_id: (error.status, error_body(error)))


def _read(value: Json, params: Mapping[str, str]) -> CountRequest:
    return read(value)


COUNT = Endpoint(WIRE, _read, answer)
