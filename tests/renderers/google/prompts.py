"""Prompts of Google's dialect for tests, and their counts by the real tokenizer."""

from __future__ import annotations

from collections import Counter as Tally
from dataclasses import dataclass, replace
from typing import Any

from service.dialects.google.request import read_generate_content
from service.families import find_family
from service.families.base import Family
from service.renderers.google.request import render
from service.tokenizers.registry import get_tokenizer
from service.types import Prompt, Rendering


@dataclass(frozen=True)
class Model:
    """What the renderer asks of a model."""

    family: Family


def model_of(model_id: str) -> Model:
    family = find_family(model_id)
    assert family is not None
    return Model(family)


def rendered(body: dict[str, Any] | Prompt, model_id: str, platform: str = "gemini-api") -> Rendering:
    prompt = body if isinstance(body, Prompt) else read_generate_content(body)
    return render(replace(prompt, platform=platform), model_of(model_id))


def details_of(rendering: Rendering) -> dict[str, int]:
    """Tokens by section."""
    tokenizer = get_tokenizer("gemma3")
    details: Tally[str] = Tally()
    for segment in rendering.segments:
        assert len(segment.spans) == 1
        details[segment.spans[0][0]] += tokenizer.count(segment.text)
    for overhead in rendering.overheads:
        details[overhead.section] += overhead.tokens
    return {section: tokens for section, tokens in details.items() if tokens}


def locate_tokens(body: dict[str, Any] | Prompt, model_id: str, platform: str = "gemini-api") -> int:
    return sum(details_of(rendered(body, model_id, platform)).values())


def user(*parts: dict[str, Any] | str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def ask(*parts: dict[str, Any] | str, **rest: Any) -> dict[str, Any]:
    """A body with one message of the user."""
    return {"contents": [user(*parts)], **rest}


def rendered_for(family: Family, body: dict[str, Any], platform: str) -> Rendering:
    """As `rendered`, for a row of the families itself."""
    return render(replace(read_generate_content(body), platform=platform), Model(family))
