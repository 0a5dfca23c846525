"""Bodies of Google's dialect for tests."""

from __future__ import annotations

from typing import Any

from service.types import Part, Text

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
"""One pixel."""


def one_turn(*parts: Any, **rest: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": list(parts)}], **rest}


def texts(parts: tuple[Part, ...]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Text)]
