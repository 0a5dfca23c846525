"""Reading tool definitions, tool choice and output format, in Chat Completions and in the Responses API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from service.dialects.fields import as_list, as_object, as_text, each, join, optional_text, wrong_type
from service.errors import InvalidRequest
from service.types import Json, OutputFormat, Tool, ToolChoice


def read_tools(value: Json, path: str) -> tuple[Tool, ...]:
    """Tool definitions of either API. Tools inside a namespace are read like the others."""
    return tuple(tool for item, at in each(value, path) for tool in _read_tool(as_object(item, at), at))


def _read_tool(tool: dict[str, Json], path: str) -> Iterator[Tool]:
    kind = optional_text(tool.get("type"), join(path, "type")) or "function"
    if kind in ("function", "custom"):
        nested = tool.get(kind)
        if isinstance(nested, dict):
            deferred = tool.get("defer_loading")
            tool, path = {"defer_loading": deferred, **nested}, join(path, kind)
        yield read_function(tool, path, kind)
    elif kind == "namespace" and tool.get("tools") is not None:
        yield from read_tools(tool["tools"], join(path, "tools"))
    else:
        yield Tool(kind, kind=kind, raw=tool, path=path)


def read_function(tool: dict[str, Json], path: str, kind: str = "function") -> Tool:
    """A function or a free-form tool, from its own fields. Raises InvalidRequest where it has no name."""
    if tool.get("name") is None:
        raise InvalidRequest(f"{join(path, 'name')} is missing: every function needs a name.", field=join(path, "name"))
    parameters = tool.get("parameters")
    if parameters is not None:
        as_object(parameters, join(path, "parameters"))
    return Tool(
        as_text(tool["name"], join(path, "name")),
        optional_text(tool.get("description"), join(path, "description")),
        parameters,
        kind=kind,
        strict=tool.get("strict") if isinstance(tool.get("strict"), bool) else None,
        deferred=tool.get("defer_loading") is True,
        raw=tool if kind == "custom" else {},
        path=path,
    )


MODES = frozenset({"auto", "none", "required"})


def read_tool_choice(value: Json, path: str, parallel: Json = None) -> ToolChoice:
    """`tool_choice` in each form: a mode, a named tool, or allowed tools with their mode."""
    serial = parallel if isinstance(parallel, bool) else None
    if value is None:
        return ToolChoice(parallel=serial)
    if isinstance(value, str):
        return ToolChoice(_read_mode(value), parallel=serial)
    choice = as_object(value, path)
    kind = choice.get("type")
    nested = choice.get(kind) if isinstance(kind, str) else None
    inner = nested if isinstance(nested, dict) else choice
    if "tools" in inner or kind == "allowed_tools":
        names = tuple(filter(None, (_find_name(item) for item in as_list(inner.get("tools"), join(path, "tools")))))
        return ToolChoice(_read_mode(inner.get("mode")), parallel=serial, allowed=names)
    name = _find_name(inner)
    if name is None and not isinstance(kind, str):
        raise InvalidRequest(f"{path} names no tool.", field=path)
    return ToolChoice("named", name, serial)


def _read_mode(value: Json) -> Any:
    return value if isinstance(value, str) and value in MODES else "auto"


def _find_name(value: Json) -> str | None:
    """The name in {"name"} or {"function": {"name"}}."""
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    name = inner.get("name") if isinstance(inner, dict) else value.get("name")
    return name if isinstance(name, str) else None


# ---------------------------------------------------------------- output format


def read_output(value: Json, path: str) -> OutputFormat | None:
    """The output format, or None for free text. The schema stands beside `type` in the Responses API, and inside
    `json_schema` in Chat."""
    if value is None:
        return None
    form = as_object(value, path)
    if form.get("type") == "json_object":
        return OutputFormat("json_object")
    if form.get("type") != "json_schema":
        return None
    if form.get("json_schema") is not None:
        path = join(path, "json_schema")
        form = as_object(form["json_schema"], path)
    strict = form.get("strict")
    schema = form.get("schema")
    if schema is not None and not isinstance(schema, (dict, bool)):
        raise wrong_type(join(path, "schema"), "an object", schema)
    return OutputFormat(
        "json_schema",
        optional_text(form.get("name"), join(path, "name")),
        optional_text(form.get("description"), join(path, "description")),
        schema,
        strict=strict if isinstance(strict, bool) else None,
    )
