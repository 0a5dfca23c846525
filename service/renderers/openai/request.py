"""Rendering a prompt as OpenAI bills it: Chat Completions, Responses, and plain texts (completions, embeddings).

A prompt in another provider's dialect is rendered as Chat Completions. The frame around each text was found by fitting
recorded requests. The constants and their evidence stand in `service.families.openai`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from service.families.base import Family
from service.families.openai_rules import OpenAIRules, Surface
from service.renderers.base import RenderingBuilder
from service.renderers.openai.chat import write_chat
from service.renderers.openai.content import ContentWriter
from service.renderers.openai.media import MediaWriter
from service.renderers.openai.responses import write_responses
from service.types import Json, Prompt, Rendering, Text

EMPTY_TEXT = 1
"""Tokens of an empty text (1 recorded embedding of 2024)."""

STORED_TOKENS = 10_000
"""Tokens added to the upper end of the error band for a stored conversation or prompt, which only the provider has."""

WEB_SEARCH_OPTIONS, PREDICTION, STORED_STATE = "web_search_options", "prediction", "stored_state"
"""Keys of `Prompt.options` that the OpenAI readers set and this renderer reads."""


class Model(Protocol):
    """What is needed of a catalog model: its canonical id, and its family, which has OpenAIRules."""

    @property
    def model_id(self) -> str: ...

    @property
    def family(self) -> Family: ...


def render(prompt: Prompt, model: Model) -> Rendering:
    """The texts and fixed costs of a prompt for a model. Nothing is fetched and no token is counted here."""
    rules: OpenAIRules = model.family.rules
    surface = _surface(prompt, rules)
    builder = RenderingBuilder(f"openai-{rules.line}/{surface}")
    writer = ContentWriter(
        builder, rules, MediaWriter(builder, rules, surface), sealed_first=surface == "responses",
    )
    if surface == "chat":
        builder.add_cost("frame", rules.preamble, "preamble")
        write_chat(writer, prompt)
    elif surface == "responses":
        builder.add_cost("frame", rules.preamble, "preamble")
        write_responses(writer, prompt)
    else:
        _write_plain(writer, prompt)
    _write_options(builder, prompt.options)
    return builder.build()


def _surface(prompt: Prompt, rules: OpenAIRules) -> Surface:
    """The API whose rules bill the prompt: that of its dialect where it is one of OpenAI's, else Chat Completions."""
    if prompt.dialect == "openai.embeddings":
        return "embeddings"
    if prompt.dialect == "openai.completions" or rules.plain:
        return "completions"
    return "responses" if prompt.dialect == "openai.responses" else "chat"


def _write_plain(writer: ContentWriter, prompt: Prompt) -> None:
    """Each text by itself, without a frame (111 of 111 recorded requests)."""
    writer.builder.add_text("system", writer.content(prompt.system, "system").text)
    for message in prompt.messages:
        text = writer.content(message.parts).text
        writer.builder.add_text("messages", text)
        if not text and all(isinstance(part, Text) for part in message.parts):
            writer.builder.add_cost("messages", EMPTY_TEXT, "empty_text")


def _write_options(builder: RenderingBuilder, options: Mapping[str, Json]) -> None:
    """What stands beside the messages: a predicted output, web search in Chat, and state stored at the provider."""
    prediction = options.get(PREDICTION)
    if isinstance(prediction, str):
        # 1 recorded request of gpt-4o, November 2024, with 43 tokens predicted
        builder.add_cost("messages", 12, "prediction")
        builder.add_doubt(-12, 12 + len(prediction), "a predicted output was recorded once")
    if options.get(WEB_SEARCH_OPTIONS):
        builder.add_uncounted(WEB_SEARCH_OPTIONS, "web_search", "what the search brings back is billed too")
    for name in options.get(STORED_STATE) or ():
        builder.add_uncounted(str(name), "stored_state", "what it stands for is stored at the provider and billed too")
        builder.add_doubt(0, STORED_TOKENS, "stored state")
