"""Reading tool definitions and tool choice of a generateContent body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from service.dialects.fields import as_object, each, join, optional_text
from service.dialects.google.fields import as_enum_name, find_field, to_camel_case
from service.types import Json, Tool, ToolChoice


def read_tools(value: Json, path: str) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    for item, at in each(value, path):
        group = as_object(item, at)
        if isinstance(group.get("name"), str) and "functionDeclarations" not in group:
            tools.append(_read_declaration(group, at))  # a declaration without the list around it
            continue
        for key, content in group.items():
            name, where = to_camel_case(key), join(at, key)
            if content is None:
                continue
            if name == "functionDeclarations":
                tools += [_read_declaration(as_object(one, place), place) for one, place in each(content, where)]
            else:
                tools.append(Tool(name, kind=name, raw={key: content}, path=where))
    return tuple(tools)


def _read_declaration(body: Mapping[str, Json], path: str) -> Tool:
    schema, at = find_field(body, path, "parametersJsonSchema")
    form: Literal["json", "google"] = "json"
    if schema is None:
        schema, at = find_field(body, path, "parameters")
        form = "google"
    response, response_at = find_field(body, path, "responseJsonSchema")
    if response is None:
        response, response_at = find_field(body, path, "response")
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


def read_tool_choice(value: Json, path: str) -> ToolChoice:
    if value is None:
        return ToolChoice()
    setting, at = find_field(as_object(value, path), path, "functionCallingConfig")
    if setting is None:
        return ToolChoice()
    body = as_object(setting, at)
    names, names_at = find_field(body, at, "allowedFunctionNames")
    allowed = tuple(name for name, _ in each(names, names_at) if isinstance(name, str))
    mode = as_enum_name(body.get("mode"), _MODES, join(at, "mode"))
    if mode == "NONE":
        return ToolChoice("none")
    if mode == "ANY":
        named = len(allowed) == 1
        return ToolChoice("named" if named else "required", allowed[0] if named else None, allowed=allowed)
    return ToolChoice(allowed=allowed)
