"""Going through a prompt of any dialect as Google's template sees it: its messages, its files, the answers of
functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from service.types import Document, Json, Media, Message, Part, Prompt, Text, ToolResult


def iterate_messages(prompt: Prompt) -> Iterator[Message]:
    yield Message("system", prompt.system)
    yield from prompt.messages


def iterate_files(parts: Iterable[Part]) -> Iterator[Media]:
    """Every file in the parts, also those inside results and documents."""
    for part in parts:
        if isinstance(part, Media):
            yield part
        elif isinstance(part, (ToolResult, Document)):
            yield from iterate_files(part.parts)


def make_contents(messages: tuple[Message, ...], *, native: bool) -> Iterator[Message]:
    """The messages without system messages. The results of one turn, which OpenAI sends one by one, become one message.
    """
    answers: list[Part] = []
    for message in messages:
        if message.role in ("system", "developer"):
            continue
        if message.role == "tool" and not native:
            answers += message.parts
            continue
        if answers:
            yield Message("tool", tuple(answers))
            answers.clear()
        yield message
    if answers:
        yield Message("tool", tuple(answers))


def make_response(part: ToolResult) -> Json:
    """What a function answered, in the form that Google documents: `{"output": text}` for a result of another dialect.
    """
    if part.value is not None:
        return part.value if isinstance(part.value, Mapping) else {"output": part.value}
    text = "\n".join([inner.text for inner in part.parts if isinstance(inner, Text)])
    return {"error" if part.is_error else "output": text}
