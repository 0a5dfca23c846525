"""Routes that FastAPI documents and does not touch: they are ASGI apps of ours, and the document is made of rows.

FastAPI would parse a body again, run its dependency machinery on every request, and answer a wrong type with a 422
that repeats what was sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.types import ASGIApp

from service.dialects.base import Endpoint
from service.dialects.native_schema import ErrorAnswer, schema_of

Schema = Mapping[str, Any]

COUNT_HEADERS: Mapping[str, Schema] = {
    "X-Tallystick-Method": {"schema": {"enum": ["exact", "calibrated", "estimate"]}},
    "X-Tallystick-Error-Band": {"schema": {"type": "string"}, "description": "low-high, in tokens."},
    "X-Tallystick-Uncounted": {"schema": {"type": "integer"}, "description": "How many things were not counted."},
    "X-Tallystick-Tokenizer": {"schema": {"type": "string"}},
    "X-Tallystick-Cost": {"schema": {"type": "string"}, "description": "Decimal USD, or unknown."},
}

NATIVE_ERRORS: Mapping[str, Any] = {
    "4XX": {
        "description": "Refused: code is stable, field is the JSON path of the culprit.",
        "content": {"application/json": {"schema": schema_of(ErrorAnswer)}},
    },
    "503": {
        "description": "Too busy, or a tokenizer is not available; Retry-After says when to come again.",
        "content": {"application/json": {"schema": schema_of(ErrorAnswer)}},
    },
}
PROVIDER_ERRORS: Mapping[str, Any] = {
    "4XX": {"description": "Refused, in the provider's own error envelope."},
    "503": {"description": "Too busy, in the provider's own error envelope; Retry-After says when to come again."},
}


class DocumentedRoute(APIRoute):
    """In the OpenAPI document by `documentation`; served by `app` alone."""

    def __init__(self, path: str, app: ASGIApp, methods: list[str], **documentation: Any) -> None:
        super().__init__(
            path, _undeclared, methods=methods, response_model=None, response_class=Response, description=" ",
            **documentation,
        )
        self.app = app


async def _undeclared() -> None:
    """FastAPI reads the signature of this one; it is never called."""


def document_endpoint(endpoint: Endpoint, number: int = 0, *, takes_text: bool = False) -> dict[str, Any]:
    """Keyword arguments of a DocumentedRoute for one of an endpoint's paths (its `number`th)."""
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)", endpoint.paths[number])
    ]
    if takes_text:
        parameters += [
            {"name": name, "in": "query", "schema": {"type": "string"}, "description": "For a text/plain body."}
            for name in ("model", "tokenizer")
        ]
    request, response = endpoint.example
    content: dict[str, Any] = {"application/json": {"schema": endpoint.request_schema, "example": request}}
    if takes_text:
        content["text/plain"] = {"schema": {"type": "string"}, "example": "Hello, world!"}
    return {
        "name": endpoint.name,
        "summary": endpoint.summary,
        "tags": [endpoint.wire],
        "operation_id": f"{endpoint.name}_{number}" if number else endpoint.name,
        "responses": {
            200: {
                "description": "The count.",
                "headers": COUNT_HEADERS,
                "content": {"application/json": {"schema": endpoint.response_schema, "example": response}},
            },
            **(NATIVE_ERRORS if endpoint.wire == "native" else PROVIDER_ERRORS),
        },
        "openapi_extra": {"parameters": parameters, "requestBody": {"required": True, "content": content}},
    }


def document(
    name: str, summary: str, tag: str, answer: Schema, example: Any = None, *, body: Schema | None = None,
    body_example: Any = None, media: str = "application/json", also: Mapping[int, str] | None = None,
) -> dict[str, Any]:
    """Keyword arguments of a DocumentedRoute that is no count endpoint. `also`: other statuses with the same answer."""
    content = {media: {"schema": answer, **({} if example is None else {"example": example})}}
    out: dict[str, Any] = {
        "name": name,
        "summary": summary,
        "tags": [tag],
        "operation_id": name,
        "responses": {
            200: {"description": "The answer.", "content": content},
            **{status: {"description": text, "content": content} for status, text in (also or {}).items()},
        },
    }
    if body is not None:
        request = {"application/json": {"schema": body, "example": body_example}}
        out["openapi_extra"] = {"requestBody": {"required": True, "content": request}}
        out["responses"].update(NATIVE_ERRORS)
    return out


def gather_components(document: dict[str, Any]) -> dict[str, Any]:
    """The document with every `$defs` of a schema moved to where its references look: components/schemas."""
    schemas: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
    pending: list[Any] = [document["paths"]]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(node)
        elif isinstance(node, dict):
            found = node.pop("$defs", {})
            schemas.update(found)
            pending.extend((*node.values(), *found.values()))
    return document
