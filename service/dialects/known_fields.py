"""Fields that a request may have without a word, and what becomes of others.

A body with a field of another format (`parts` in a chat message, `instructions` beside `messages`) would count as
less than its sender thinks. Where the text itself is missing that is an error; else the field is named in `warnings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from service.dialects.fields import join
from service.errors import InvalidRequest
from service.types import Json, Warned

MOST_NAMED = 20
"""Fields named of one list: an answer is not to grow with a body of thousands of messages."""

UNKNOWN = "unknown_field_ignored"
"""Code of the warning: a field that this format does not have, and that holds text or more, was not counted."""

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
"""From the providers' API references and SDKs of November 2026 (openai, anthropic, google-genai in requirements/)."""


def unknown_fields(value: Json, known: frozenset[str], path: str) -> Iterator[Warned]:
    """A warning for each field beyond `known` that holds text, a list or an object; numbers and flags have none."""
    if not isinstance(value, dict) or known.issuperset(value):
        return
    for name, content in value.items():
        if name not in known and content and isinstance(content, (str, list, dict)):
            yield Warned(UNKNOWN, join(path, name[:64]))


def unknown_in_each(items: Iterable[tuple[Json, str]], known: frozenset[str]) -> Iterator[Warned]:
    """The same of the objects of a list, which come with their paths; the first of them, if all have some."""
    return islice((warning for value, path in items for warning in unknown_fields(value, known, path)), MOST_NAMED)


def unknown_in_texts(items: Iterable[tuple[Json, str]]) -> Iterator[Warned]:
    """The same of the text parts in messages' content."""
    return unknown_in_each(_text_parts(items), TEXT_PART)


def _text_parts(items: Iterable[tuple[Json, str]]) -> Iterator[tuple[Json, str]]:
    for value, path in items:
        content = value.get("content") if isinstance(value, dict) else None
        for i, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part, f"{path}.content[{i}]"


def need(value: Mapping[str, Json], name: str, path: str, what: str) -> None:
    """Raise InvalidRequest where a field is absent (null is given); `what` says what it would hold."""
    if name not in value:
        at = join(path, name)
        raise InvalidRequest(f"{at} is missing: {what}.", field=at)


def need_unless_alone(value: Mapping[str, Json], name: str, known: frozenset[str], path: str, what: str) -> None:
    """The same where the field may be absent, unless one that is not known holds something: then it is misnamed."""
    if name not in value and any(unknown_fields(dict(value), known, path)):
        need(value, name, path, what)
