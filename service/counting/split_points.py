"""Where a conversation may be taken apart, so that what is counted before and behind adds up to the whole.

What may stand on both sides is plain texts, calls of functions and their results. Whoever lets more stand there has to
prove it for every renderer (tests/counting/test_conversations.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from service import catalog
from service.tokenizers.base import EdgeSplittable, Tokenizer
from service.tokenizers.registry import get_tokenizer
from service.types import CountRequest, Message, Part, Prompt, Text, TokenCount, ToolCall, ToolResult

RENDERERS = frozenset({"anthropic", "openai", "google"})
"""Those that render a message of the user, and all after it, as if nothing stood before them."""

LOOK_BACK = 64
"""Messages, from the last one back, before which a seam is looked for."""


def find_split_point(prompt: Prompt, counted: TokenCount, request: CountRequest) -> int:
    """The last message before which there may be a seam, 0 where there is none."""
    messages = prompt.messages
    if prompt.output is not None or prompt.tool_choice.mode not in ("auto", "none"):
        return 0  # a schema's name is echoed by each turn; a forced call costs less behind a result
    if not all(_is_plain(part) for message in messages for part in message.parts):
        return 0
    if catalog.resolve(request.model_ref or "").family.renderer not in RENDERERS:
        return 0
    tokenizer = get_tokenizer(counted.tokenizer, request.engine)
    last = len(messages) - 1
    for at in range(last, max(last - LOOK_BACK, 0), -1):
        newer = messages[at:]
        if starts_with_user_text(newer) and is_self_contained(newer) and _ends_turn(messages[at - 1], tokenizer):
            return at
    return 0


def starts_with_user_text(messages: Sequence[Message]) -> bool:
    """Whether the first one is a text of the user's."""
    first = messages[0] if messages else None
    return first is not None and first.role == "user" and bool(first.parts) and all(
        type(part) is Text and bool(part.text) for part in first.parts
    )


def _ends_turn(message: Message, tokenizer: Tokenizer) -> bool:
    """Whether it is the model's, or what functions answered it; says something in the end; and, where turns are one
    running text, may be cut from the next, which begins with a line break."""
    if not message.parts or message.role not in ("assistant", "tool", "user"):
        return False
    if message.role != "assistant" and not all(type(part) is ToolResult for part in message.parts):
        return False  # a text of a tool is, to Claude, one of the user's
    last = message.parts[-1]
    end = last.text[-1:] if isinstance(last, Text) else ">"
    return bool(end) and (not isinstance(tokenizer, EdgeSplittable) or tokenizer.can_cut(end, "\n"))


def is_self_contained(messages: Sequence[Message]) -> bool:
    """Whether all is plain, and every result is of a call among them."""
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
    """Whether it is rendered as it is, whatever stands before and after it."""
    if isinstance(part, Text):
        return not part.thought and not part.citations
    if isinstance(part, ToolCall):
        return not (part.hosted or part.replayed or part.item_id or part.signature)
    if isinstance(part, ToolResult):
        return not part.hosted and all(type(inner) is Text and _is_plain(inner) for inner in part.parts)
    return False
