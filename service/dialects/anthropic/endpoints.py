"""Anthropic's count endpoint, POST /v1/messages/count_tokens, and its beta."""

from __future__ import annotations

from collections.abc import Mapping

from service.dialects.anthropic.request import CONTEXT_EDITS, MODES, THINKING, read_messages
from service.dialects.endpoints import NULL, OBJECT, OBJECTS, STRING, Endpoint, any_of, schema_object
from service.dialects.fields import as_object, as_text
from service.types import CountRequest, Json, TokenCount


def _read_count(body: Json, _: Mapping[str, str]) -> CountRequest:
    model = as_text(as_object(body, "").get("model"), "model")
    return CountRequest(model_ref=model, prompt=read_messages(body))


def _answer_count(count: TokenCount) -> Json:
    """The beta tells the count before context edits as well, wherever edits were asked for."""
    answer: dict[str, Json] = {"input_tokens": count.input_tokens}
    if any(warning.code == CONTEXT_EDITS for warning in count.warnings):
        answer["context_management"] = {"original_input_tokens": count.input_tokens}
    return answer


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        name="anthropic_count_tokens",
        paths=("/v1/messages/count_tokens", "/anthropic/v1/messages/count_tokens"),
        summary="Count the input tokens of an Anthropic Messages request",
        read=_read_count,
        answer=_answer_count,
        example=(
            {
                "model": "claude-sonnet-4-5",
                "system": "You are a scientist",
                "messages": [{"role": "user", "content": "Hello, Claude"}],
            },
            {"input_tokens": 14},
        ),
        request_schema={
            "type": "object",
            "required": ["model", "messages"],
            "properties": {
                "model": {"type": "string"},
                "messages": any_of({"type": "array", "items": OBJECT}, OBJECT),
                "system": any_of(STRING, {"type": "array", "items": any_of(STRING, OBJECT)}, OBJECT, NULL),
                "tools": OBJECTS,
                "tool_choice": any_of(OBJECT, {"enum": [*MODES]}, NULL),
                "thinking": any_of(schema_object({"type": {"enum": [*THINKING]}}), NULL),
                "output_config": any_of(OBJECT, NULL),
            },
            "additionalProperties": True,
        },
        response_schema={
            "type": "object",
            "required": ["input_tokens"],
            "properties": {
                "input_tokens": {"type": "integer"},
                "context_management": {
                    "type": "object",
                    "properties": {"original_input_tokens": {"type": "integer"}},
                },
            },
        },
        wire="anthropic",
    ),
)
