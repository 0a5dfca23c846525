"""Thinking of earlier turns: which of it stays in the prompt, and how long it is where its text is hidden."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Sequence
from typing import Literal

from service.families.anthropic_rules import AnthropicRules
from service.types import Message, Prompt, Thinking, ToolResult

_TAG_BYTES = 16
"""Bytes that the encrypted text in a signature is longer than the thinking (12 of 12 signatures, Sonnet 4 to 4.6)."""

_TRIMMED_BYTES = 4
"""Bytes that the shown text may be shorter, since blanks at its ends are cut off (1 byte in 1 of 12 signatures)."""

_BYTES_PER_TOKEN = {"document": 4.5, "turns": 3.2}
"""Of thinking in English, by the layout whose vocabulary counts it."""


def hidden_thinking_tokens(part: Thinking, layout: Literal["document", "turns"]) -> int:
    """Tokens of thinking whose full text is not in the block (omitted, summarised or redacted), or 0 where it is.

    The signature holds the encrypted thinking. Its length is read from there.
    """
    if not part.signature:
        return 0
    length = _read_thinking_length(part.signature)
    if length is None:
        length = max(0, len(part.signature) * 3 // 4 - 200) if part.redacted else 0
    if length <= len(part.text.encode("utf-8", "replace")) + (_TRIMMED_BYTES if part.text else 0):
        return 0
    return math.ceil(length / _BYTES_PER_TOKEN[layout])


def _read_thinking_length(signature: str) -> int | None:
    """Bytes of the thinking inside a signature, or None for a signature of another form.

    A signature is a protocol buffer: the thinking is field 5 of the message in field 2.
    """
    try:
        data = base64.b64decode(signature + "=" * (-len(signature) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    outer = _find_field(data, 2)
    sealed = _find_field(outer, 5) if outer is not None else None
    return max(0, len(sealed) - _TAG_BYTES) if sealed is not None else None


def _find_field(data: bytes, wanted: int) -> bytes | None:
    """The first length-delimited field with the number `wanted`, or None."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            _, at = _read_varint(data, at)
        elif kind == 2:
            size, at = _read_varint(data, at)
            if at + size > len(data):
                return None
            if number == wanted:
                return data[at : at + size]
            at += size
        else:
            return None
    return None


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at` and the place after it. A number that does not end is 0, and the place is the end of the data.
    """
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(data):
            return 0, len(data)
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    return 0, len(data)


def find_kept_thinking(prompt: Prompt, rules: AnthropicRules, messages: Sequence[Message]) -> list[bool]:
    """For each message, whether its thinking stays in the prompt.

    From the documentation: newer models keep all thinking, older ones that of the running tool loop. No model keeps any
    where thinking is switched off.
    """
    if prompt.thinking == "disabled" or (prompt.thinking is None and not rules.thinking.kept):
        return [False] * len(messages)
    if rules.thinking.kept:
        return [True] * len(messages)
    asked = max((i for i, message in enumerate(messages) if _is_user_turn(message)), default=-1)
    return [i > asked for i in range(len(messages))]


def _is_user_turn(message: Message) -> bool:
    """Whether the user speaks in this message. A message with nothing but tool results is none of the user's turns."""
    if message.role != "user":
        return False
    return any(not isinstance(part, ToolResult) for part in message.parts) or not message.parts
