"""Reading a body of Google's generateContent or countTokens, of the Gemini API and of Vertex AI.

Names of fields may be in camelCase or snake_case, and enums may be names or numbers. One object may stand where a list
is usual, and a string may stand for contents or parts. The SDKs accept all of this, and real requests have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from service.dialects.fields import as_object, each, optional_text
from service.dialects.google.fields import as_enum_name, find_field, to_snake_case
from service.dialects.google.parts import RESOLUTIONS, read_contents, read_system
from service.dialects.google.tools import read_tool_choice, read_tools
from service.dialects.known_fields import CONTENT, GENERATE_CONTENT, unknown_fields, unknown_in_each
from service.errors import InvalidRequest
from service.types import Json, OutputFormat, Prompt, Warned

DIALECT = "google.generateContent"

Fields = tuple[Mapping[str, Json], str]
"""An object and the JSON path it stands at."""


def read_generate_content(value: Json, path: str = "") -> Prompt:
    """The prompt of a body, or of the `generateContentRequest` in it. Raises InvalidRequest naming the JSON path."""
    body = as_object(value, path)
    inner, inner_path = find_field(body, path, "generateContentRequest")
    if inner is not None:
        body, path = as_object(inner, inner_path), inner_path
    config, config_path = find_field(body, path, "config")  # an argument of the SDKs that some callers send as it is
    places: tuple[Fields, ...] = ((body, path),)
    if isinstance(config, dict):
        places = (*places, (config, config_path))
    generation, generation_path = _find_field(places, "generationConfig")
    if generation is not None:
        generation_places: tuple[Fields, ...] = ((as_object(generation, generation_path), generation_path),)
    else:
        generation_places = places[1:]
    system, system_role_given = read_system(*_find_field(places, "systemInstruction"))
    contents, contents_path = find_field(body, path, "contents")
    prompt = Prompt(
        messages=read_contents(contents, contents_path),
        system=system,
        system_role_given=system_role_given,
        tools=read_tools(*_find_field(places, "tools")),
        tool_choice=read_tool_choice(*_find_field(places, "toolConfig")),
        output=_read_output(generation_places),
        thinking=_read_thinking(*_find_field(generation_places, "thinkingConfig")),
        dialect=DIALECT,
        options=_read_options(places, generation_places),
        warnings=(*unknown_fields(body, _FIELDS, path), *_unknown_in_contents(contents, contents_path)),
    )
    if "contents" not in body and not (prompt.system or prompt.tools or "cached_content" in prompt.options):
        message = f"{contents_path} is missing: a generateContent request holds contents."
        raise InvalidRequest(message, field=contents_path)  # else a body in another format would count 0
    return prompt


_FIELDS = GENERATE_CONTENT | {to_snake_case(name) for name in GENERATE_CONTENT}


def _unknown_in_contents(contents: Json, path: str) -> Iterator[Warned]:
    listed = contents if isinstance(contents, list) else []
    whole = [(item, at) for item, at in each(listed, path) if isinstance(item, dict) and not CONTENT.isdisjoint(item)]
    return unknown_in_each(whole, CONTENT)


def _find_field(places: tuple[Fields, ...], name: str) -> tuple[Json, str]:
    """A field and its path, from the first of the objects that has it."""
    for body, path in places:
        value, at = find_field(body, path, name)
        if value is not None:
            return value, at
    return None, name


def _read_options(places: tuple[Fields, ...], generation: tuple[Fields, ...]) -> dict[str, Json]:
    options: dict[str, Json] = {}
    level, level_at = _find_field(generation, "mediaResolution")
    resolution = as_enum_name(level, RESOLUTIONS, level_at)
    if resolution:
        options["media_resolution"] = resolution
    cached, at = _find_field(places, "cachedContent")
    if optional_text(cached, at):
        options["cached_content"] = cached
    return options


def _read_output(places: tuple[Fields, ...]) -> OutputFormat | None:
    schema, at = _find_field(places, "responseJsonSchema")
    if schema is not None:
        return OutputFormat("json_schema", schema=as_object(schema, at))
    schema, at = _find_field(places, "responseSchema")
    if schema is not None:
        return OutputFormat("json_schema", schema=as_object(schema, at), schema_form="google")
    mime, at = _find_field(places, "responseMimeType")
    return OutputFormat("json_object") if optional_text(mime, at) == "application/json" else None


def _read_thinking(value: Json, path: str) -> Literal["enabled", "adaptive", "disabled"] | None:
    if value is None:
        return None
    budget = as_object(value, path).get("thinkingBudget", value.get("thinking_budget"))
    if budget in (0, -1):
        return "adaptive" if budget else "disabled"
    return "enabled"
