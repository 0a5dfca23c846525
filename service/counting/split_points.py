"""Where a conversation may be split: the tokens counted before and behind such a point add up to those of the whole.

Plain texts, calls of functions and their results may stand on both sides of it. Whoever wants to allow more has to
prove it for every renderer (tests/counting/test_conversations.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from service.families import FAMILIES
from service.tokenizers.base import EdgeSplittable, Tokenizer
from service.tokenizers.registry import get_tokenizer
from service.types import CountRequest, Message, Part, Prompt, Text, TokenCount, ToolCall, ToolResult

RENDERERS = frozenset({"anthropic", "openai", "google"})
"""Renderers that render a message of the user, and all that follows, as if nothing stood before it."""

_FAMILY_NAMES = frozenset(family.name for family in FAMILIES if family.renderer in RENDERERS)

LOOK_BACK = 64
"""How many messages, from the last one back, are looked at as split points."""


def find_split_point(prompt: Prompt, counted: TokenCount, request: CountRequest) -> int:
    """The place of the last message that a split may stand before; 0 when there is none."""
    messages = prompt.messages
    if prompt.output is not None or prompt.tool_choice.mode not in ("auto", "none"):
        return 0  # each turn repeats the name of a schema; a forced call costs less behind a result
    if not all(_is_plain(part) for message in messages for part in message.parts):
        return 0
    if counted.family not in _FAMILY_NAMES:
        return 0
    tokenizer = get_tokenizer(counted.tokenizer, request.engine)
    last = len(messages) - 1
    for at in range(last, max(last - LOOK_BACK, 0), -1):
        newer = messages[at:]
        if starts_with_user_text(newer) and is_self_contained(newer) and _ends_turn(messages[at - 1], tokenizer):
            return at
    return 0


def starts_with_user_text(messages: Sequence[Message]) -> bool:
    """Whether the first message is a text of the user."""
    first = messages[0] if messages else None
    return first is not None and first.role == "user" and bool(first.parts) and all(
        type(part) is Text and bool(part.text) for part in first.parts
    )


def _ends_turn(message: Message, tokenizer: Tokenizer) -> bool:
    """Whether a turn ends with this message: it is the model's, or has only results of functions, and its last part is
    not empty. Where turns are one running text, that text must also allow a cut here: the next turn begins with a line
    break."""
    if not message.parts or message.role not in ("assistant", "tool", "user"):
        return False
    if message.role != "assistant" and not all(type(part) is ToolResult for part in message.parts):
        return False  # Claude takes a text in a tool's message for one of the user
    last = message.parts[-1]
    end = last.text[-1:] if isinstance(last, Text) else ">"
    return bool(end) and (not isinstance(tokenizer, EdgeSplittable) or tokenizer.can_cut(end, "\n"))


def is_self_contained(messages: Sequence[Message]) -> bool:
    """Whether all parts are plain, and every result answers a call among these messages."""
    calls: set[str] = set()
    for message in messages:
        if message.role not in ("user", "assistant", "tool"):
            return False
        for part in message.parts:
            if not _is_plain(part):
                return False
            if isinstance(part, ToolCall):
                calls.add(part.call_id)
            elif isinstance(part, ToolResult) and part.call_id not in calls:
                return False
    return True


def _is_plain(part: Part) -> bool:
    """Whether the part is rendered the same, whatever stands before and after it."""
    if isinstance(part, Text):
        return not part.thought and not part.citations
    if isinstance(part, ToolCall):
        return not (part.hosted or part.replayed or part.item_id or part.signature)
    if isinstance(part, ToolResult):
        return not part.hosted and all(type(inner) is Text and _is_plain(inner) for inner in part.parts)
    return False
