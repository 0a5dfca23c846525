"""Finding out which dialect a request body is written in, by the keys it has."""

from __future__ import annotations

from collections.abc import Mapping

from service.dialects.readers import DIALECTS
from service.errors import InvalidRequest
from service.types import Json


def infer_dialect(body: Mapping[str, Json], provider: str | None = None) -> str:
    """The dialect that a request body is written in, by the keys it has.

    A plain list of messages is the same in two dialects. Then the dialect of `provider` is taken, which is the provider
    of the model that is counted for. Raises InvalidRequest for a body in no known dialect.
    """
    body = {key: value for key, value in body.items() if value is not None}
    if "contents" in body or "generateContentRequest" in body:
        return "google.generateContent"
    if "messages" in body:
        return "anthropic.messages" if _looks_like_anthropic(body, provider) else "openai.chat"
    if "input" in body:
        return "openai.embeddings" if _looks_like_embeddings(body) else "openai.responses"
    if "prompt" in body:
        return "openai.completions"
    raise InvalidRequest(
        "The dialect of request cannot be told from its keys (messages, input, contents or prompt); "
        f"say which in dialect: {', '.join(DIALECTS)}.",
        field="dialect",
    )


ANTHROPIC_KEYS = frozenset({
    "system", "thinking", "anthropic_version", "stop_sequences", "top_k", "mcp_servers", "output_config", "container",
    "context_management",
})
OPENAI_KEYS = frozenset({
    "response_format", "functions", "function_call", "max_completion_tokens", "reasoning_effort", "n", "stop",
    "parallel_tool_calls", "frequency_penalty", "presence_penalty", "logit_bias", "seed", "modalities", "audio",
})
ANTHROPIC_BLOCKS = frozenset({
    "tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "search_result",
    "server_tool_use", "web_search_tool_result", "container_upload",
})
OPENAI_BLOCKS = frozenset({"image_url", "input_audio", "file", "refusal"})
OPENAI_MESSAGE_KEYS = frozenset({"tool_calls", "tool_call_id", "function_call", "refusal"})


def _looks_like_anthropic(body: Mapping[str, Json], provider: str | None) -> bool:
    for anthropic_sign, openai_sign in (
        (not ANTHROPIC_KEYS.isdisjoint(body), not OPENAI_KEYS.isdisjoint(body)),
        _find_signs_in_tools(body.get("tools")),
        find_signs_in_messages(body.get("messages")),
    ):
        if anthropic_sign != openai_sign:
            return anthropic_sign
    return provider == "anthropic"


def _find_signs_in_tools(tools: Json) -> tuple[bool, bool]:
    """Whether a tool is written as in Anthropic's API, and whether one is written as in OpenAI's."""
    rows = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return any("input_schema" in row for row in rows), any("function" in row for row in rows)


def find_signs_in_messages(messages: Json) -> tuple[bool, bool]:
    """Whether a message is written as in Anthropic's API, and whether one is written as in OpenAI's."""
    rows = [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
    blocks = {
        block.get("type") if isinstance(block.get("type"), str) else None
        for row in rows
        if isinstance(row.get("content"), list)
        for block in row["content"]
        if isinstance(block, dict)
    }
    openai_sign = any(
        not OPENAI_MESSAGE_KEYS.isdisjoint(row) or row.get("role") in ("system", "developer", "tool", "function")
        for row in rows
    )
    return not ANTHROPIC_BLOCKS.isdisjoint(blocks), openai_sign or not OPENAI_BLOCKS.isdisjoint(blocks)


def _looks_like_embeddings(body: Mapping[str, Json]) -> bool:
    model = body.get("model")
    named = isinstance(model, str) and "embedding" in model
    return named or "encoding_format" in body or "dimensions" in body
