"""Which provider's error envelope a path has that is no route of the service."""

from __future__ import annotations

from service.dialects import litellm, vllm
from service.dialects.anthropic.errors import WIRE as ANTHROPIC
from service.dialects.endpoints import Wire
from service.dialects.google.errors import WIRE as GOOGLE
from service.dialects.openai.errors import WIRE as OPENAI

WIRE_PREFIXES: tuple[tuple[str, Wire], ...] = (
    ("/anthropic", ANTHROPIC),
    ("/v1/messages", ANTHROPIC),
    ("/v1beta", GOOGLE),
    ("/v1/projects", GOOGLE),
    ("/v1/publishers", GOOGLE),
    ("/v1/tunedModels", GOOGLE),
    ("/v1/responses", OPENAI),
    ("/v1/chat", OPENAI),
    ("/v1/completions", OPENAI),
    ("/v1/embeddings", OPENAI),
    ("/tokenize", vllm.WIRE),
    ("/detokenize", vllm.WIRE),
    ("/utils/", litellm.WIRE),
)
"""Path prefix -> how errors are worded for unknown paths with it. A route that exists has its own."""


def find_wire(path: str) -> Wire | None:
    """How errors are worded for a path that is no route of the service. None for a path of the native API."""
    return next((wire for prefix, wire in WIRE_PREFIXES if path.startswith(prefix)), None)
