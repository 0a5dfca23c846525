"""A prompt as Chat Completions bills it: messages, and tools and schema merged into the first system message."""

from __future__ import annotations

import json
from collections.abc import Sequence

from service.renderers.openai.blocks import DRAWN, chat_tools, hosted_cost, named_choice, visible
from service.renderers.openai.content import ContentDrawer, reprinted
from service.renderers.openai.schema import render_format
from service.renderers.openai.turns import Turn, last_user_turn, turns_of
from service.types import Json, Prompt, Section, ToolCall

SYSTEM = ("system", "developer")

MAX_NAME = 64
"""Longest name of an output format that the provider takes, in characters; it is drawn on every assistant turn."""

Spans = list[tuple[Section, str]]


def draw_chat(pen: ContentDrawer, prompt: Prompt) -> None:
    """Add the whole prompt to the rendering."""
    turns = turns_of(prompt)
    block = _block(pen, prompt, turns)
    merged = bool(block) and bool(turns) and turns[0].role in SYSTEM and turns[0].result is None
    if block and not merged:
        pen.builder.cost("frame", pen.rules.chat.frame, "message")
        pen.builder.spans(block)
    live, at = last_user_turn(turns), 0
    while at < len(turns):
        if len(turns[at].calls) > 1:
            at = _parallel(pen, turns, at, live)
            continue
        _turn(pen, turns[at], block if merged and at == 0 else [], live=at > live)
        at += 1
    _answer(pen, prompt, turns)


def _block(pen: ContentDrawer, prompt: Prompt, turns: Sequence[Turn]) -> Spans:
    """Tools and output schema as the spans of one text; hosted tools are costs."""
    shown = [*prompt.tools, *(tool for turn in turns for tool in turn.added)]
    for tool in shown:
        if tool.kind not in DRAWN:
            hosted_cost(tool, pen.rules, pen.builder)
    spans: Spans = []
    text = chat_tools(visible(shown), pen.rules, pen.builder)
    if text:
        spans.append(("tools", text))
        pen.builder.cost("tools", pen.rules.chat.tools_cost, "tools_frame")
    if prompt.output is not None and prompt.output.kind == "json_schema":
        joint = "\n\n" if spans else ""
        spans.append(("schema", f"{joint}# Response Formats\n\n{render_format(prompt.output)}"))
    return spans


# ---------------------------------------------------------------- turns


def _turn(pen: ContentDrawer, turn: Turn, block: Spans, *, live: bool) -> None:
    """One message; `block` is merged behind its text."""
    section: Section = "system" if turn.role in SYSTEM else "messages"
    content = pen.content(turn.parts, section, live=live)
    text = pen.result_text(turn.result) if turn.result is not None else content.text
    pen.builder.cost("frame", pen.rules.chat.frame * (content.files + (not content.bare)), "message")
    if block:
        (first, head), rest = block[0], block[1:]
        heading: Spans = [(first, pen.rules.chat.heading)]
        pen.builder.spans([*heading, (section, text), (first, f"\n\n{head}"), *rest])
    else:
        pen.builder.text(section, text)
    if turn.name and turn.role != "tool":
        pen.builder.text(section, f":{turn.name}")
    if turn.role == "assistant":
        pen.builder.cost("frame", 0 if turn.calls else pen.rules.chat.assistant_turn, "assistant_turn")
    if turn.calls:
        _call(pen, turn.calls[0])


def _call(pen: ContentDrawer, call: ToolCall) -> None:
    """One call, together with what frames its result."""
    for text in (call.name, f"functions.{call.name}", reprinted(call.arguments, call.raw_arguments)):
        pen.builder.text("messages", text)
    pen.builder.cost("messages", pen.rules.chat.call - 1, "call")


def _parallel(pen: ContentDrawer, turns: Sequence[Turn], at: int, live: int) -> int:
    """Several calls in one turn are one call of a list, and the results that follow are one JSON list without frames.
    Returns the index of the turn after them."""
    turn = turns[at]
    content = pen.content(turn.parts, live=at > live)
    pen.builder.cost("frame", pen.rules.chat.frame * (content.files + 1), "message")
    pen.builder.text("messages", content.text)
    uses = ",".join(
        f'{{"recipient_name":"functions.{call.name}","parameters":{reprinted(call.arguments, call.raw_arguments)}}}'
        for call in turn.calls
    )
    pen.builder.text("messages", f'{{"tool_uses":[{uses}]}}')
    end = at + 1
    while end < len(turns) and end - at <= len(turn.calls) and turns[end].result is not None:
        end += 1
    results = [_listed(pen.result_text(turn.result)) for turn in turns[at + 1 : end] if turn.result is not None]
    # Escaped beyond ASCII where they end the request (4 rows), as they are where more follows (1 row of April 2026).
    pen.builder.text("messages", json.dumps(results, ensure_ascii=end == len(turns)))
    pen.builder.cost("messages", pen.rules.chat.parallel, "parallel_calls")
    return end


def _listed(text: str) -> Json:
    """A result that is JSON is put into the list as JSON, anything else as a string."""
    try:
        value = json.loads(text)
        json.dumps(value)
    except (ValueError, RecursionError):
        return text
    return value


# ---------------------------------------------------------------- the open answer


def _answer(pen: ContentDrawer, prompt: Prompt, turns: Sequence[Turn]) -> None:
    """What opens the answer, a forced call, and the echoes of the schema's name."""
    rules, builder = pen.rules.chat, pen.builder
    builder.cost("frame", rules.reply, "reply")
    functions = visible(prompt.tools)
    if prompt.tool_choice.mode == "named" and rules.named is not None and prompt.tool_choice.name:
        builder.text("tools", f" to=functions.{named_choice(prompt.tool_choice, functions)}")
        builder.cost("tools", rules.named, "forced_call")
    if prompt.tool_choice.mode == "none" and functions:
        builder.doubt(0, 1, "tool_choice none was never recorded")
    if prompt.output is not None and prompt.output.kind == "json_schema" and not functions:
        name = prompt.output.name[:MAX_NAME]
        echoes = sum(turn.role == "assistant" and not turn.calls for turn in turns) + rules.schema_reply
        for _ in range(echoes):
            builder.text("schema", name)
        builder.cost("schema", 2 * echoes, "schema_name")
