"""/openapi.json: what FastAPI says of the routes, with an example of each operation."""

from __future__ import annotations

import warnings
from threading import Lock
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.warnings import UnsupportedFieldAttributeWarning
from pydantic_core import to_json

from service.api.operations import Count
from service.api.routing import KeyedRoute, RawRoute
from service.api.schemas.examples import add_examples
from service.dialects.native import QUERY_FIELDS
from service.types import Json

TAGS: tuple[dict[str, str], ...] = (
    {"name": "native", "description": "The service's own API: counts, costs, budgets, tokens, models, usage."},
    {"name": "anthropic", "description": "Anthropic's count endpoint, for its SDKs and for Claude Code."},
    {"name": "openai", "description": "OpenAI's count endpoint for Responses requests, for its SDKs."},
    {"name": "google", "description": "countTokens of the Gemini API and of Vertex AI, for Google's SDKs."},
    {"name": "litellm", "description": "The token counter of LiteLLM's proxy."},
    {"name": "vllm", "description": "The tokenizer routes of vLLM's server."},
    {"name": "operations", "description": "Probes and metrics."},
)

SCHEMES: dict[str, dict[str, str]] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "Where keys are asked for; any of these."},
    "anthropicKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
    "googleKey": {"type": "apiKey", "in": "header", "name": "x-goog-api-key"},
    "queryKey": {"type": "apiKey", "in": "query", "name": "key"},
}
"""How a key may be sent."""

COUNT_HEADERS: dict[str, dict[str, Any]] = {
    "X-Tallystick-Method": {"schema": {"type": "string", "enum": ["exact", "calibrated", "estimate"]}},
    "X-Tallystick-Error-Band": {"schema": {"type": "string"}, "description": "low-high, in tokens."},
    "X-Tallystick-Uncounted": {"schema": {"type": "integer"}, "description": "How many things were not counted."},
    "X-Tallystick-Tokenizer": {"schema": {"type": "string"}},
    "X-Tallystick-Cost": {"schema": {"type": "string"}, "description": "Decimal USD, or unknown."},
}
"""Of the answers that are one count (service.api.operations.count_headers)."""

PLAIN_TEXT: dict[str, Any] = {"schema": {"type": "string"}, "example": "Hello, world!"}

PLAIN_TEXT_QUERY: tuple[dict[str, Any], ...] = tuple(
    {"name": name, "in": "query", "schema": {"type": "string"}, "description": "For a text/plain body."}
    for name in sorted(QUERY_FIELDS)
)


class OpenApi:
    """The document of an app. Making it takes 0.3 s, so it is made when it is first asked for, and kept."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._lock = Lock()
        self._content: bytes | None = None

    def get_content(self) -> bytes:
        """The document as JSON."""
        with self._lock:
            if self._content is None:
                self._content = to_json(make_openapi(self._app))
            return self._content


def make_openapi(app: FastAPI) -> dict[str, Any]:
    """The document: FastAPI's, what it cannot know of our routes, and an example of each operation."""
    routes = app.state.pipeline.routes.routes
    with warnings.catch_warnings():  # FastAPI silences this one of its own, but not for models that are built when used
        warnings.simplefilter("ignore", UnsupportedFieldAttributeWarning)
        document: dict[str, Any] = _restore_integers(get_openapi(
            title=app.title, version=app.version, summary=app.summary, tags=[*TAGS],
            routes=[route.describe() for route in routes], separate_input_output_schemas=False,
        ))
    document["components"]["securitySchemes"] = SCHEMES
    document["security"] = [{}, *({name: []} for name in SCHEMES)]
    for route in routes:
        if route.include_in_schema:
            (method,) = route.methods
            _complete(document["paths"][route.path_format][method.lower()], route)
    add_examples(document)
    return document


def _complete(operation: dict[str, Any], route: KeyedRoute) -> None:
    """Add the scope that a key must have, the headers of a count, and the body that is a plain text."""
    for parameter in operation.get("parameters", ()):
        for repeated in ("title", "description"):
            parameter["schema"].pop(repeated, None)
    operation["description"] += f"\n\nWhere keys are asked for: one with the scope `{route.needs}`."
    if isinstance(route, RawRoute) and isinstance(route.operation, Count):
        operation["responses"]["200"]["headers"] = COUNT_HEADERS
    if isinstance(route, RawRoute) and route.operation.takes_text:
        operation["requestBody"]["content"]["text/plain"] = PLAIN_TEXT
        operation["parameters"] = [*PLAIN_TEXT_QUERY]


def _restore_integers(value: Json) -> Json:
    """FastAPI writes the limits of integers as floats."""
    if isinstance(value, dict):
        return {key: _restore_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_restore_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
