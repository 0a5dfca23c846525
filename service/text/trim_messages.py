"""Shortening a conversation to at most N tokens by dropping its oldest turns.

The system prompt is kept, wherever it stands. The first message of the last turn is kept, and so is the last round of
it. A tool call is only dropped together with its results, and a result together with its call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from service.errors import InvalidRequest
from service.types import Message, Prompt, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A shortened prompt of `tokens` tokens. `dropped` are the indices of the messages that were dropped."""

    prompt: Prompt
    tokens: int
    input_tokens: int
    dropped: tuple[int, ...]


def trim(prompt: Prompt, limit: int, count: Callable[[Prompt], int]) -> Trimmed:
    """`prompt` without as few of its oldest turns as are needed for it to have at most `limit` tokens.

    Raises InvalidRequest where that which is never dropped has more than `limit`.
    """
    input_tokens = count(prompt)
    if input_tokens <= limit:
        return Trimmed(prompt, input_tokens, input_tokens, ())
    units = find_droppable_units(prompt.messages)

    def without(number: int) -> Prompt:
        gone = {index for unit in units[:number] for index in unit}
        return replace(prompt, messages=tuple(m for i, m in enumerate(prompt.messages) if i not in gone))

    low, high = 0, len(units)  # dropping `low` units is not enough
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


def find_droppable_units(messages: Sequence[Message]) -> list[tuple[int, ...]]:
    """Groups of message indices that may be dropped, the oldest first. A group is dropped as a whole.

    A group is a turn (a message of the user and all that follows up to the next) but the last turn. Of that a group is
    a round (messages of the assistant and the results after them) but the last round.
    """
    turns = list(_turns(messages))
    if not turns:
        return []
    *past, last = turns
    rounds = list(_split_into_rounds(messages, last))
    return _with_whole_calls(messages, [*past, *rounds[:-1]], rounds[-1:])


def _turns(messages: Sequence[Message]) -> Iterator[tuple[int, ...]]:
    turn: list[int] = []
    for index, message in enumerate(messages):
        if message.role in ("system", "developer"):
            continue
        if turn and message.role == "user" and not _has_results(message):
            yield tuple(turn)
            turn = []
        turn.append(index)
    if turn:
        yield tuple(turn)


def _split_into_rounds(messages: Sequence[Message], turn: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The rounds of a turn, without the message of the user that opens it."""
    opened = messages[turn[0]].role == "user" and not _has_results(messages[turn[0]])
    round_: list[int] = []
    for index in turn[1:] if opened else turn:
        after_result = round_ and messages[round_[-1]].role != "assistant"
        if after_result and messages[index].role == "assistant":
            yield tuple(round_)
            round_ = []
        round_.append(index)
    if round_:
        yield tuple(round_)


def _with_whole_calls(
    messages: Sequence[Message], units: list[tuple[int, ...]], kept: list[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """`units`, joined where a call and its result are in different ones, up to the first that shares one with `kept`.

    A result may stand far behind its call. The units between joined units are joined, too, so that the order is kept.
    """
    last_results = _find_last_results(messages, [*units, *kept])
    joined: list[tuple[int, ...]] = []
    first = 0
    while first < len(units):
        last = at = first
        while at <= last < len(units):
            last = max(last, last_results[at])
            at += 1
        if last >= len(units):
            break
        joined.append(tuple(index for unit in units[first : last + 1] for index in unit))
        first = last + 1
    return joined


def _find_last_results(messages: Sequence[Message], units: list[tuple[int, ...]]) -> list[int]:
    """For each unit, the last unit with a result of a call in it. A result belongs to the latest call with its id."""
    last_results = list(range(len(units)))
    called_in: dict[str, int] = {}
    for number, unit in enumerate(units):
        for part in (part for index in unit for part in messages[index].parts):
            if isinstance(part, ToolCall):
                called_in[part.call_id] = number
            elif isinstance(part, ToolResult):
                call = called_in.get(part.call_id, number)
                last_results[call] = max(last_results[call], number)
    return last_results


def _has_results(message: Message) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)
