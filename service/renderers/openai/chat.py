"""Writing a prompt as Chat Completions bills it: tools and schema are merged into the first system message."""

from __future__ import annotations

import json
from collections.abc import Sequence

from service.renderers.openai.blocks import (
    FUNCTION_KINDS,
    add_hosted_cost,
    chat_tools,
    find_forced_function,
    visible_functions,
)
from service.renderers.openai.content import ContentWriter, reprint_arguments
from service.renderers.openai.schema import render_format
from service.renderers.openai.turns import Turn, last_user_turn, make_turns
from service.types import Json, Prompt, Section, ToolCall

SYSTEM = ("system", "developer")

MAX_NAME = 64
"""Longest name of an output format that the provider takes, in characters. It is repeated on every assistant turn."""

Spans = list[tuple[Section, str]]


def write_chat(writer: ContentWriter, prompt: Prompt) -> None:
    """Add the whole prompt to the rendering."""
    turns = make_turns(prompt)
    block = _make_tools_text(writer, prompt, turns)
    merged = bool(block) and bool(turns) and turns[0].role in SYSTEM and turns[0].result is None
    if block and not merged:
        writer.builder.add_cost("frame", writer.rules.chat.frame, "message")
        writer.builder.add_spans(block)
    last_user, at = last_user_turn(turns), 0
    while at < len(turns):
        if len(turns[at].calls) > 1:
            at = _write_parallel_calls(writer, turns, at, last_user)
            continue
        _write_turn(writer, turns[at], block if merged and at == 0 else [], in_tool_loop=at > last_user)
        at += 1
    _write_reply(writer, prompt, turns)


def _make_tools_text(writer: ContentWriter, prompt: Prompt, turns: Sequence[Turn]) -> Spans:
    """Tools and output schema as the spans of one text. Hosted tools are added as costs."""
    shown = [*prompt.tools, *(tool for turn in turns for tool in turn.added)]
    for tool in shown:
        if tool.kind not in FUNCTION_KINDS:
            add_hosted_cost(tool, writer.rules, writer.builder)
    spans: Spans = []
    text = chat_tools(visible_functions(shown), writer.rules, writer.builder)
    if text:
        spans.append(("tools", text))
        writer.builder.add_cost("tools", writer.rules.chat.tools_cost, "tools_frame")
    if prompt.output is not None and prompt.output.kind == "json_schema":
        joint = "\n\n" if spans else ""
        spans.append(("schema", f"{joint}# Response Formats\n\n{render_format(prompt.output)}"))
    return spans


# ---------------------------------------------------------------- turns


def _write_turn(writer: ContentWriter, turn: Turn, block: Spans, *, in_tool_loop: bool) -> None:
    """One message. `block` (tools and schema) is merged behind its text."""
    section: Section = "system" if turn.role in SYSTEM else "messages"
    content = writer.content(turn.parts, section, in_tool_loop=in_tool_loop)
    text = writer.format_result(turn.result) if turn.result is not None else content.text
    writer.builder.add_cost("frame", writer.rules.chat.frame * (content.files + (not content.bare)), "message")
    if block:
        (first, head), rest = block[0], block[1:]
        heading: Spans = [(first, writer.rules.chat.heading)]
        writer.builder.add_spans([*heading, (section, text), (first, f"\n\n{head}"), *rest])
    else:
        writer.builder.add_text(section, text)
    if turn.name and turn.role != "tool":
        writer.builder.add_text(section, f":{turn.name}")
    if turn.role == "assistant":
        writer.builder.add_cost("frame", 0 if turn.calls else writer.rules.chat.assistant_turn, "assistant_turn")
    if turn.calls:
        _write_call(writer, turn.calls[0])


def _write_call(writer: ContentWriter, call: ToolCall) -> None:
    """One call, and the frame of its result."""
    for text in (call.name, f"functions.{call.name}", reprint_arguments(call.arguments, call.raw_arguments)):
        writer.builder.add_text("messages", text)
    writer.builder.add_cost("messages", writer.rules.chat.call - 1, "call")


def _write_parallel_calls(writer: ContentWriter, turns: Sequence[Turn], at: int, last_user: int) -> int:
    """Several calls of one turn, written as one call of a list. Their results are one JSON list without frames.

    Returns the index of the turn after the results.
    """
    turn = turns[at]
    content = writer.content(turn.parts, in_tool_loop=at > last_user)
    writer.builder.add_cost("frame", writer.rules.chat.frame * (content.files + 1), "message")
    writer.builder.add_text("messages", content.text)
    uses = ",".join(
        f'{{"recipient_name":"functions.{call.name}",'
        f'"parameters":{reprint_arguments(call.arguments, call.raw_arguments)}}}'
        for call in turn.calls
    )
    writer.builder.add_text("messages", f'{{"tool_uses":[{uses}]}}')
    end = at + 1
    while end < len(turns) and end - at <= len(turn.calls) and turns[end].result is not None:
        end += 1
    answers = [turn.result for turn in turns[at + 1 : end] if turn.result is not None]
    results = [_to_list_item(writer.format_result(answer)) for answer in answers]
    # Characters beyond ASCII are escaped where the results end the request (4 recorded requests). They stand as they
    # are where something follows (1 of April 2026).
    writer.builder.add_text("messages", json.dumps(results, ensure_ascii=end == len(turns)))
    writer.builder.add_cost("messages", writer.rules.chat.parallel, "parallel_calls")
    return end


def _to_list_item(text: str) -> Json:
    """A result as an item of the list: as JSON where its text is JSON, else as a string."""
    try:
        value = json.loads(text)
        json.dumps(value)
    except (ValueError, RecursionError):
        return text
    return value


# ---------------------------------------------------------------- what opens the answer


def _write_reply(writer: ContentWriter, prompt: Prompt, turns: Sequence[Turn]) -> None:
    """What opens the answer, a forced call, and the name of the schema where it is repeated."""
    rules, builder = writer.rules.chat, writer.builder
    builder.add_cost("frame", rules.reply, "reply")
    functions = visible_functions(prompt.tools)
    if prompt.tool_choice.mode == "named" and rules.named is not None and prompt.tool_choice.name:
        builder.add_text("tools", f" to=functions.{find_forced_function(prompt.tool_choice, functions)}")
        builder.add_cost("tools", rules.named, "forced_call")
    if prompt.tool_choice.mode == "none" and functions:
        builder.add_doubt(0, 1, "tool_choice none was never recorded")
    if prompt.output is not None and prompt.output.kind == "json_schema" and not functions:
        name = prompt.output.name[:MAX_NAME]
        echoes = sum(turn.role == "assistant" and not turn.calls for turn in turns) + rules.schema_reply
        for _ in range(echoes):
            builder.add_text("schema", name)
        builder.add_cost("schema", 2 * echoes, "schema_name")
