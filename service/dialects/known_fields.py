"""The known fields of each request format, and what happens with other fields.

A field of another format (`parts` in a chat message, `instructions` beside `messages`) is not counted, so the count
would be lower than its sender thinks. Where the text itself is missing that is an error. Else the field is named in
`warnings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from service.dialects.fields import join
from service.errors import InvalidRequest
from service.types import Json, Warned

MAX_NAMED = 20
"""Most warnings for one list, so that the answer does not grow with a body of thousands of messages."""

UNKNOWN = "unknown_field_ignored"
"""Code of the warning that a field was not counted, since this format does not have it."""

CHAT = frozenset({
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format",
    "reasoning_effort", "verbosity", "prediction", "web_search_options", "audio", "modalities", "max_tokens",
    "max_completion_tokens", "temperature", "top_p", "n", "stop", "seed", "frequency_penalty", "presence_penalty",
    "logit_bias", "logprobs", "top_logprobs", "stream", "stream_options", "store", "metadata", "user", "service_tier",
    "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "moderation",
})
CHAT_MESSAGE = frozenset({
    "role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "audio", "annotations",
})
RESPONSES = frozenset({
    "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "max_tool_calls", "text",
    "reasoning", "previous_response_id", "conversation", "prompt", "context_management", "include", "truncation",
    "background", "max_output_tokens", "temperature", "top_p", "top_logprobs", "stream", "stream_options", "store",
    "metadata", "user", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "moderation",
})
RESPONSES_MESSAGE = frozenset({"type", "role", "content", "id", "status", "phase"})
MESSAGES = frozenset({
    "model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "output_format", "container",
    "context_management", "mcp_servers", "max_tokens", "temperature", "top_k", "top_p", "stop_sequences", "stream",
    "metadata", "service_tier", "cache_control", "inference_geo", "speed", "betas", "anthropic_beta",
    "anthropic_version",
})
MESSAGES_MESSAGE = frozenset({"role", "content"})
GENERATE_CONTENT = frozenset({
    "model", "contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings",
    "cachedContent", "labels", "serviceTier", "store", "modelArmorConfig", "config", "generateContentRequest",
})
CONTENT = frozenset({"parts", "role"})
TEXT_PART = frozenset({
    "type", "text", "cache_control", "citations", "annotations", "logprobs", "prompt_cache_breakpoint",
})
FUNCTION = frozenset({"name", "arguments", "parsed_arguments"})
FUNCTION_CALL = frozenset({
    "type", "id", "call_id", "name", "arguments", "parsed_arguments", "namespace", "status", "caller", "created_by",
})
FUNCTION_OUTPUT = frozenset({"type", "id", "call_id", "output", "status", "caller", "created_by"})
TOOL_USE = frozenset({"type", "id", "name", "input", "cache_control", "caller", "server_name"})
TOOL_RESULT = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control", "server_name"})
GOOGLE_CALL = frozenset({"id", "name", "args", "partialArgs", "partial_args", "willContinue", "will_continue"})
GOOGLE_RESPONSE = frozenset({"id", "name", "response", "parts", "willContinue", "will_continue", "scheduling"})
"""All these are from the API references and SDKs of November 2026 (openai, anthropic, google-genai in requirements/).
"""


def unknown_fields(value: Json, known: frozenset[str], path: str) -> Iterator[Warned]:
    """A warning for each field that is not in `known` and holds text, a list or an object. Numbers and flags are not
    billed, so they get none."""
    if not isinstance(value, dict) or known.issuperset(value):
        return
    for name, content in value.items():
        if name not in known and content and isinstance(content, (str, list, dict)):
            yield Warned(UNKNOWN, join(path, name[:64]))


def unknown_in_each(items: Iterable[tuple[Json, str]], known: frozenset[str]) -> Iterator[Warned]:
    """The warnings for the objects in a list, which are given with their paths. At most MAX_NAMED."""
    return islice((warning for value, path in items for warning in unknown_fields(value, known, path)), MAX_NAMED)


def unknown_in_texts(items: Iterable[tuple[Json, str]]) -> Iterator[Warned]:
    """The warnings for the text parts in the content of messages, which are given with their paths."""
    return unknown_in_each(_text_parts(items), TEXT_PART)


def _text_parts(items: Iterable[tuple[Json, str]]) -> Iterator[tuple[Json, str]]:
    for value, path in items:
        content = value.get("content") if isinstance(value, dict) else None
        for i, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part, f"{path}.content[{i}]"


def require_field(value: Mapping[str, Json], name: str, path: str, what: str) -> None:
    """Raise InvalidRequest where a field is absent. Null is not absent. `what` says what the field would hold."""
    if name not in value:
        at = join(path, name)
        raise InvalidRequest(f"{at} is missing: {what}.", field=at)


def require_unless_alone(value: Mapping[str, Json], name: str, known: frozenset[str], path: str, what: str) -> None:
    """Raise InvalidRequest where a field is absent and an unknown field holds something: its name is then wrong."""
    if name not in value and any(unknown_fields(dict(value), known, path)):
        require_field(value, name, path, what)
