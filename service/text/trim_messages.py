"""Cutting a conversation to at most N tokens: the oldest turns go first.

The system prompt stays, wherever it stands; so do the last turn's opening message and what came last. A tool call
goes only together with its results, and results only with their call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from service.errors import InvalidRequest
from service.types import Message, Prompt, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A prompt cut to size. `dropped` are the indices of the messages that went, `tokens` what is left counts."""

    prompt: Prompt
    tokens: int
    input_tokens: int
    dropped: tuple[int, ...]


def trim(prompt: Prompt, limit: int, count: Callable[[Prompt], int]) -> Trimmed:
    """`prompt` with as few of its oldest turns dropped as `limit` asks for.

    Raises InvalidRequest where what may not be dropped takes more than `limit`.
    """
    input_tokens = count(prompt)
    if input_tokens <= limit:
        return Trimmed(prompt, input_tokens, input_tokens, ())
    units = droppable_units(prompt.messages)

    def without(number: int) -> Prompt:
        gone = {index for unit in units[:number] for index in unit}
        return replace(prompt, messages=tuple(m for i, m in enumerate(prompt.messages) if i not in gone))

    low, high = 0, len(units)  # `low` units dropped are too few
    least = count(without(high)) if units else input_tokens
    if least > limit:
        raise InvalidRequest(
            f"max_tokens is too small: what is never dropped (system prompt, last turn) takes {least} tokens.",
            field="max_tokens",
        )
    tokens = least
    while high - low > 1:
        middle = (low + high) // 2
        counted = count(without(middle))
        if counted <= limit:
            high, tokens = middle, counted
        else:
            low = middle
    dropped = tuple(sorted(index for unit in units[:high] for index in unit))
    return Trimmed(without(high), tokens, input_tokens, dropped)


def droppable_units(messages: Sequence[Message]) -> list[tuple[int, ...]]:
    """Groups of message indices that may go, the oldest first, each only as a whole.

    Turns (a user's message and all that follows up to the next) but for the last; of the last turn, the exchanges (an
    assistant's messages with the results after them) but for the last one.
    """
    turns = list(_turns(messages))
    if not turns:
        return []
    *past, last = turns
    exchanges = list(_exchanges(messages, last))
    return _with_whole_calls(messages, [*past, *exchanges[:-1]], exchanges[-1:])


def _turns(messages: Sequence[Message]) -> Iterator[tuple[int, ...]]:
    turn: list[int] = []
    for index, message in enumerate(messages):
        if message.role in ("system", "developer"):
            continue
        if turn and message.role == "user" and not _results(message):
            yield tuple(turn)
            turn = []
        turn.append(index)
    if turn:
        yield tuple(turn)


def _exchanges(messages: Sequence[Message], turn: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The exchanges of a turn without the message that opens it."""
    opened = messages[turn[0]].role == "user" and not _results(messages[turn[0]])
    exchange: list[int] = []
    for index in turn[1:] if opened else turn:
        after_result = exchange and messages[exchange[-1]].role != "assistant"
        if after_result and messages[index].role == "assistant":
            yield tuple(exchange)
            exchange = []
        exchange.append(index)
    if exchange:
        yield tuple(exchange)


def _with_whole_calls(
    messages: Sequence[Message], units: list[tuple[int, ...]], kept: list[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """`units` with those joined that share a call, up to the first that shares one with what is kept.

    A result may stand far behind its call. What lies between joined units goes with them, so that order is kept.
    """
    reaches = _reaches(messages, [*units, *kept])
    joined: list[tuple[int, ...]] = []
    first = 0
    while first < len(units):
        last = at = first
        while at <= last < len(units):
            last = max(last, reaches[at])
            at += 1
        if last >= len(units):
            break
        joined.append(tuple(index for unit in units[first : last + 1] for index in unit))
        first = last + 1
    return joined


def _reaches(messages: Sequence[Message], units: list[tuple[int, ...]]) -> list[int]:
    """For each unit the last one that has a result of a call in it; a result belongs to the latest call of its id."""
    reaches = list(range(len(units)))
    called_in: dict[str, int] = {}
    for number, unit in enumerate(units):
        for part in (part for index in unit for part in messages[index].parts):
            if isinstance(part, ToolCall):
                called_in[part.call_id] = number
            elif isinstance(part, ToolResult):
                call = called_in.get(part.call_id, number)
                reaches[call] = max(reaches[call], number)
    return reaches


def _results(message: Message) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)
