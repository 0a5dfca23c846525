"""Reading a body of the Responses API; the items of its input are read in `input_items`."""

from __future__ import annotations

from service.dialects.fields import as_object, join, wrong_type
from service.dialects.known_fields import RESPONSES, unknown_fields
from service.dialects.openai.content import read_content
from service.dialects.openai.input_items import read_input, unknown_messages
from service.dialects.openai.tools import read_output, read_tool_choice, read_tools
from service.errors import InvalidRequest
from service.types import Json, Prompt

STORED = ("previous_response_id", "conversation", "prompt", "context_management")
"""Fields by which the provider adds something stored to the request, or takes something away."""


def read_responses(value: Json, path: str) -> Prompt:
    """A body of POST /v1/responses or /v1/responses/input_tokens; every field may be absent."""
    body = as_object(value, path)
    if "messages" in body and "input" not in body:  # it would count as almost nothing
        at = join(path, "input")
        raise InvalidRequest(f"{at} is missing: messages are of a chat request.", field=at)
    text = body.get("text")
    text_path = join(path, "text")
    reasoning = {} if body.get("reasoning") is None else as_object(body["reasoning"], join(path, "reasoning"))
    instructions = body.get("instructions")
    at = join(path, "instructions")
    options: dict[str, Json] = {"reasoning_context": reasoning.get("context")} if reasoning.get("context") else {}
    stored = [name for name in STORED if body.get(name) not in (None, [])]
    if stored:
        options["stored_state"] = stored
    if not isinstance(instructions, str | list | None):
        raise wrong_type(at, "a string or an array", instructions)
    system = read_input(instructions, at) if isinstance(instructions, list) else ()
    return Prompt(
        (*system, *read_input(body.get("input"), join(path, "input"))),
        system=read_content(instructions, at) if isinstance(instructions, str) and instructions else (),
        tools=read_tools(body.get("tools"), join(path, "tools")),
        tool_choice=read_tool_choice(
            body.get("tool_choice"), join(path, "tool_choice"), body.get("parallel_tool_calls")
        ),
        output=read_output(as_object(text, text_path).get("format"), join(text_path, "format"))
        if text is not None else None,
        thinking="enabled" if reasoning.get("effort") not in (None, "none") else None,
        dialect="openai.responses",
        options=options,
        warnings=(*unknown_fields(body, RESPONSES, path), *unknown_messages(body.get("input"), join(path, "input"))),
    )
