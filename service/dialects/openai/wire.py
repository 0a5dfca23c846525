"""OpenAI's wires: Chat Completions, Responses, completions and embeddings bodies, the count endpoint, its errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from service.dialects.fields import (
    NULL,
    OBJECT,
    OBJECTS,
    STRING,
    Endpoint,
    Wire,
    any_of,
    as_object,
    as_text,
    each,
    optional_text,
    schema_object,
    wrong_type,
)
from service.dialects.openai.items import decode_arguments, read_input, read_role, unknown_messages
from service.dialects.openai.parts import (
    read_content,
    read_function,
    read_output,
    read_tool_choice,
    read_tools,
)
from service.dialects.validation import (
    CHAT,
    CHAT_MESSAGE,
    FUNCTION,
    RESPONSES,
    join,
    need,
    need_unless_alone,
    unknown_fields,
    unknown_in_each,
    unknown_in_texts,
)
from service.errors import InvalidRequest, ServiceError
from service.types import CountRequest, Json, Message, Part, Prompt, Text, TokenCount, ToolCall, ToolResult, Unknown

# ---------------------------------------------------------------- Chat Completions


def read_chat(value: Json, path: str) -> Prompt:
    """A body of POST /v1/chat/completions. Raises InvalidRequest naming the culprit by its JSON path."""
    body = as_object(value, path)
    at = join(path, "messages")
    if body.get("messages") is None:
        raise InvalidRequest(f"{at} is missing: a chat request holds messages.", field=at)
    said = [*each(body["messages"], at)]
    legacy = each(body.get("functions"), join(path, "functions"))
    functions = tuple(read_function(as_object(item, where), where) for item, where in legacy)
    choice, choice_path = body.get("tool_choice"), join(path, "tool_choice")
    if choice is None:
        choice, choice_path = body.get("function_call"), join(path, "function_call")
    return Prompt(
        tuple(_message(item, where) for item, where in said),
        tools=(*read_tools(body.get("tools"), join(path, "tools")), *functions),
        tool_choice=read_tool_choice(choice, choice_path, body.get("parallel_tool_calls")),
        output=read_output(body.get("response_format"), join(path, "response_format")),
        thinking="enabled" if body.get("reasoning_effort") not in (None, "none") else None,
        dialect="openai.chat",
        options=_chat_options(body, path),
        warnings=(
            *unknown_fields(body, CHAT, path), *unknown_in_each(said, CHAT_MESSAGE), *unknown_in_texts(said),
        ),
    )


_SAYS_WITHOUT_CONTENT = frozenset({"tool_calls", "function_call", "refusal", "audio"})
"""Fields of an assistant's message, one of which stands where there is no content."""


def _message(value: Json, path: str) -> Message:
    message = as_object(value, path)
    role = read_role(message.get("role"), join(path, "role"))
    if role != "assistant" or _SAYS_WITHOUT_CONTENT.isdisjoint(message):
        need(message, "content", path, "it holds what the message says")
    content = read_content(message.get("content"), join(path, "content"))
    if role == "tool":
        name = optional_text(message.get("name"), join(path, "name"))
        call_id = optional_text(message.get("tool_call_id"), join(path, "tool_call_id"))
        return Message(role, (ToolResult(call_id, name, content, path=path),), path=path)
    parts: list[Part] = list(content)
    refusal = optional_text(message.get("refusal"), join(path, "refusal"))
    if refusal:
        parts.append(Text(refusal, join(path, "refusal")))
    if message.get("audio") is not None and role == "assistant":
        parts.append(Unknown("audio", message["audio"], join(path, "audio")))
    for call, at in each(message.get("tool_calls"), join(path, "tool_calls")):
        parts.append(_call(as_object(call, at), at))
    if message.get("function_call") is not None:
        at = join(path, "function_call")
        parts.append(_call({"function": as_object(message["function_call"], at)}, at))
    name = optional_text(message.get("name"), join(path, "name"))
    return Message(role, tuple(parts), name or None, path=path)


