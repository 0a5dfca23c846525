"""/openapi.json: FastAPI's document with our examples."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from service.api.schemas.examples import add_examples


def make_openapi(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title, version=app.version, summary=app.summary, routes=app.routes,
        separate_input_output_schemas=False,
    )
    add_examples(document)
    return document
