"""Turning a prompt of any dialect into the turns that Chat Completions knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.types import Message, Part, Prompt, Role, Text, Tool, ToolAddition, ToolCall, ToolResult, Unknown


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: its content `parts`, the `calls` that the model made in it, and the tools `added` by it.

    A turn with a `result` answers one call and has no other content.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    name: str | None = None
    calls: tuple[ToolCall, ...] = ()
    result: ToolResult | None = None
    added: tuple[Tool, ...] = ()
    path: str = ""


def make_turns(prompt: Prompt) -> list[Turn]:
    """The turns of a prompt, the system prompt first.

    Each result of a function is a turn of its own, before the rest of the message that it came in.
    """
    turns = [Turn("system", prompt.system, path="system")] if _has_content(prompt.system) else []
    for message in prompt.messages:
        turns += _split_into_turns(message)
    return turns


def last_user_turn(turns: Sequence[Turn]) -> int:
    """Index of the last turn of the user, or -1 where there is none. The turns after it are the running tool loop."""
    return max((i for i, turn in enumerate(turns) if turn.role == "user"), default=-1)


def _has_content(parts: tuple[Part, ...]) -> bool:
    return any(not isinstance(part, Text) or part.text for part in parts)


def _split_into_turns(message: Message) -> list[Turn]:
    results: list[Turn] = []
    content: list[Part] = []
    calls: list[ToolCall] = []
    added: list[Tool] = []
    for part in message.parts:
        if isinstance(part, ToolResult) and part.hosted is None:
            results.append(Turn("tool", result=part, path=part.path))
        elif isinstance(part, ToolCall) and part.hosted is None:
            calls.append(part)
        elif isinstance(part, ToolAddition):
            added += part.tools
        elif isinstance(part, ToolResult):
            added += [tool for inner in part.parts if isinstance(inner, ToolAddition) for tool in inner.tools]
            content += [inner for inner in part.parts if not isinstance(inner, ToolAddition)]
        elif isinstance(part, ToolCall):
            content.append(Unknown(part.hosted or part.name, part.arguments, part.path))
        else:
            content.append(part)
    if results and not (content or calls or added):
        return results
    turn = Turn(message.role, tuple(content), message.name, tuple(calls), None, tuple(added), message.path)
    return [*results, turn]
