"""Every endpoint of another provider that the service answers, and the error format of each path."""

from __future__ import annotations

from collections.abc import Mapping

from service.dialects import litellm, vllm
from service.dialects.anthropic.endpoints import ENDPOINTS as ANTHROPIC_ENDPOINTS
from service.dialects.anthropic.errors import WIRE as ANTHROPIC
from service.dialects.endpoints import Endpoint, Wire
from service.dialects.google.endpoints import ENDPOINTS as GOOGLE_ENDPOINTS
from service.dialects.google.errors import WIRE as GOOGLE
from service.dialects.openai.endpoints import ENDPOINTS as OPENAI_ENDPOINTS
from service.dialects.openai.errors import WIRE as OPENAI

FOREIGN_ENDPOINTS: tuple[Endpoint, ...] = (
    *ANTHROPIC_ENDPOINTS, *OPENAI_ENDPOINTS, *GOOGLE_ENDPOINTS, *litellm.ENDPOINTS, *vllm.ENDPOINTS,
)
"""Every endpoint that is not native, those that are asked most first."""

WIRES: Mapping[str, Wire] = {wire.name: wire for wire in (ANTHROPIC, OPENAI, GOOGLE, litellm.WIRE, vllm.WIRE)}

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
"""Path prefix -> the wire that its unknown paths and wrong methods are answered in (known ones know theirs)."""


def find_wire(path: str) -> Wire | None:
    """The wire for a path that is no route of ours; None for a path of the native API."""
    return next((wire for prefix, wire in WIRE_PREFIXES if path.startswith(prefix)), None)
