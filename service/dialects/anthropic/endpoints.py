"""Anthropic's count endpoint, POST /v1/messages/count_tokens, and its beta."""

from __future__ import annotations

from collections.abc import Mapping

from service.dialects.anthropic.errors import WIRE
from service.dialects.anthropic.request import CONTEXT_EDITS, read_messages
from service.dialects.endpoints import Endpoint
from service.dialects.fields import as_object, as_text
from service.types import CountRequest, Json, TokenCount


def _read_count(body: Json, _: Mapping[str, str]) -> CountRequest:
    model = as_text(as_object(body, "").get("model"), "model")
    return CountRequest(model_ref=model, prompt=read_messages(body))


def _answer_count(count: TokenCount) -> Json:
    """The answer. Where context edits were asked for, the beta also gives the count before them."""
    answer: dict[str, Json] = {"input_tokens": count.input_tokens}
    if any(warning.code == CONTEXT_EDITS for warning in count.warnings):
        answer["context_management"] = {"original_input_tokens": count.input_tokens}
    return answer


COUNT = Endpoint(WIRE, _read_count, _answer_count)
