"""Hidden thoughts: a signature carries what the model thought, and some generations bill it again. An estimate."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from service.families.google import Thoughts
from service.renderers.base import RenderingBuilder
from service.types import Message, Prompt, Thinking, ToolCall, ToolResult

PER_BYTE, ENVELOPE = 0.284, 29
"""Tokens a byte of a signature, less those of its envelope: fitted on 67 requests of 3-flash and 3.5-flash (2026).

On the half not fitted to the median error of a request is 2%, the 90th percentile 8%. A placeholder of 36 or 50 bytes
is 0.
"""


def add_hidden(out: RenderingBuilder, prompt: Prompt, thoughts: Thoughts) -> None:
    """Add the hidden thoughts of a prompt in Google's dialect, each listed as uncounted."""
    if thoughts == "free":
        for message in prompt.messages:
            for signature, _ in _signatures(message):
                if is_streamed(signature):
                    out.add_doubt(0, hidden_tokens(signature), "thoughts of a streamed answer may be billed")
        return
    kept: list[tuple[str, int]] = []
    for message in prompt.messages:
        if thoughts == "turn" and _opens_turn(message):
            kept.clear()
        kept += [(path, hidden_tokens(signature)) for signature, path in _signatures(message)]
    for path, tokens in kept:
        if tokens:
            out.add_cost("messages", tokens, "hidden_thoughts")
            out.add_uncounted(
                path, "thought_signature", "hidden thoughts are estimated from their signature's size", tokens
            )


def hidden_tokens(signature: str) -> int:
    """Estimated tokens of the thoughts in a base64 signature."""
    size = len(signature.rstrip("=")) * 3 // 4
    return max(0, round(PER_BYTE * size - ENVELOPE))


def is_streamed(signature: str) -> bool:
    """Whether a signature is one of several chunks, as streamed answers have it.

    Two requests of 2.5-flash with such a signature were billed for its thoughts, one was not; 47 with a whole one not.
    """
    try:
        head = base64.b64decode(signature[:8].replace("-", "+").replace("_", "/").ljust(8, "="))
    except ValueError:
        return False
    if len(head) < 2 or head[0] != _CHUNK:
        return False
    length, used = head[1] & 0x7F, 2
    while used < len(head) and head[used - 1] & 0x80:
        length |= (head[used] & 0x7F) << 7 * (used - 1)
        used += 1
    return used + length < len(signature.rstrip("=")) * 3 // 4


_CHUNK = 0x0A
"""Tag of the first field of a signature: a length-prefixed chunk."""


def _opens_turn(message: Message) -> bool:
    """Whether a user speaks in it, and not only functions answer."""
    return message.role != "assistant" and any(not isinstance(part, ToolResult) for part in message.parts)


def _signatures(message: Message) -> Iterator[tuple[str, str]]:
    for part in message.parts:
        if isinstance(part, (ToolCall, Thinking)) and part.signature:
            yield part.signature, part.path
