"""Rendering a prompt of any dialect as the public chat template of an open model writes it.

The template is the `ChatTemplate` of the family. What a host adds to it is not public, so these counts are estimates.
Each host turns files into tokens in its own way, so that files count a stated bound and are listed as uncounted.
Nothing is fetched and no token is counted here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from service.families.base import Family
from service.families.open_models import ChatTemplate, Turn
from service.media.documents import file_text
from service.media.images import image_size
from service.media.recordings import audio_length, read_video
from service.renderers.base import RenderingBuilder
from service.types import (
    Document,
    Json,
    Media,
    Message,
    Part,
    Prompt,
    Rendering,
    SearchResult,
    Section,
    Text,
    Thinking,
    Tool,
    ToolAddition,
    ToolCall,
    ToolReference,
    ToolResult,
    Unknown,
)

IMAGE_SIDE, MIN_IMAGE, MAX_IMAGE = 28, 64, 4_096
"""Tokens of an image of known size: one for each square of 28 pixels, within these bounds. It is the rule of Qwen VL,
which gives the most tokens among public rules."""

TOKENS_PER_VIDEO_SECOND, MAX_VIDEO = 300, 16_384
TOKENS_PER_AUDIO_SECOND, MAX_AUDIO = 25, 4_096
"""Tokens assumed for a second of video or sound, and for a recording of unknown length."""

TOKENS_PER_PAGE, MAX_FILE = 1_500, 4_096
"""Tokens assumed for a described page, and for a file that cannot be read."""


class _Model(Protocol):
    @property
    def family(self) -> Family: ...


def render(prompt: Prompt, model: _Model) -> Rendering:
    """The rendering of a prompt by the public template of the model's family. Its rules are named `<family>/chat`."""
    template = model.family.rules
    if not isinstance(template, ChatTemplate):
        raise TypeError(f"family {model.family.name} has no rules of this renderer")
    return _Renderer(prompt, template, f"{model.family.name}/chat").render()


