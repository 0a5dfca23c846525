"""Tool definitions of the Messages API."""

from __future__ import annotations

from service.dialects.fields import Object, as_object, join, optional_text
from service.types import Tool


def read_tool(item: Object, path: str) -> Tool:
    """A tool definition: one of the caller (`type` absent or custom), or a tool that the provider defines."""
    kind = optional_text(item.get("type"), join(path, "type"))
    name = optional_text(item.get("name"), join(path, "name"))
    deferred = item.get("defer_loading") is True
    if kind not in ("", "custom", "function"):
        return Tool(name, kind=kind, deferred=deferred, raw=dict(item), path=path)
    at = join(path, "input_schema")
    schema = item.get("input_schema")
    strict = item.get("strict")
    return Tool(
        name, optional_text(item.get("description"), join(path, "description")),
        None if schema is None else as_object(schema, at),
        strict=strict if isinstance(strict, bool) else None, deferred=deferred, raw=dict(item), path=path,
    )
