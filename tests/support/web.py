"""An app in this process, and an HTTP client for it that needs no socket."""

from __future__ import annotations

from typing import Any

import httpx
from fastapi import FastAPI

from service.app import create_app
from service.settings import Settings


def make_app(**settings: Any) -> FastAPI:
    """An app with these settings and the defaults. Environment variables are ignored."""
    defaults = {name: field.get_default(call_default_factory=True) for name, field in Settings.model_fields.items()}
    return create_app(Settings(**(defaults | settings)))


def client_of(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://tallystick")


def find_dialect(body: Any) -> str:
    """The dialect in which an error is written, from its body. `none` when it is not an error."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "none"
    if body.get("type") == "error":
        return "anthropic"
    if isinstance(error.get("code"), int) and "status" in error:
        return "google"
    return "native" if "field" in error else "openai"
