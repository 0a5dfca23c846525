from __future__ import annotations

import base64
from typing import Any

import pytest

from service.renderers.google.thoughts import estimate_thought_tokens, is_streamed
from tests.renderers.google.prompts import details_of, rendered, user


def signature(*chunks: int) -> str:
    """A signature of chunks of these sizes (up to 16,383 bytes)."""
    out = b""
    for size in chunks:
        length = bytes([size & 0x7F | 0x80, size >> 7]) if size > 127 else bytes([size])
        out += b"\x0a" + length + bytes(size)
    return base64.b64encode(out).decode()


def called(*chunks: int) -> dict[str, Any]:
    call = {"name": "f", "args": {}}
    return {"role": "model", "parts": [{"functionCall": call, "thoughtSignature": signature(*chunks)}]}


ANSWER = user({"functionResponse": {"name": "f", "response": {}}})


def hidden(contents: list[dict[str, Any]], model: str, platform: str = "gemini-api") -> list[int]:
    rendering = rendered({"contents": contents}, model, platform)
    return [item.tokens for item in rendering.overheads if item.rule == "hidden_thoughts"]


@pytest.mark.parametrize(("size", "tokens"), [(36, 0), (50, 0), (102, 0), (1_000, 255), (10_000, 2_811)])
def test_the_estimate_grows_with_the_bytes_beyond_an_envelope(size: int, tokens: int) -> None:
    assert estimate_thought_tokens(base64.b64encode(bytes(size)).decode()) == tokens
    assert estimate_thought_tokens(base64.urlsafe_b64encode(bytes(size)).decode().rstrip("=")) == tokens


def test_thoughts_since_the_last_user_message_are_billed_on_3() -> None:
    contents = [user("Hi"), called(1_000), ANSWER, called(2_000), ANSWER]
    find_first, second = hidden(contents, "gemini-3-flash-preview")
    assert second > 1.9 * find_first > 400
    assert hidden([*contents, user("And now?")], "gemini-3-flash-preview") == []
    assert len(hidden([*contents, user("And now?"), called(500)], "gemini-3-flash-preview")) == 1


def test_all_thoughts_are_billed_on_3_5_and_none_where_they_are_free() -> None:
    contents = [user("Hi"), called(1_000), ANSWER, user("And now?")]
    assert len(hidden(contents, "gemini-3.5-flash")) == len(hidden(contents, "gemini-3.5-flash", "vertex")) == 1
    assert hidden(contents, "gemini-2.5-flash") == hidden(contents, "gemini-3-flash-preview", "vertex") == []


def test_hidden_thoughts_are_listed_with_what_was_assumed() -> None:
    rendering = rendered({"contents": [user("Hi"), called(1_000)]}, "gemini-3.5-flash")
    assert [(item.path, item.kind) for item in rendering.uncounted] == [("contents[1].parts[0]", "thought_signature")]
    assert rendering.uncounted[0].assumed_tokens == estimate_thought_tokens(signature(1_000))
    assert details_of(rendering)["messages"] > rendering.uncounted[0].assumed_tokens


def test_a_signature_in_chunks_is_a_doubt_where_thoughts_are_free() -> None:
    assert not is_streamed(signature(400))
    assert is_streamed(signature(36, 102, 112))
    assert not is_streamed("")
    assert not is_streamed("!!!!")
    whole = rendered({"contents": [user("Hi"), called(400)]}, "gemini-2.5-flash")
    parted = rendered({"contents": [user("Hi"), called(36, 364)]}, "gemini-2.5-flash")
    assert whole.doubts == ()
    assert [(doubt.low, doubt.high > 50) for doubt in parted.doubts] == [(0, True)]
