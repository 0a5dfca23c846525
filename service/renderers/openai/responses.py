"""A prompt as the Responses API bills it: items one by one; tools and schema apart from the system text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.families.openai_rules import FRAME
from service.renderers.openai.blocks import DRAWN, hosted_cost, named_choice, responses_tools, visible
from service.renderers.openai.content import ContentDrawer, reprinted
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
"""`Unknown.kind` of the item that stands for everything before it."""


@dataclass(frozen=True, slots=True)
class Item:
    """What one input item holds: the content of a message, a call, a result, reasoning, or added tools (`found` by the
    provider's search)."""

    message: Message
    parts: tuple[Part, ...] = ()
    call: ToolCall | None = None
    result: ToolResult | None = None
    thinking: Thinking | None = None
    added: tuple[Tool, ...] = ()
    found: bool = False


def draw_responses(pen: ContentDrawer, prompt: Prompt) -> None:
    """Add the whole prompt to the rendering."""
    items = [item for message in prompt.messages for item in _items(message)]
    items = _after_compaction(items)
    _tools(pen, prompt, [item for item in items if item.added])
    if prompt.output is not None and prompt.output.kind == "json_schema":
        pen.builder.text("schema", render_format(prompt.output))
        pen.builder.cost("schema", pen.rules.responses.schema_cost, "schema_frame")
    instructions = pen.content(prompt.system, "system")
    if instructions.text:
        pen.builder.cost("frame", FRAME, "message")
        pen.builder.text("system", instructions.text)
    live = -1 if prompt.options.get("reasoning_context") == "all_turns" else _last_user(items)
    runs = _call_runs(items)
    for at, item in enumerate(items):
        if item.thinking is not None:
            if at > live:
                pen.thinking(item.thinking)
        elif item.call is not None:
            _call(pen, item.call, *runs[at])
        elif item.result is not None:
            pen.builder.text("messages", pen.result_text(item.result))
        elif not item.added:
            _message(pen, item)
    pen.builder.cost("frame", pen.rules.responses.reply, "reply")


# ---------------------------------------------------------------- items


def _items(message: Message) -> Iterator[Item]:
    """The items of a message: in a Responses body there is one, in a message made by hand there may be several."""
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
    """The last compaction item and what follows it: it stands for all before (2 recorded requests of gpt-4.1)."""
    for at in range(len(items) - 1, -1, -1):
        if any(isinstance(part, Unknown) and part.kind == COMPACTION for part in items[at].parts):
            return items[at:]
    return items


def _last_user(items: Sequence[Item]) -> int:
    return max((at for at, item in enumerate(items) if item.message.role == "user" and item.parts), default=-1)


def _call_runs(items: Sequence[Item]) -> dict[int, tuple[int, int]]:
    """Index of each call -> (its place in its run, calls in the run). Reasoning between calls does not part them."""
    runs: dict[int, tuple[int, int]] = {}
    run: list[int] = []
    for at, item in enumerate([*items, None]):
        if item is not None and item.call is not None:
            run.append(at)
        elif item is None or item.thinking is None:
            runs |= {index: (place, len(run)) for place, index in enumerate(run)}
            run = []
    return runs


def _message(pen: ContentDrawer, item: Item) -> None:
    section: Section = "system" if item.message.role in SYSTEM else "messages"
    if len(item.parts) == 1 and isinstance(item.parts[0], Unknown) and _unknown(pen, item.parts[0]):
        return
    content = pen.content(item.parts, section)
    pen.builder.text(section, content.text)
    pen.builder.cost("frame", FRAME * (content.files + (not content.bare)), "message")
    if item.message.role == "assistant":
        pen.builder.cost("frame", pen.rules.responses.assistant_turn, "assistant_turn")


def _unknown(pen: ContentDrawer, part: Unknown) -> bool:
    """Draw an item that stands for itself; False for one that is content of a message."""
    if part.kind == COMPACTION and isinstance(part.value, dict):
        pen.sealed(COMPACTION, str(part.value.get("encrypted_content") or ""), part.path)
        return True
    return False


def _call(pen: ContentDrawer, call: ToolCall, place: int, run: int) -> None:
    """A call together with the frame of its output; it is number `place` of `run` calls that stand together."""
    rules, builder = pen.rules.responses, pen.builder
    name, arguments = f"functions.{call.name}", call.raw_arguments
    if arguments is None or rules.compact_arguments:
        arguments = reprinted(call.arguments, call.raw_arguments)
    for text in (name, arguments, name):
        builder.text("messages", text)
    if run > 1:
        builder.cost("messages", rules.group_call + (0 if place else rules.group), "parallel_call")
        if run > 2 and place == 0 and rules.group:
            builder.doubt(-2 * run, 2 * run, "groups of more than two calls were recorded once")
        return
    builder.cost("messages", rules.call if call.item_id else rules.sent_call, "call")
    if call.replayed and rules.replayed:
        builder.cost("messages", rules.replayed, "replayed_call")
        builder.doubt(-rules.replayed, 2, "the provider replays the tokens it sampled for this call")
    elif not call.item_id and rules.sent_call != rules.call:
        builder.doubt(-1, 3, "calls that the model did not sample were recorded five times")
    elif call.item_id:
        builder.doubt(-2, 6, "the provider replays the tokens it sampled for this call")


# ---------------------------------------------------------------- tools


def _tools(pen: ContentDrawer, prompt: Prompt, additions: Sequence[Item]) -> None:
    """The declared tools, those added later (each list a block of its own), hosted ones, and a forced call."""
    rules, builder = pen.rules.responses, pen.builder
    lists = [prompt.tools, *(item.added for item in additions)]
    for tools in lists:
        text = responses_tools(visible(tools), pen.rules, builder)
        if text:
            builder.text("tools", text)
            builder.cost("tools", rules.tools_cost, "tools_frame")
    for tool in (tool for tools in lists for tool in tools if tool.kind not in DRAWN):
        hosted_cost(tool, pen.rules, builder, loaded=bool(additions))
    functions = visible(prompt.tools)
    if additions:
        _added_tools(pen, prompt, any(item.found for item in additions))
    elif functions and prompt.tool_choice.parallel is False:
        builder.cost("tools", rules.serial_tools, "serial_tools")
        builder.doubt(-rules.serial_tools, 4, "parallel calls switched off: recorded once")
    _forced_call(pen, prompt, functions)


def _added_tools(pen: ContentDrawer, prompt: Prompt, found: bool) -> None:
    """What tools cost by coming later, once however many lists there are."""
    rules, builder = pen.rules.responses, pen.builder
    searching = any(tool.kind == "tool_search" for tool in prompt.tools)
    if rules.added_tools:
        builder.cost("tools", rules.added_tools - (2 if searching else 0), "added_tools")
    builder.doubt(-4, 4, "tools added later were recorded six times")
    if found:
        builder.cost("tools", rules.found_tools, "found_tools")
        builder.doubt(-16, 20, "tools found by search were recorded twelve times, at 62 to 79")


def _forced_call(pen: ContentDrawer, prompt: Prompt, functions: list[Tool]) -> None:
    """A named call, or a required one where there is only one function (5 of 6 recorded requests)."""
    choice, rules, builder = prompt.tool_choice, pen.rules.responses, pen.builder
    name = named_choice(choice, functions)
    if not functions or rules.named is None or choice.mode in ("auto", "none"):
        if functions and choice.mode == "none":
            builder.doubt(0, 1, "tool_choice none was never recorded")
        return
    if name:
        builder.text("tools", f" to=functions.{name}")
        builder.cost("tools", rules.named, "forced_call")
    if choice.mode == "required":
        builder.doubt(-3 if name else 0, 0 if name else 9, "tool_choice required")
