"""Google's wire: `generateContent` and `countTokens` bodies of the Gemini API and Vertex AI, and Google's errors.

Fields may be in camelCase or snake_case, enums names or numbers, one object may stand where a list is usual, and
strings may stand for contents and parts: the SDKs accept all of it, and real traffic has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from service.dialects.fields import (
    NULL,
    OBJECT,
    OBJECTS,
    STRING,
    Endpoint,
    Wire,
    any_of,
    as_object,
    each,
    optional_text,
    schema_object,
)
from service.dialects.google.fields import camel, enum_name, field, snake
from service.dialects.google.parts import RESOLUTIONS, read_contents, read_system
from service.dialects.validation import CONTENT, GENERATE_CONTENT, join, unknown_fields, unknown_in_each
from service.errors import InvalidRequest, ServiceError
from service.types import CountRequest, Json, OutputFormat, Prompt, TokenCount, Tool, ToolChoice, Warned

DIALECT = "google.generateContent"

Fields = tuple[Mapping[str, Json], str]
"""An object and the JSON path it stands at."""


# ---------------------------------------------------------------- body -> Prompt


def read_generate_content(value: Json, path: str = "") -> Prompt:
    """The prompt of a body, itself or under `generateContentRequest`. Raises InvalidRequest naming the JSON path."""
    body = as_object(value, path)
    inner, inner_path = field(body, path, "generateContentRequest")
    if inner is not None:
        body, path = as_object(inner, inner_path), inner_path
    config, config_path = field(body, path, "config")  # the SDKs' own argument, which some callers send as it is
    places: tuple[Fields, ...] = ((body, path),)
    if isinstance(config, dict):
        places = (*places, (config, config_path))
    generation, generation_path = _find(places, "generationConfig")
    if generation is not None:
        generation_places: tuple[Fields, ...] = ((as_object(generation, generation_path), generation_path),)
    else:
        generation_places = places[1:]
    system, system_role_given = read_system(*_find(places, "systemInstruction"))
    contents, contents_path = field(body, path, "contents")
    prompt = Prompt(
        messages=read_contents(contents, contents_path),
        system=system,
        system_role_given=system_role_given,
        tools=_tools(*_find(places, "tools")),
        tool_choice=_tool_choice(*_find(places, "toolConfig")),
        output=_output(generation_places),
        thinking=_thinking(*_find(generation_places, "thinkingConfig")),
        dialect=DIALECT,
        options=_options(places, generation_places),
        warnings=(*unknown_fields(body, _FIELDS, path), *_unknown_in_contents(contents, contents_path)),
    )
    if "contents" not in body and not (prompt.system or prompt.tools or "cached_content" in prompt.options):
        message = f"{contents_path} is missing: a generateContent request holds contents."
        raise InvalidRequest(message, field=contents_path)  # a body in another format would count 0
    return prompt


_FIELDS = GENERATE_CONTENT | {snake(name) for name in GENERATE_CONTENT}


def _unknown_in_contents(contents: Json, path: str) -> Iterator[Warned]:
    listed = contents if isinstance(contents, list) else []
    whole = [(item, at) for item, at in each(listed, path) if isinstance(item, dict) and not CONTENT.isdisjoint(item)]
    return unknown_in_each(whole, CONTENT)


def _find(places: tuple[Fields, ...], name: str) -> tuple[Json, str]:
    """A field from the first of the objects that has it."""
    for body, path in places:
        value, at = field(body, path, name)
        if value is not None:
            return value, at
    return None, name


def _options(places: tuple[Fields, ...], generation: tuple[Fields, ...]) -> dict[str, Json]:
    options: dict[str, Json] = {}
    level, level_at = _find(generation, "mediaResolution")
    resolution = enum_name(level, RESOLUTIONS, level_at)
    if resolution:
        options["media_resolution"] = resolution
    cached, at = _find(places, "cachedContent")
    if optional_text(cached, at):
        options["cached_content"] = cached
    return options


# ---------------------------------------------------------------- tools


def _tools(value: Json, path: str) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    for item, at in each(value, path):
        group = as_object(item, at)
        if isinstance(group.get("name"), str) and "functionDeclarations" not in group:
            tools.append(_declaration(group, at))  # a declaration outside its group
            continue
        for key, content in group.items():
            name, where = camel(key), join(at, key)
            if content is None:
                continue
            if name == "functionDeclarations":
                tools += [_declaration(as_object(one, place), place) for one, place in each(content, where)]
            else:
                tools.append(Tool(name, kind=name, raw={key: content}, path=where))
    return tuple(tools)


def _declaration(body: Mapping[str, Json], path: str) -> Tool:
    schema, at = field(body, path, "parametersJsonSchema")
    form: Literal["json", "google"] = "json"
    if schema is None:
        schema, at = field(body, path, "parameters")
        form = "google"
    response, response_at = field(body, path, "responseJsonSchema")
    if response is None:
        response, response_at = field(body, path, "response")
    elif schema is None:
        form = "json"
    return Tool(
        optional_text(body.get("name"), join(path, "name")),
        optional_text(body.get("description"), join(path, "description")),
        None if schema is None else as_object(schema, at),
        None if response is None else as_object(response, response_at),
        schema_form=form, raw=body, path=path,
    )


_MODES = ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")


def _tool_choice(value: Json, path: str) -> ToolChoice:
    if value is None:
        return ToolChoice()
    setting, at = field(as_object(value, path), path, "functionCallingConfig")
    if setting is None:
        return ToolChoice()
    body = as_object(setting, at)
    names, names_at = field(body, at, "allowedFunctionNames")
    allowed = tuple(name for name, _ in each(names, names_at) if isinstance(name, str))
    mode = enum_name(body.get("mode"), _MODES, join(at, "mode"))
    if mode == "NONE":
        return ToolChoice("none")
    if mode == "ANY":
        named = len(allowed) == 1
        return ToolChoice("named" if named else "required", allowed[0] if named else None, allowed=allowed)
    return ToolChoice(allowed=allowed)


# ---------------------------------------------------------------- output


def _output(places: tuple[Fields, ...]) -> OutputFormat | None:
    schema, at = _find(places, "responseJsonSchema")
    if schema is not None:
        return OutputFormat("json_schema", schema=as_object(schema, at))
    schema, at = _find(places, "responseSchema")
    if schema is not None:
        return OutputFormat("json_schema", schema=as_object(schema, at), schema_form="google")
    mime, at = _find(places, "responseMimeType")
    return OutputFormat("json_object") if optional_text(mime, at) == "application/json" else None


def _thinking(value: Json, path: str) -> Literal["enabled", "adaptive", "disabled"] | None:
    if value is None:
        return None
    budget = as_object(value, path).get("thinkingBudget", value.get("thinking_budget"))
    if budget in (0, -1):
        return "adaptive" if budget else "disabled"
    return "enabled"


READERS: Mapping[str, Callable[[Json, str], Prompt]] = {DIALECT: read_generate_content}


# ---------------------------------------------------------------- endpoints


def _count_request(platform: str) -> Callable[[Json, Mapping[str, str]], CountRequest]:
    def read(body: Json, params: Mapping[str, str]) -> CountRequest:
        prompt = replace(read_generate_content(body), platform=platform)
        return CountRequest(model_ref=params["model"], prompt=prompt)

    return read


def _tuned_request(body: Json, params: Mapping[str, str]) -> CountRequest:
    """A tuned model is named by its owner: the catalog file may say which base it has."""
    return _count_request("gemini-api")(body, {"model": f"tunedModels/{params['model']}"})


def answer(count: TokenCount) -> Json:
    """A CountTokensResponse: the total, and its split by modality (none for 0 tokens)."""
    media = dict(count.modalities)
    unsplit = count.details.get("media", 0) - sum(media.values())
    rows = {"TEXT": count.input_tokens - count.details.get("media", 0) + media.pop("TEXT", 0), **media}
    rows["MODALITY_UNSPECIFIED"] = unsplit
    details = [{"modality": name, "tokenCount": tokens} for name, tokens in rows.items() if tokens > 0]
    return {"totalTokens": count.input_tokens, "promptTokensDetails": details}


_EXAMPLE_BODY: Json = {
    "contents": [{"role": "user", "parts": [{"text": "The quick brown fox jumps over the lazy dog."}]}],
    "systemInstruction": {"role": "user", "parts": [{"text": "Answer briefly."}]},
}


def _example(tokens: int) -> tuple[Json, Json]:
    """The example for gemini-2.5-flash: 13 tokens of text, and on the Gemini API one for each of two roles."""
    return _EXAMPLE_BODY, {"totalTokens": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]}



_CONTENT_SCHEMA = {
    "type": "object",
    "properties": {
        "role": {"type": ["string", "null"]},
        "parts": any_of(STRING, {"type": "array", "items": any_of(STRING, OBJECT)}, OBJECT, NULL),
    },
}
_CONTENTS = any_of(STRING, {"type": "array", "items": any_of(STRING, _CONTENT_SCHEMA)}, _CONTENT_SCHEMA)
_REQUEST_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "contents": any_of(_CONTENTS, NULL),
        "systemInstruction": any_of(_CONTENTS, NULL),
        "tools": OBJECTS,
        "toolConfig": any_of(OBJECT, NULL),
        "generationConfig": any_of(OBJECT, NULL),
        "generateContentRequest": {
            **any_of(OBJECT, NULL),
            "description": "A whole generateContent request; then contents beside it are ignored.",
        },
    },
}
_RESPONSE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["totalTokens"],
    "properties": {
        "totalTokens": {"type": "integer"},
        "promptTokensDetails": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"modality": {"type": "string"}, "tokenCount": {"type": "integer"}},
            },
        },
    },
}

_PUBLISHER = "publishers/{publisher}/models/{model}:countTokens"


def _endpoint(
    name: str, summary: str, paths: tuple[str, ...], read: Callable[[Json, Mapping[str, str]], CountRequest],
    tokens: int = 15,
) -> Endpoint:
    return Endpoint(name, paths, summary, read, answer, _example(tokens), _REQUEST_SCHEMA, _RESPONSE_SCHEMA, "google")


ENDPOINTS: tuple[Endpoint, ...] = (
    _endpoint(
        "gemini_count_tokens", "Gemini API: count the tokens of a generateContent request",
        ("/v1beta/models/{model:path}:countTokens", "/v1/models/{model:path}:countTokens"),
        _count_request("gemini-api"),
    ),
    _endpoint(
        "gemini_tuned_count_tokens", "Gemini API: count the tokens of a request to a tuned model",
        ("/v1beta/tunedModels/{model}:countTokens", "/v1/tunedModels/{model}:countTokens"), _tuned_request,
    ),
    _endpoint(
        "vertex_count_tokens", "Vertex AI: count the tokens of a generateContent request",
        tuple(
            f"/{version}/{scope}{_PUBLISHER}"
            for version in ("v1beta1", "v1")
            for scope in ("projects/{project}/locations/{location}/", "")
        ),
        _count_request("vertex"), tokens=13,
    ),
)


# ---------------------------------------------------------------- errors


_STATUSES: Mapping[int, str] = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    405: "UNIMPLEMENTED", 408: "DEADLINE_EXCEEDED", 413: "INVALID_ARGUMENT",
    415: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE",
}
_DETAIL = "type.googleapis.com/google.rpc."


def _error(error: ServiceError, request_id: str) -> tuple[int, Json]:
    """Google's envelope, with the details its clients read: the field, when to retry, the request."""
    details: list[Json] = []
    if error.field:
        violation = {"field": error.field, "description": error.message}
        details.append({"@type": f"{_DETAIL}BadRequest", "fieldViolations": [violation]})
    if error.retry_after is not None:
        details.append({"@type": f"{_DETAIL}RetryInfo", "retryDelay": f"{error.retry_after:g}s"})
    if request_id:
        details.append({"@type": f"{_DETAIL}RequestInfo", "requestId": request_id})
    status = _STATUSES.get(error.status, "INTERNAL")
    body = {"code": error.status, "message": error.message, "status": status, "details": details}
    return error.status, {"error": body}


_ERROR_SCHEMA = schema_object({"error": schema_object({
    "code": {"type": "integer"}, "message": STRING,
    "status": {"enum": [*dict.fromkeys(_STATUSES.values()), "INTERNAL"]},
    "details": {"type": "array", "items": schema_object({"@type": STRING})},
})})

WIRE = Wire("google", _error, _ERROR_SCHEMA)
