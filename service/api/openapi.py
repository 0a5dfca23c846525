"""The OpenAPI document, made of the rows that make the routes; nothing of it is needed before somebody asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from service import __version__
from service.dialects import native
from service.dialects.endpoints import Endpoint, Wire
from service.dialects.native_schema import MODELS
from service.dialects.registry import WIRES

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Described:
    """What the document says of one path and method. `body` and `answer` are schemas, `media` is that of the answer;
    `others` are further statuses that have the same answer, `texts` further media types, all of them text; `query`
    says what each query parameter is."""

    path: str
    method: str
    name: str
    summary: str
    tag: str
    answer: Schema
    answer_example: Any
    body: Schema | None = None
    body_example: Any = None
    media: str = "application/json"
    others: Mapping[int, str] | None = None
    texts: tuple[str, ...] = ()
    counts: bool = False
    takes_text: bool = False
    query: Mapping[str, str] = field(default_factory=dict)


COUNT_HEADERS: Mapping[str, Schema] = {
    "X-Tallystick-Method": {"schema": {"enum": ["exact", "calibrated", "estimate"]}},
    "X-Tallystick-Error-Band": {"schema": {"type": "string"}, "description": "low-high, in tokens."},
    "X-Tallystick-Uncounted": {"schema": {"type": "integer"}, "description": "How many things were not counted."},
    "X-Tallystick-Tokenizer": {"schema": {"type": "string"}},
    "X-Tallystick-Cost": {"schema": {"type": "string"}, "description": "Decimal USD, or unknown."},
}

SECURITY_SCHEMES: Mapping[str, Schema] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "Where keys are asked for; any of these."},
    "anthropicKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
    "googleKey": {"type": "apiKey", "in": "header", "name": "x-goog-api-key"},
    "queryKey": {"type": "apiKey", "in": "query", "name": "key"},
}

REFUSED = "Refused: code is stable, field is the JSON path of the culprit."
BUSY = "Too busy, or a tokenizer is not available; Retry-After says when to come again."

RETRY_AFTER: Mapping[str, Schema] = {
    "Retry-After": {"schema": {"type": "integer", "minimum": 1}, "description": "Seconds, where there is a time."},
}

QUERY_SCHEMAS: Mapping[str, Schema] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": 500},
    "prices": {"enum": ["true", "false"]},
    "format": {"enum": ["json", "csv", "prometheus"]},
}
"""Of query parameters that are no free text."""

PATH_EXAMPLES: Mapping[str, str] = {
    "model": "gemini-2.5-flash", "model_id": "gpt-4o", "name": "team-a", "project": "my-project",
    "location": "us-central1", "publisher": "google",
}

PATH_PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")


def describe_endpoint(endpoint: Endpoint, *, takes_text: bool = False) -> list[Described]:
    """One row for each path of an endpoint."""
    request, response = endpoint.example
    return [
        Described(
            path, "post", endpoint.name if not number else f"{endpoint.name}_{number}", endpoint.summary, endpoint.wire,
            endpoint.response_schema, response, endpoint.request_schema, request,
            counts=endpoint.direct is None, takes_text=takes_text,
        )
        for number, path in enumerate(endpoint.paths)
    ]


def make_document(rows: Iterable[Described], models: Iterable[type[BaseModel]] = MODELS) -> dict[str, Any]:
    """The whole document; `models` are the schemas that rows refer to."""
    paths: dict[str, dict[str, Any]] = {}
    for row in rows:
        paths.setdefault(PATH_PARAMETER.sub(r"{\1}", row.path), {})[row.method] = _operation(row)
    modes = [(model, "validation") for model in models]
    _, schemas = models_json_schema(modes, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tallystick", "version": __version__,
            "summary": "How many input tokens will this request be billed for?",
        },
        "paths": paths,
        "components": {"schemas": schemas["$defs"], "securitySchemes": SECURITY_SCHEMES},
        "security": [{}, *({name: []} for name in SECURITY_SCHEMES)],
    }


def _operation(row: Described) -> dict[str, Any]:
    content = {row.media: {"schema": row.answer, "example": row.answer_example}}
    content |= {media: {"schema": {"type": "string"}} for media in row.texts}
    right: dict[str, Any] = {"description": "The answer.", "content": content}
    if row.counts:
        right["headers"] = COUNT_HEADERS
    operation: dict[str, Any] = {
        "operationId": row.name, "summary": row.summary, "tags": [row.tag], "parameters": _parameters(row),
        "responses": {
            "200": right,
            **{str(status): {"description": text, "content": content} for status, text in (row.others or {}).items()},
        },
    }
    if row.body is not None:
        bodies: dict[str, Any] = {"application/json": {"schema": row.body, "example": row.body_example}}
        if row.takes_text:
            bodies["text/plain"] = {"schema": {"type": "string"}, "example": "Hello, world!"}
        operation["requestBody"] = {"required": True, "content": bodies}
    failures = {"4XX": _failure(row, REFUSED), **{str(status): _failure(row, BUSY) for status in _wire(row).busy}}
    operation["responses"] = {**failures, **operation["responses"]}
    return operation


def _parameters(row: Described) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}, "example": PATH_EXAMPLES[name]}
        for name in PATH_PARAMETER.findall(row.path)
    ]
    if row.takes_text:
        found += [
            {"name": name, "in": "query", "schema": _query_schema(name), "description": "For a text/plain body."}
            for name in sorted(native.QUERY_FIELDS)
        ]
    found += [
        {"name": name, "in": "query", "schema": _query_schema(name), "description": text}
        for name, text in row.query.items()
    ]
    return found


def _query_schema(name: str) -> Schema:
    return QUERY_SCHEMAS.get(name, {"type": "string"})


def _wire(row: Described) -> Wire:
    """The wire that its errors are written in."""
    return WIRES.get(row.tag, native.WIRE)


def _failure(row: Described, text: str) -> dict[str, Any]:
    content = {"application/json": {"schema": _wire(row).error_schema}}
    return {"description": text, "headers": RETRY_AFTER, "content": content}
