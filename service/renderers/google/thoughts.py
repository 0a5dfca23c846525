"""Estimating hidden thoughts: a signature carries what the model thought, and some generations bill it again."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from service.families.google import Thoughts
from service.renderers.base import RenderingBuilder
from service.types import Message, Prompt, Thinking, ToolCall, ToolResult

PER_BYTE, ENVELOPE = 0.284, 29
"""Tokens are PER_BYTE x bytes of the signature - ENVELOPE. Fitted on 67 requests of 3-flash and 3.5-flash (2026).

On the half of them that was not used for the fit the median error of a request is 2%, the 90th percentile 8%. A
placeholder of 36 or 50 bytes costs 0.
"""


def add_hidden_thoughts(out: RenderingBuilder, prompt: Prompt, thoughts: Thoughts) -> None:
    """Add the hidden thoughts of a prompt in Google's dialect. Each is listed as uncounted."""
    if thoughts == "free":
        for message in prompt.messages:
            for signature, _ in _signatures(message):
                if is_streamed(signature):
                    out.add_doubt(0, estimate_thought_tokens(signature), "thoughts of a streamed answer may be billed")
        return
    kept: list[tuple[str, int]] = []
    for message in prompt.messages:
        if thoughts == "turn" and _opens_turn(message):
            kept.clear()
        kept += [(path, estimate_thought_tokens(signature)) for signature, path in _signatures(message)]
    for path, tokens in kept:
        if tokens:
            out.add_cost("messages", tokens, "hidden_thoughts")
            out.add_uncounted(
                path, "thought_signature", "hidden thoughts are estimated from their signature's size", tokens
            )


def estimate_thought_tokens(signature: str) -> int:
    """Estimated tokens of the thoughts in a signature, which is base64."""
    size = len(signature.rstrip("=")) * 3 // 4
    return max(0, round(PER_BYTE * size - ENVELOPE))


def is_streamed(signature: str) -> bool:
    """Whether a signature is one of several chunks, as in streamed answers.

    Of three requests of 2.5-flash with such a signature two were billed for its thoughts. Of 47 with a whole signature
    none was.
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
"""Tag byte of the first field of a signature, which is a chunk with its length in front."""


def _opens_turn(message: Message) -> bool:
    """Whether the user speaks in the message. A message with nothing but results of functions opens no turn."""
    return message.role != "assistant" and any(not isinstance(part, ToolResult) for part in message.parts)


def _signatures(message: Message) -> Iterator[tuple[str, str]]:
    for part in message.parts:
        if isinstance(part, (ToolCall, Thinking)) and part.signature:
            yield part.signature, part.path
