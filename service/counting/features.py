"""The features that a prompt has. Its main feature is the first of them in the order of FEATURES.

The main feature and the rule set that rendered the prompt are its class. Accuracy is measured for each class.
"""

from __future__ import annotations

from collections.abc import Iterator

from service.types import (
    FEATURES,
    Document,
    Feature,
    Media,
    Message,
    Part,
    Prompt,
    SearchResult,
    Text,
    Thinking,
    ToolAddition,
    ToolCall,
    ToolReference,
    ToolResult,
)


def main_feature(prompt: Prompt, more: frozenset[Feature] = frozenset()) -> Feature:
    """The first of FEATURES that the prompt has, or is known to have (`more`). Without a chat template, as in
    embeddings, it is "text"."""
    if prompt.dialect in ("openai.embeddings", "openai.completions"):
        return "text"
    found = more.union(features(prompt))
    return next((feature for feature in FEATURES if feature in found), "text")


def has_files(prompt: Prompt) -> bool:
    """Whether the prompt has images, documents or recordings."""
    everywhere = (prompt.system, *(message.parts for message in prompt.messages))
    return any(_is_file(part) for parts in everywhere for part in parts if type(part) is not Text)


def _is_file(part: Part) -> bool:
    if isinstance(part, ToolResult):
        return any(map(_is_file, part.parts))
    return isinstance(part, (Media, Document))


def features(prompt: Prompt) -> Iterator[Feature]:
    """Every feature of the prompt, some perhaps more than once."""
    for message in prompt.messages:
        for part in message.parts:
            if type(part) is not Text or part.thought:  # most parts are plain texts, which have no feature
                yield from _part_features(part)
    for part in prompt.system:
        yield from _part_features(part)
    for tool in prompt.tools:
        yield "tools" if tool.kind == "function" and not tool.deferred else "hosted"
    if prompt.output is not None:
        yield "schema"
    if prompt.thinking in ("enabled", "adaptive"):
        yield "thinking"
    if prompt.system or any(message.role in ("system", "developer") for message in prompt.messages):
        yield "system"
    if _turns(prompt.messages) > 1:
        yield "multi_turn"


def _turns(messages: tuple[Message, ...]) -> int:
    return sum(message.role not in ("system", "developer") for message in messages)


def _part_features(part: Part) -> Iterator[Feature]:
    if isinstance(part, Media):
        yield "media" if part.kind in ("image", "audio", "video") or part.mime == "application/pdf" else "documents"
    elif isinstance(part, (Document, SearchResult)):
        yield "documents"
    elif isinstance(part, (ToolAddition, ToolReference)):
        yield "hosted"
    elif isinstance(part, Thinking) or (isinstance(part, Text) and part.thought):
        yield "thinking"
    elif isinstance(part, ToolCall):
        yield "hosted" if part.hosted else "tool_history"
    elif isinstance(part, ToolResult):
        yield "hosted" if part.hosted else "tool_history"
        for inner in part.parts:
            yield from _part_features(inner)