class _Renderer:
    """Renders one prompt."""

    def __init__(self, prompt: Prompt, template: ChatTemplate, rules: str) -> None:
        self.prompt = prompt
        self.template = template
        self.out = RenderingBuilder(rules)
        self.waiting_system: list[Part] = []
        """System text that the template puts into the next user message."""
        self.deferred = {tool.name: tool for tool in prompt.tools if tool.deferred}
        """Tools whose definition is not in the prompt until a result refers to it. Each is written once."""

    def render(self) -> Rendering:
        if self.prompt.dialect in ("openai.completions", "openai.embeddings"):
            for message in self.prompt.messages:
                self._write_turn(Turn(0), ("messages", message.parts))
            if self.prompt.dialect == "openai.completions":
                self.out.add_cost("frame", self.template.start, "start")
            return self.out.build()
        self.out.add_cost("frame", self.template.start, "start")
        self._system()
        self._tools([tool for tool in self.prompt.tools if not tool.deferred])
        for message in self.prompt.messages:
            self._message(message)
        if self.waiting_system:  # no user message has followed the system prompt
            self._write_turn(self.template.user, ("system", self.waiting_system))
        self.out.add_cost("frame", self.template.reply, "reply")
        if self.prompt.output is not None and self.prompt.output.schema is not None:
            length = len(_json(self.prompt.output.schema))
            self.out.add_doubt(0, length // 2, "a host may write the schema into the prompt")
        return self.out.build()

    # ------------------------------------------------------------ system and tools

    def _system(self) -> None:
        template = self.template
        own = any(message.role in ("system", "developer") for message in self.prompt.messages)
        if self.prompt.system:
            self._system_turn(self.prompt.system)
        elif not own and (template.preamble or template.default_system):
            self._write_turn(template.system)
            self.out.add_cost("system", template.default_system, "default-system")
        self.out.add_cost("system", template.preamble, "preamble")

    def _system_turn(self, parts: Sequence[Part]) -> None:
        """Write a system prompt: as a turn of its own, or later, inside the next user message."""
        wrap = self.template.system_wrap
        if wrap is None:
            self._write_turn(self.template.system, ("system", parts))
        else:
            self.waiting_system += (Text(wrap[0]), *parts, Text(wrap[1]))

    def _tools(self, tools: Sequence[Tool]) -> None:
        if tools:
            self.out.add_cost("tools", self.template.tools, "tools")
            self.out.add_text("tools", _format_definitions(tools, self.template))
        for tool in tools:
            if tool.kind != "function":
                self.out.add_uncounted(tool.path, tool.kind, "what a hosted tool adds to the prompt is not public")

    # ------------------------------------------------------------ messages

    def _message(self, message: Message) -> None:
        if message.role in ("system", "developer"):
            self._system_turn(message.parts)
            return
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        for result in results:
            answer = (result,) if result.value is not None else result.parts
            self._write_turn(self.template.tool, ("messages", answer))
        rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
        if results and not rest:
            return
        if message.role == "tool":
            self._write_turn(self.template.tool, ("messages", rest))
        elif message.role == "assistant":
            self._write_turn(self.template.assistant, ("messages", rest))
        else:
            system, self.waiting_system = self.waiting_system, []
            self._write_turn(self.template.user, ("system", system), ("messages", rest))

    def _write_turn(self, turn: Turn, *groups: tuple[Section, Iterable[Part]]) -> None:
        """Write one turn. Its text is joined across sections, and interrupted by files only."""
        self.out.add_cost("frame", turn.tokens, "turn")
        spans: list[tuple[Section, str]] = [("frame", turn.before)]
        section: Section = "messages"
        for section, parts in groups:
            text: list[str] = []
            for part in parts:
                if isinstance(part, Media):
                    self.out.add_spans([*spans, (section, "".join(text))])
                    spans, text = [], []
                text.append(self._text(part))
            body = "".join(text)
            wrapped = section == "system" and self.template.system_wrap is not None
            spans.append((section, body.strip() if self.template.trims and not wrapped else body))
        self.out.add_spans([*spans, (section, turn.after)])

    def _text(self, part: Part) -> str:
        """The text of a part. A file is added by itself and has the text ""."""
        if isinstance(part, Text):
            return part.text
        if isinstance(part, ToolCall):
            self.out.add_cost("messages", self.template.call, "call")
            return _json({"name": part.name, "arguments": part.arguments})
        if isinstance(part, Media):
            self._media(part)
            return ""
        if isinstance(part, Document):
            return _join_lines(part.title, part.context, *(self._text(inside) for inside in part.parts))
        if isinstance(part, SearchResult):
            return _join_lines(part.source, part.title, *(text.text for text in part.parts))
        if isinstance(part, Thinking):
            if part.text:
                self.out.add_doubt(
                    0, len(part.text) // 3 + 2, "templates drop the thinking of earlier turns, hosts differ"
                )
            return ""
        if isinstance(part, ToolReference):
            tool = self.deferred.pop(part.name, None)
            return _format_definitions([tool], self.template) if tool else part.name
        if isinstance(part, ToolAddition):
            return _format_definitions(part.tools, self.template)
        if isinstance(part, Unknown):
            text = _json(part.value)
            self.out.add_uncounted(
                part.path, part.kind, "a part of this type is not known: its JSON is counted as text"
            )
            return text
        value = [] if part.value is None else [part.value if isinstance(part.value, str) else _json(part.value)]
        return "".join((*value, *(self._text(inside) for inside in part.parts)))

    # ------------------------------------------------------------ files

    def _media(self, media: Media) -> None:
        """Add a file: its text where it has one, else the tokens that are assumed for it."""
        text = file_text(media) if media.kind in ("document", "file") else None
        if text is None:
            tokens = _assume_tokens(media)
            self.out.add_cost("media", tokens, media.kind)
            self.out.add_uncounted(media.path, media.kind, "what a host bills for files is not public: a bound", tokens)
        else:
            self.out.add_text("media", text)
            self.out.add_uncounted(media.path, media.kind, "its text is counted; how a host reads files is not public")


def _assume_tokens(media: Media) -> int:
    """Tokens assumed for a file."""
    data = media.data or b""
    if media.kind == "image":
        size = media.size or image_size(data)
        if size is None:
            return MAX_IMAGE
        squares = math.ceil(size[0] / IMAGE_SIDE) * math.ceil(size[1] / IMAGE_SIDE)
        return min(max(squares + 2, MIN_IMAGE), MAX_IMAGE)
    if media.kind == "audio":
        seconds = media.seconds
        if seconds is None and (length := audio_length(data, media.mime)):
            seconds = length.played_seconds
        return MAX_AUDIO if seconds is None else math.ceil(seconds * TOKENS_PER_AUDIO_SECOND)
    if media.kind == "video":
        seconds = media.seconds
        if seconds is None and (video := read_video(data)):
            seconds = video.seconds
        return MAX_VIDEO if seconds is None else min(math.ceil(seconds * TOKENS_PER_VIDEO_SECOND), MAX_VIDEO)
    if media.text_chars is not None:
        return math.ceil(media.text_chars / 3)
    return TOKENS_PER_PAGE * len(media.page_sizes) if media.page_sizes else MAX_FILE


# ---------------------------------------------------------------- JSON


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _join_lines(*texts: str | None) -> str:
    return "\n".join(text for text in texts if text)


def _to_definition(tool: Tool) -> Mapping[str, Json]:
    """A tool as the object that is given to the templates."""
    if tool.kind != "function" and tool.raw:
        return tool.raw
    function: dict[str, Json] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = dict(tool.parameters or {})
    return {"type": "function", "function": function}


def _format_definitions(tools: Sequence[Tool], template: ChatTemplate) -> str:
    """The text of tool definitions, without what the template writes around them."""
    written = [_to_definition(tool) for tool in tools]
    form = template.tool_form
    if form == "list":
        return _json(written)
    if form == "compact":
        return json.dumps(written, ensure_ascii=False, separators=(",", ":"))
    if form == "indented":
        return "".join(json.dumps(tool, ensure_ascii=False, indent=4) + "\n\n" for tool in written)
    if form == "sections":
        return "\n".join(
            f"### {tool.name}\nDescription: {tool.description}\n\nParameters: {_json(dict(tool.parameters or {}))}\n"
            for tool in tools
        )
    return "".join("\n" + _json(tool) for tool in written)
