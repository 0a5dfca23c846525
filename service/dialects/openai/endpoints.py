"""OpenAI's count endpoint: POST /v1/responses/input_tokens."""

from __future__ import annotations

from collections.abc import Mapping

from service.dialects.endpoints import Endpoint
from service.dialects.fields import as_object, as_text
from service.dialects.openai.errors import WIRE
from service.dialects.openai.responses import read_responses
from service.errors import InvalidRequest
from service.types import CountRequest, Json, TokenCount


def _read_input_tokens(value: Json, params: Mapping[str, str]) -> CountRequest:
    body = as_object(value, "")
    model = body.get("model")
    if model is None:
        raise InvalidRequest("model is missing: name the model to count for.", field="model")
    return CountRequest(model_ref=as_text(model, "model"), prompt=read_responses(body, ""))


def _answer_input_tokens(count: TokenCount) -> Json:
    return {"object": "response.input_tokens", "input_tokens": count.input_tokens}


COUNT = Endpoint(WIRE, _read_input_tokens, _answer_input_tokens)