def _call(call: dict[str, Json], path: str) -> ToolCall:
    """A tool call: of a function, or of a free-form tool whose input is text."""
    call_id = optional_text(call.get("id"), join(path, "id"))
    custom = call.get("custom")
    if isinstance(custom, dict):
        text = optional_text(custom.get("input"), join(path, "custom.input"))
        return ToolCall(as_text(custom.get("name"), join(path, "custom.name")), text, text, call_id, path=path)
    function = as_object(call.get("function"), join(path, "function"))
    need_unless_alone(function, "arguments", FUNCTION, join(path, "function"), "it holds the arguments of the call")
    arguments, raw = decode_arguments(function.get("arguments"))
    name = optional_text(function.get("name"), join(path, "function.name"))
    return ToolCall(name, arguments, raw, call_id, path=path)


def _chat_options(body: Mapping[str, Json], path: str) -> dict[str, Json]:
    options: dict[str, Json] = {}
    prediction = body.get("prediction")
    if isinstance(prediction, dict):
        parts = read_content(prediction.get("content"), join(path, "prediction.content"))
        options["prediction"] = "".join(part.text for part in parts if isinstance(part, Text))
    if body.get("web_search_options") is not None:
        options["web_search_options"] = True
    return options


# ---------------------------------------------------------------- Responses

STORED = ("previous_response_id", "conversation", "prompt", "context_management")
"""Fields that make the provider add, or take away, what is stored with it."""


def read_responses(value: Json, path: str) -> Prompt:
    """A body of POST /v1/responses or /v1/responses/input_tokens; every field may be absent."""
    body = as_object(value, path)
    if "messages" in body and "input" not in body:  # would count as next to nothing
        at = join(path, "input")
        raise InvalidRequest(f"{at} is missing: messages are of a chat request.", field=at)
    text = body.get("text")
    text_path = join(path, "text")
    reasoning = {} if body.get("reasoning") is None else as_object(body["reasoning"], join(path, "reasoning"))
    instructions = body.get("instructions")
    at = join(path, "instructions")
    options: dict[str, Json] = {"reasoning_context": reasoning.get("context")} if reasoning.get("context") else {}
    stored = [name for name in STORED if body.get(name) not in (None, [])]
    if stored:
        options["stored_state"] = stored
    if not isinstance(instructions, str | list | None):
        raise wrong_type(at, "a string or an array", instructions)
    system = read_input(instructions, at) if isinstance(instructions, list) else ()
    return Prompt(
        (*system, *read_input(body.get("input"), join(path, "input"))),
        system=read_content(instructions, at) if isinstance(instructions, str) and instructions else (),
        tools=read_tools(body.get("tools"), join(path, "tools")),
        tool_choice=read_tool_choice(
            body.get("tool_choice"), join(path, "tool_choice"), body.get("parallel_tool_calls")
        ),
        output=read_output(as_object(text, text_path).get("format"), join(text_path, "format"))
        if text is not None else None,
        thinking="enabled" if reasoning.get("effort") not in (None, "none") else None,
        dialect="openai.responses",
        options=options,
        warnings=(*unknown_fields(body, RESPONSES, path), *unknown_messages(body.get("input"), join(path, "input"))),
    )


# ---------------------------------------------------------------- completions, embeddings


def read_completions(value: Json, path: str) -> Prompt:
    """A body of POST /v1/completions: text, texts, token ids, or lists of token ids."""
    body = as_object(value, path)
    texts = _plain(body.get("prompt", ""), join(path, "prompt"))
    if body.get("suffix"):
        texts = (*texts, *_plain(body["suffix"], join(path, "suffix")))
    return Prompt(texts, dialect="openai.completions")


def read_embeddings(value: Json, path: str) -> Prompt:
    """A body of POST /v1/embeddings: text, texts, token ids, or lists of token ids."""
    body = as_object(value, path)
    at = join(path, "input")
    if body.get("input") is None:
        raise InvalidRequest(f"{at} is missing: give the text to embed.", field=at)
    return Prompt(_plain(body["input"], at), dialect="openai.embeddings")


