"""Writing a prompt as the Responses API bills it: item by item, with tools and schema apart from the system text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.families.openai_rules import FRAME
from service.renderers.openai.blocks import (
    FUNCTION_KINDS,
    add_hosted_cost,
    find_forced_function,
    responses_tools,
    visible_functions,
)
from service.renderers.openai.content import ContentWriter, reprint_arguments
from service.renderers.openai.schema import render_format
from service.types import (
    Message,
    Part,
    Prompt,
    Section,
    Thinking,
    Tool,
    ToolAddition,
    ToolCall,
    ToolResult,
    Unknown,
)

SYSTEM = ("system", "developer")

COMPACTION = "compaction"
"""`Unknown.kind` of an item that stands for everything before it."""


@dataclass(frozen=True, slots=True)
class Item:
    """One input item: the content of a message, a call, a result, reasoning, or tools added later.

    `found` says that the provider's tool search added the tools.
    """

    message: Message
    parts: tuple[Part, ...] = ()
    call: ToolCall | None = None
    result: ToolResult | None = None
    thinking: Thinking | None = None
    added: tuple[Tool, ...] = ()
    found: bool = False


def write_responses(writer: ContentWriter, prompt: Prompt) -> None:
    """Add the whole prompt to the rendering."""
    items = [item for message in prompt.messages for item in _split_into_items(message)]
    items = _after_compaction(items)
    _write_tools(writer, prompt, [item for item in items if item.added])
    if prompt.output is not None and prompt.output.kind == "json_schema":
        writer.builder.add_text("schema", render_format(prompt.output))
        writer.builder.add_cost("schema", writer.rules.responses.schema_cost, "schema_frame")
    instructions = writer.content(prompt.system, "system")
    if instructions.text:
        writer.builder.add_cost("frame", FRAME, "message")
        writer.builder.add_text("system", instructions.text)
    last_user = -1 if prompt.options.get("reasoning_context") == "all_turns" else _last_user(items)
    groups = _group_calls(items)
    for at, item in enumerate(items):
        if item.thinking is not None:
            if at > last_user:
                writer.thinking(item.thinking)
        elif item.call is not None:
            _write_call(writer, item.call, *groups[at])
        elif item.result is not None:
            writer.builder.add_text("messages", writer.format_result(item.result))
        elif not item.added:
            _write_message(writer, item)
    writer.builder.add_cost("frame", writer.rules.responses.reply, "reply")


# ---------------------------------------------------------------- items


def _split_into_items(message: Message) -> Iterator[Item]:
    """The items of a message. A message of a Responses body is one item, a message of another dialect may be several.
    """
    content: list[Part] = []
    others: list[Item] = []
    for part in message.parts:
        if isinstance(part, ToolCall) and part.hosted is None:
            others.append(Item(message, call=part))
        elif isinstance(part, ToolResult) and part.hosted is None:
            others.append(Item(message, result=part))
        elif isinstance(part, Thinking):
            others.append(Item(message, thinking=part))
        elif isinstance(part, ToolAddition):
            others.append(Item(message, added=part.tools))
        elif isinstance(part, ToolCall):
            others.append(Item(message, parts=(Unknown(part.hosted or part.name, part.arguments, part.path),)))
        elif isinstance(part, ToolResult):
            others += _hosted_result(message, part)
        else:
            content.append(part)
    if content or not others:
        yield Item(message, parts=tuple(content))
    yield from others


def _hosted_result(message: Message, result: ToolResult) -> Iterator[Item]:
    for part in result.parts:
        if isinstance(part, ToolAddition):
            yield Item(message, added=part.tools, found=True)
        else:
            yield Item(message, parts=(part,))


def _after_compaction(items: list[Item]) -> list[Item]:
    """The last compaction item and what follows it. The item stands for all before it (2 recorded requests of gpt-4.1).
    """
    for at in range(len(items) - 1, -1, -1):
        if any(isinstance(part, Unknown) and part.kind == COMPACTION for part in items[at].parts):
            return items[at:]
    return items


def _last_user(items: Sequence[Item]) -> int:
    return max((at for at, item in enumerate(items) if item.message.role == "user" and item.parts), default=-1)


def _group_calls(items: Sequence[Item]) -> dict[int, tuple[int, int]]:
    """Index of a call -> (its place in its group, number of calls in the group).

    Calls that follow each other are a group. Reasoning between two calls does not separate them.
    """
    groups: dict[int, tuple[int, int]] = {}
    run: list[int] = []
    for at, item in enumerate([*items, None]):
        if item is not None and item.call is not None:
            run.append(at)
        elif item is None or item.thinking is None:
            groups |= {index: (place, len(run)) for place, index in enumerate(run)}
            run = []
    return groups


def _write_message(writer: ContentWriter, item: Item) -> None:
    section: Section = "system" if item.message.role in SYSTEM else "messages"
    if len(item.parts) == 1 and isinstance(item.parts[0], Unknown) and _write_unknown(writer, item.parts[0]):
        return
    content = writer.content(item.parts, section)
    writer.builder.add_text(section, content.text)
    writer.builder.add_cost("frame", FRAME * (content.files + (not content.bare)), "message")
    if item.message.role == "assistant":
        writer.builder.add_cost("frame", writer.rules.responses.assistant_turn, "assistant_turn")


def _write_unknown(writer: ContentWriter, part: Unknown) -> bool:
    """Write an item that is no content of a message. Returns False where it is."""
    if part.kind == COMPACTION and isinstance(part.value, dict):
        writer.add_sealed(COMPACTION, str(part.value.get("encrypted_content") or ""), part.path)
        return True
    return False


def _write_call(writer: ContentWriter, call: ToolCall, place: int, run: int) -> None:
    """A call and the frame of its output. It is call number `place` of a group of `run` calls."""
    rules, builder = writer.rules.responses, writer.builder
    name, arguments = f"functions.{call.name}", call.raw_arguments
    if arguments is None or rules.compact_arguments:
        arguments = reprint_arguments(call.arguments, call.raw_arguments)
    for text in (name, arguments, name):
        builder.add_text("messages", text)
    if run > 1:
        builder.add_cost("messages", rules.group_call + (0 if place else rules.group), "parallel_call")
        if run > 2 and place == 0 and rules.group:
            builder.add_doubt(-2 * run, 2 * run, "groups of more than two calls were recorded once")
        return
    builder.add_cost("messages", rules.call if call.item_id else rules.sent_call, "call")
    if call.replayed and rules.replayed:
        builder.add_cost("messages", rules.replayed, "replayed_call")
        builder.add_doubt(-rules.replayed, 2, "the provider replays the tokens it sampled for this call")
    elif not call.item_id and rules.sent_call != rules.call:
        builder.add_doubt(-1, 3, "calls that the model did not sample were recorded five times")
    elif call.item_id:
        builder.add_doubt(-2, 6, "the provider replays the tokens it sampled for this call")


# ---------------------------------------------------------------- tools


def _write_tools(writer: ContentWriter, prompt: Prompt, additions: Sequence[Item]) -> None:
    """The declared tools, each list of tools that was added later, hosted tools, and a forced call."""
    rules, builder = writer.rules.responses, writer.builder
    lists = [prompt.tools, *(item.added for item in additions)]
    for tools in lists:
        text = responses_tools(visible_functions(tools), writer.rules, builder)
        if text:
            builder.add_text("tools", text)
            builder.add_cost("tools", rules.tools_cost, "tools_frame")
    for tool in (tool for tools in lists for tool in tools if tool.kind not in FUNCTION_KINDS):
        add_hosted_cost(tool, writer.rules, builder, loaded=bool(additions))
    functions = visible_functions(prompt.tools)
    if additions:
        _add_cost_of_added_tools(writer, prompt, any(item.found for item in additions))
    elif functions and prompt.tool_choice.parallel is False:
        builder.add_cost("tools", rules.serial_tools, "serial_tools")
        builder.add_doubt(-rules.serial_tools, 4, "parallel calls switched off: recorded once")
    _write_forced_call(writer, prompt, functions)


def _add_cost_of_added_tools(writer: ContentWriter, prompt: Prompt, found: bool) -> None:
    """What tools cost more where they are added later. It is billed once, however many lists there are."""
    rules, builder = writer.rules.responses, writer.builder
    searching = any(tool.kind == "tool_search" for tool in prompt.tools)
    if rules.added_tools:
        builder.add_cost("tools", rules.added_tools - (2 if searching else 0), "added_tools")
    builder.add_doubt(-4, 4, "tools added later were recorded six times")
    if found:
        builder.add_cost("tools", rules.found_tools, "found_tools")
        builder.add_doubt(-16, 20, "tools found by search were recorded twelve times, at 62 to 79")


def _write_forced_call(writer: ContentWriter, prompt: Prompt, functions: list[Tool]) -> None:
    """A forced call: of a named function, or of the only one where a call is required (5 of 6 recorded requests)."""
    choice, rules, builder = prompt.tool_choice, writer.rules.responses, writer.builder
    name = find_forced_function(choice, functions)
    if not functions or rules.named is None or choice.mode in ("auto", "none"):
        if functions and choice.mode == "none":
            builder.add_doubt(0, 1, "tool_choice none was never recorded")
        return
    if name:
        builder.add_text("tools", f" to=functions.{name}")
        builder.add_cost("tools", rules.named, "forced_call")
    if choice.mode == "required":
        builder.add_doubt(-3 if name else 0, 0 if name else 9, "tool_choice required")
