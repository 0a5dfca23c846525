"""An app in this process behind an HTTP client: for what needs no socket."""

from __future__ import annotations

from typing import Any

import httpx
from fastapi import FastAPI

from service.app import create_app
from service.settings import Settings


def make_app(**settings: Any) -> FastAPI:
    """An app by the given settings and the defaults, whatever the environment says."""
    defaults = {name: field.get_default(call_default_factory=True) for name, field in Settings.model_fields.items()}
    return create_app(Settings(**(defaults | settings)))


def client_of(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://tallystick")


def find_dialect(body: Any) -> str:
    """The dialect that an error is written in, by its body; `none` for what is no error."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "none"
    if body.get("type") == "error":
        return "anthropic"
    if isinstance(error.get("code"), int) and "status" in error:
        return "google"
    return "native" if "field" in error else "openai"
