"""Reading a body of Google's generateContent or countTokens, of the Gemini API and of Vertex AI.

Fields may be in camelCase or snake_case, enums names or numbers, one object may stand where a list is usual, and
strings may stand for contents and parts: the SDKs accept all of it, and real traffic has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from service.dialects.fields import as_object, each, optional_text
from service.dialects.google.fields import enum_name, field, snake
from service.dialects.google.parts import RESOLUTIONS, read_contents, read_system
from service.dialects.google.tools import read_tool_choice, read_tools
from service.dialects.known_fields import CONTENT, GENERATE_CONTENT, unknown_fields, unknown_in_each
from service.errors import InvalidRequest
from service.types import Json, OutputFormat, Prompt, Warned

DIALECT = "google.generateContent"

Fields = tuple[Mapping[str, Json], str]
"""An object and the JSON path it stands at."""


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
        tools=read_tools(*_find(places, "tools")),
        tool_choice=read_tool_choice(*_find(places, "toolConfig")),
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
