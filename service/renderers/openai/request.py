"""What OpenAI's templates make of a prompt: Chat Completions, Responses, and plain texts (completions, embeddings).

A prompt from another provider's dialect is drawn as Chat Completions. How each text is framed was found by fitting
recorded requests; the constants and their evidence stand in `service.families.openai`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from service.families.base import Family
from service.families.openai_rules import OpenAIRules, Surface
from service.renderers.base import RenderingBuilder
from service.renderers.openai.chat import draw_chat
from service.renderers.openai.content import ContentDrawer
from service.renderers.openai.media import MediaPainter
from service.renderers.openai.responses import draw_responses
from service.types import Json, Prompt, Rendering, Text

EMPTY_TEXT = 1
"""An empty text costs one token: 1 recorded embedding of 2024."""

STORED_TOKENS = 10_000
"""Upper end of the band for a stored conversation or prompt, which only the provider can see."""

WEB_SEARCH_OPTIONS, PREDICTION, STORED_STATE = "web_search_options", "prediction", "stored_state"
"""Keys of `Prompt.options` that the OpenAI readers set and this renderer reads."""


class Model(Protocol):
    """What is needed of a catalog model: its canonical id, and its family with OpenAIRules."""

    @property
    def model_id(self) -> str: ...

    @property
    def family(self) -> Family: ...


def render(prompt: Prompt, model: Model) -> Rendering:
    """Texts and fixed costs of the prompt for that model. Pure: nothing is fetched, nothing is counted."""
    rules: OpenAIRules = model.family.rules
    surface = _surface(prompt, rules)
    builder = RenderingBuilder(f"openai-{rules.line}/{surface}")
    pen = ContentDrawer(
        builder, rules, MediaPainter(builder, rules, surface), sealed_first=surface == "responses",
    )
    if surface == "chat":
        builder.cost("frame", rules.preamble, "preamble")
        draw_chat(pen, prompt)
    elif surface == "responses":
        builder.cost("frame", rules.preamble, "preamble")
        draw_responses(pen, prompt)
    else:
        _draw_plain(pen, prompt)
    _draw_options(builder, prompt.options)
    return builder.build()


def _surface(prompt: Prompt, rules: OpenAIRules) -> Surface:
    """Which surface bills the prompt: that of its dialect where it is OpenAI's, else the one the model has."""
    if prompt.dialect == "openai.embeddings":
        return "embeddings"
    if prompt.dialect == "openai.completions" or rules.plain:
        return "completions"
    return "responses" if prompt.dialect == "openai.responses" else "chat"


def _draw_plain(pen: ContentDrawer, prompt: Prompt) -> None:
    """Every text by itself, without any frame (111 of 111 recorded requests)."""
    pen.builder.text("system", pen.content(prompt.system, "system").text)
    for message in prompt.messages:
        text = pen.content(message.parts).text
        pen.builder.text("messages", text)
        if not text and all(isinstance(part, Text) for part in message.parts):
            pen.builder.cost("messages", EMPTY_TEXT, "empty_text")


def _draw_options(builder: RenderingBuilder, options: Mapping[str, Json]) -> None:
    """What stands beside the messages: a prediction, web search in Chat, and state that only the provider has."""
    prediction = options.get(PREDICTION)
    if isinstance(prediction, str):
        builder.cost("messages", 12, "prediction")  # 1 recorded request of gpt-4o, November 2024, 43 tokens predicted
        builder.doubt(-12, 12 + len(prediction), "a predicted output was recorded once")
    if options.get(WEB_SEARCH_OPTIONS):
        builder.miss(WEB_SEARCH_OPTIONS, "web_search", "what the search brings back is billed too")
    for name in options.get(STORED_STATE) or ():
        builder.miss(str(name), "stored_state", "what it stands for is stored at the provider and billed too")
        builder.doubt(0, STORED_TOKENS, "stored state")