def _plain(value: Json, path: str) -> tuple[Message, ...]:
    if isinstance(value, list) and not _are_ids(value):
        return tuple(Message("user", (_plain_part(item, f"{path}[{i}]"),), path=path) for i, item in enumerate(value))
    return (Message("user", (_plain_part(value, path),), path=path),)


def _plain_part(value: Json, path: str) -> Part:
    if isinstance(value, str):
        return Text(value, path)
    if isinstance(value, list) and _are_ids(value):
        return Unknown("token_ids", value, path)
    raise wrong_type(path, "a string or an array of token ids", value)


def _are_ids(value: list[Json]) -> bool:
    return bool(value) and all(type(item) is int for item in value)


READERS: Mapping[str, Callable[[Json, str], Prompt]] = {
    "openai.chat": read_chat,
    "openai.responses": read_responses,
    "openai.completions": read_completions,
    "openai.embeddings": read_embeddings,
}

# ---------------------------------------------------------------- POST /v1/responses/input_tokens


def _read_input_tokens(value: Json, params: Mapping[str, str]) -> CountRequest:
    body = as_object(value, "")
    model = body.get("model")
    if model is None:
        raise InvalidRequest("model is missing: name the model to count for.", field="model")
    return CountRequest(model_ref=as_text(model, "model"), prompt=read_responses(body, ""))


def _answer_input_tokens(count: TokenCount) -> Json:
    return {"object": "response.input_tokens", "input_tokens": count.input_tokens}


_ITEMS = {"type": "array", "items": any_of(STRING, OBJECT)}

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        name="openai_input_tokens",
        paths=("/v1/responses/input_tokens",),
        summary="Count the input tokens of a Responses request (OpenAI's own endpoint)",
        read=_read_input_tokens,
        answer=_answer_input_tokens,
        example=(
            {"model": "gpt-4.1-mini", "input": "What is the weather in Paris?"},
            {"object": "response.input_tokens", "input_tokens": 14},
        ),
        request_schema={
            "type": "object",
            "required": ["model"],
            "additionalProperties": True,
            "properties": {
                "model": {"type": "string"},
                "input": any_of(STRING, _ITEMS, OBJECT, NULL),
                "instructions": any_of(STRING, _ITEMS, NULL),
                "tools": OBJECTS,
                "tool_choice": any_of(STRING, OBJECT, NULL),
                "text": any_of(OBJECT, NULL),
                "reasoning": any_of(OBJECT, NULL),
            },
        },
        response_schema={
            "type": "object",
            "required": ["object", "input_tokens"],
            "properties": {
                "object": {"type": "string", "const": "response.input_tokens"},
                "input_tokens": {"type": "integer", "minimum": 0},
            },
        },
        wire="openai",
    ),
)

# ---------------------------------------------------------------- errors

_ERROR_TYPES: Mapping[int, str] = {
    401: "invalid_request_error", 404: "invalid_request_error", 429: "rate_limit_error", 503: "server_error",
    500: "server_error",
}
_ERROR_CODES: Mapping[str, str | None] = {
    "unauthorized": "invalid_api_key", "unknown_model": "model_not_found", "rate_limited": "rate_limit_exceeded",
    "too_large": "request_too_large", "overloaded": "server_overloaded", "invalid_request": None, "internal": None,
}


def error_body(error: ServiceError, request_id: str) -> tuple[int, Json]:
    """OpenAI's envelope. Its own codes where it has one, else ours."""
    return error.status, {
        "error": {
            "message": error.message,
            "type": _ERROR_TYPES.get(error.status, "invalid_request_error"),
            "param": error.field,
            "code": _ERROR_CODES.get(error.code, error.code),
        }
    }


_ERROR_SCHEMA = schema_object({"error": schema_object({
    "message": STRING, "type": STRING, "param": {"type": ["string", "null"]}, "code": {"type": ["string", "null"]},
})})

WIRE = Wire("openai", error_body, _ERROR_SCHEMA)
