"""Open models: a prompt of any dialect as the model's public chat template writes it. Pure.

The template is the family's `ChatTemplate`; the host's own frame is not public, so the answers are estimates. Files
count a stated bound and are listed as uncounted: every host turns them into tokens in its own way.
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

IMAGE_SIDE, IMAGE_LEAST, IMAGE_MOST = 28, 64, 4_096
"""An image of known size: squares of 28 px (Qwen VL's, the most among public rules), within these bounds."""

VIDEO_SECOND, VIDEO_MOST = 300, 16_384
AUDIO_SECOND, AUDIO_MOST = 25, 4_096
"""Tokens assumed of a second of film or sound, and of a recording that does not tell its length."""

PAGE, FILE_MOST = 1_500, 4_096
"""Tokens assumed of a described page, and of a file that cannot be read."""


class _Model(Protocol):
    @property
    def family(self) -> Family: ...


def render(prompt: Prompt, model: _Model) -> Rendering:
    """What the public template of the model's family makes of `prompt`; the rules are named `<family>/chat`."""
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
        self.first: list[Part] = []
        """System text that waits for the next user message, where the template puts it there."""
        self.deferred = {tool.name: tool for tool in prompt.tools if tool.deferred}
        """Definitions that are not in the prompt until a result refers to them; each comes in once."""

    def render(self) -> Rendering:
        if self.prompt.dialect in ("openai.completions", "openai.embeddings"):
            for message in self.prompt.messages:
                self._run(Turn(0), ("messages", message.parts))
            if self.prompt.dialect == "openai.completions":
                self.out.add_cost("frame", self.template.start, "start")
            return self.out.build()
        self.out.add_cost("frame", self.template.start, "start")
        self._system()
        self._tools([tool for tool in self.prompt.tools if not tool.deferred])
        for message in self.prompt.messages:
            self._message(message)
        if self.first:  # a system prompt that found no user message to stand in
            self._run(self.template.user, ("system", self.first))
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
            self._run(template.system)
            self.out.add_cost("system", template.default_system, "default-system")
        self.out.add_cost("system", template.preamble, "preamble")

    def _system_turn(self, parts: Sequence[Part]) -> None:
        """A turn of its own, or text that waits for the next user message."""
        wrap = self.template.system_wrap
        if wrap is None:
            self._run(self.template.system, ("system", parts))
        else:
            self.first += (Text(wrap[0]), *parts, Text(wrap[1]))

    def _tools(self, tools: Sequence[Tool]) -> None:
        if tools:
            self.out.add_cost("tools", self.template.tools, "tools")
            self.out.add_text("tools", _definitions(tools, self.template))
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
            self._run(self.template.tool, ("messages", answer))
        rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
        if results and not rest:
            return
        if message.role == "tool":
            self._run(self.template.tool, ("messages", rest))
        elif message.role == "assistant":
            self._run(self.template.assistant, ("messages", rest))
        else:
            first, self.first = self.first, []
            self._run(self.template.user, ("system", first), ("messages", rest))

    def _run(self, turn: Turn, *groups: tuple[Section, Iterable[Part]]) -> None:
        """One turn: its text is joined over its sections; a file ends a text and begins another."""
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
        """The text of a part; that of a file is written apart."""
        if isinstance(part, Text):
            return part.text
        if isinstance(part, ToolCall):
            self.out.add_cost("messages", self.template.call, "call")
            return _json({"name": part.name, "arguments": part.arguments})
        if isinstance(part, Media):
            self._media(part)
            return ""
        if isinstance(part, Document):
            return _lines(part.title, part.context, *(self._text(inside) for inside in part.parts))
        if isinstance(part, SearchResult):
            return _lines(part.source, part.title, *(text.text for text in part.parts))
        if isinstance(part, Thinking):
            if part.text:
                self.out.add_doubt(
                    0, len(part.text) // 3 + 2, "templates drop the thinking of earlier turns, hosts differ"
                )
            return ""
        if isinstance(part, ToolReference):
            tool = self.deferred.pop(part.name, None)
            return _definitions([tool], self.template) if tool else part.name
        if isinstance(part, ToolAddition):
            return _definitions(part.tools, self.template)
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
        """Count a file: its text where it has one, else a bound."""
        text = file_text(media) if media.kind in ("document", "file") else None
        if text is None:
            tokens = _bound(media)
            self.out.add_cost("media", tokens, media.kind)
            self.out.add_uncounted(media.path, media.kind, "what a host bills for files is not public: a bound", tokens)
        else:
            self.out.add_text("media", text)
            self.out.add_uncounted(media.path, media.kind, "its text is counted; how a host reads files is not public")


def _bound(media: Media) -> int:
    """Tokens assumed of a file."""
    data = media.data or b""
    if media.kind == "image":
        size = media.size or image_size(data)
        if size is None:
            return IMAGE_MOST
        squares = math.ceil(size[0] / IMAGE_SIDE) * math.ceil(size[1] / IMAGE_SIDE)
        return min(max(squares + 2, IMAGE_LEAST), IMAGE_MOST)
    if media.kind == "audio":
        seconds = media.seconds
        if seconds is None and (length := audio_length(data, media.mime)):
            seconds = length.played_seconds
        return AUDIO_MOST if seconds is None else math.ceil(seconds * AUDIO_SECOND)
    if media.kind == "video":
        seconds = media.seconds
        if seconds is None and (video := read_video(data)):
            seconds = video.seconds
        return VIDEO_MOST if seconds is None else min(math.ceil(seconds * VIDEO_SECOND), VIDEO_MOST)
    if media.text_chars is not None:
        return math.ceil(media.text_chars / 3)
    return PAGE * len(media.page_sizes) if media.page_sizes else FILE_MOST


# ---------------------------------------------------------------- JSON


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lines(*texts: str | None) -> str:
    return "\n".join(text for text in texts if text)


def _definition(tool: Tool) -> Mapping[str, Json]:
    """A tool as the templates get it."""
    if tool.kind != "function" and tool.raw:
        return tool.raw
    function: dict[str, Json] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = dict(tool.parameters or {})
    return {"type": "function", "function": function}


def _definitions(tools: Sequence[Tool], template: ChatTemplate) -> str:
    """The text of tool definitions, without what the template writes around them."""
    written = [_definition(tool) for tool in tools]
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
