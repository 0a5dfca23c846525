"""LiteLLM's count endpoint: POST /utils/token_counter."""

from __future__ import annotations

from collections.abc import Mapping

from service import catalog
from service.dialects.detect import infer_dialect
from service.dialects.endpoints import Endpoint, Wire
from service.dialects.fields import as_object, as_text, optional_text
from service.dialects.readers import get_reader
from service.errors import InvalidRequest, ServiceError
from service.types import CountRequest, Json, TokenCount


def _read(value: Json, params: Mapping[str, str]) -> CountRequest:
    """The request. A `prompt` is counted as text, `messages` or `contents` as a whole request with all other fields."""
    body = as_object(value, "")
    if body.get("model") is None:
        raise InvalidRequest("model is missing: name the model to count for.", field="model")
    model = as_text(body["model"], "model")
    prompt = optional_text(body.get("prompt"), "prompt")
    if body.get("messages") is not None or body.get("contents") is not None:
        whole = {key: inner for key, inner in body.items() if key not in ("model", "prompt")}
        dialect = infer_dialect(whole, catalog.resolve(model).family.provider)
        return CountRequest(model_ref=model, prompt=get_reader(dialect)(whole, ""))
    if body.get("prompt") is None:
        raise InvalidRequest("Nothing to count: give prompt, messages or contents.", field="prompt")
    return CountRequest(model_ref=model, texts=(prompt,))


def _answer(count: TokenCount) -> Json:
    return {
        "total_tokens": count.input_tokens,
        "request_model": count.model_ref,
        "model_used": count.model,
        "tokenizer_type": count.tokenizer,
    }


def make_error(error: ServiceError, request_id: str) -> tuple[int, Json]:
    """LiteLLM's error envelope: that of OpenAI, with the status as a string in `code`."""
    return error.status, {
        "error": {
            "message": error.message, "type": error.code, "param": error.field, "code": str(error.status),
        }
    }


WIRE = Wire("litellm", make_error)

COUNT = Endpoint(WIRE, _read, _answer)
