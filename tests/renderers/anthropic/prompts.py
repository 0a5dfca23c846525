"""What the tests of the Anthropic renderer share: counting a body, and drawing it without counting."""

from __future__ import annotations

from typing import Any

from service import catalog
from service.counting.counter import Counter
from service.dialects.anthropic.request import read_messages
from service.renderers.anthropic.request import render
from service.types import CountRequest, Prompt, Rendering, TokenCount

COUNTER = Counter.in_memory()
OLD, NEW = "claude-sonnet-4-5-20250929", "claude-sonnet-5"
WEATHER = {
    "name": "get_weather",
    "description": "Weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def body(*content: Any, **fields: Any) -> dict[str, Any]:
    """A body of one user message."""
    return {"messages": [{"role": "user", "content": list(content) or "Hello"}], **fields}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def picture(width: int, height: int) -> dict[str, Any]:
    facts = {"_media": {"width": width, "height": height}}
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": facts}}


def loop(*results: dict[str, Any], before: tuple[dict[str, Any], ...] = (), **fields: Any) -> dict[str, Any]:
    """A body that ends in the results of as many calls."""
    calls = [
        {"type": "tool_use", "id": f"t{i}", "name": "get_weather", "input": {"city": "Oslo"}}
        for i in range(len(results))
    ]
    answers = [{"type": "tool_result", "tool_use_id": f"t{i}", **result} for i, result in enumerate(results)]
    return {
        "messages": [
            {"role": "user", "content": "How warm is Oslo?"},
            {"role": "assistant", "content": [*before, *calls]},
            {"role": "user", "content": answers},
        ],
        "tools": [WEATHER],
        **fields,
    }


def count(model: str, request: Any) -> TokenCount:
    return COUNTER.count(CountRequest(model_ref=model, prompt=read_messages(request)))


def tokens(model: str, request: Any) -> int:
    return count(model, request).input_tokens


def draw(request: Any, model: str = OLD) -> Rendering:
    prompt = request if isinstance(request, Prompt) else read_messages(request)
    return render(prompt, catalog.resolve(model))


def costs(rendering: Rendering) -> dict[str, int]:
    """Fixed costs by rule."""
    out: dict[str, int] = {}
    for overhead in rendering.overheads:
        out[overhead.rule] = out.get(overhead.rule, 0) + overhead.tokens
    return out
