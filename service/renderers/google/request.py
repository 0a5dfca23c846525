"""Rendering a prompt of any dialect as the Gemini API or Vertex AI bills it, for Gemini and Gemma.

What a generation bills on a platform is data: the rules in `service.families.google`. This module goes through the
prompt. Tools, calls and results are written by the style module that the rules name, files are priced by `media`.
Nothing is fetched and no token is counted here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from service.families.base import Family
from service.families.google import GooglePlatforms, GoogleRules, Style
from service.renderers.base import RenderingBuilder
from service.renderers.google import declaration, python_stub, strings, thoughts, words
from service.renderers.google.media import MediaBiller
from service.renderers.google.prompt import iterate_files, iterate_messages, make_contents, make_response
from service.renderers.google.schema import Fragment, ReferenceLimit
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
    Warned,
)


class _Model(Protocol):
    @property
    def family(self) -> Family: ...


class _Template(Protocol):
    """A style module: how it writes a tool, a call and a result."""

    def render_tool(self, tool: Tool, rules: GoogleRules, limit: ReferenceLimit) -> Fragment: ...
    def render_call(self, name: str, arguments: Json) -> Fragment: ...
    def render_result(self, name: str, value: Json) -> Fragment: ...


_TEMPLATES: Mapping[Style, _Template] = {
    "strings": strings, "python": python_stub, "declaration": declaration, "words": words,
}

HOSTED_DOUBT = 600
"""Tokens that a hosted tool may add on Gemini 3 and later. 17 requests with one such tool had 0 to 551."""

ASSUMED_CACHE = 4_096
"""Tokens assumed for cached content, which a request only refers to. It is the least that Google caches for its larger
models."""


def render(prompt: Prompt, model: _Model) -> Rendering:
    """The rendering of a prompt for the platform that it names, by default the Gemini API."""
    platforms = model.family.rules
    if not isinstance(platforms, GooglePlatforms):
        raise TypeError(f"family {model.family.name} has no rules of this renderer")
    return _Renderer(prompt, platforms.get_rules(prompt.platform)).render()


class _Renderer:
    """Renders one prompt."""

    def __init__(self, prompt: Prompt, rules: GoogleRules) -> None:
        self.prompt = prompt
        self.rules = rules
        self.native = prompt.dialect.startswith("google.")
        self.template = _TEMPLATES[rules.style]
        self.out = RenderingBuilder(rules.name)
        resolution = prompt.options.get("media_resolution")
        files = (media for message in iterate_messages(prompt) for media in iterate_files(message.parts))
        self.media = MediaBiller(rules.media, resolution if isinstance(resolution, str) else "", files)
        self.names: dict[str, str] = {}
        self.limit = ReferenceLimit()

    def render(self) -> Rendering:
        prompt = self.prompt
        self._system()
        for message in make_contents(prompt.messages, native=self.native):
            self._content(message, "messages")
        for tool in prompt.tools:
            self._tool(tool)
        self._output()
        if self.native:
            thoughts.add_hidden_thoughts(self.out, prompt, self.rules.thoughts)
        cached = prompt.options.get("cached_content")
        if cached:
            self.out.add_cost("messages", ASSUMED_CACHE, "cached_content")
            self.out.add_uncounted(
                "cachedContent", "cached_content", "what the cache holds is not in the body", ASSUMED_CACHE
            )
        if self.limit.exceeded:
            self.out.warnings.append(Warned("schema_references_not_written_out", "tools"))
            self.out.add_uncounted("tools", "schema", "its references grow beyond what is written out here")
        return self.out.build()

    # ------------------------------------------------------------ contents

    def _system(self) -> None:
        """The system instruction, then every system message of a prompt in another dialect."""
        parts = list(self.prompt.system)
        spoken = [message for message in self.prompt.messages if message.role in ("system", "developer")]
        for message in spoken:
            parts += message.parts
        if parts or self.prompt.system_role_given:
            given = self.prompt.system_role_given or bool(spoken) or not self.native
            self._content(Message("system", tuple(parts), role_given=given), "system")

    def _content(self, message: Message, section: Section) -> None:
        if message.role_given:
            self.out.add_cost("frame", self.rules.turn, "turn")
        texts: list[str] = []
        for part in message.parts:
            if isinstance(part, Text):
                texts.append(part.text)
                continue
            if not (isinstance(part, Thinking) and not part.text):
                self._texts(texts, section)
                self._part(part, section)
        self._texts(texts, section)

    def _texts(self, texts: list[str], section: Section) -> None:
        """Add neighbouring texts, joined where the rules say so. Empties `texts`."""
        if self.rules.joins_texts:
            self.out.add_text(section, "".join(texts))
        else:
            for text in texts:
                self.out.add_text(section, text)
        texts.clear()

    def _part(self, part: Part, section: Section) -> None:
        if isinstance(part, Text):
            self.out.add_text(section, part.text)
        elif isinstance(part, Media):
            self._file(part, section)
        elif isinstance(part, ToolCall):
            self._call(part, section)
        elif isinstance(part, ToolResult):
            self._result(part, section)
        elif isinstance(part, Thinking):
            self.out.add_text(section, part.text)
        elif isinstance(part, Document):
            for text in (part.title, part.context):
                self.out.add_text(section, text or "")
            for inner in part.parts:
                self._part(inner, section)
        elif isinstance(part, SearchResult):
            for text in (part.title, part.source, *(inner.text for inner in part.parts)):
                self.out.add_text(section, text)
        elif isinstance(part, ToolReference):
            self.out.add_text(section, part.name)
        elif isinstance(part, ToolAddition):
            for tool in part.tools:
                self._tool(tool)
        else:
            self._unknown(part, section)

    def _unknown(self, part: Unknown, section: Section) -> None:
        self.out.add_text(section, _compact(part.value))
        self.out.add_uncounted(part.path, part.kind, "an unknown kind of part is counted from its text")

    def _file(self, media: Media, section: Section, *, in_result: bool = False) -> None:
        billed = self.media.bill(media, in_result=in_result)
        self.out.add_text(section, billed.text or "")
        for rule, tokens in billed.costs:
            self.out.add_cost("media", tokens, rule)
        for doubt in billed.doubts:
            self.out.add_doubt(doubt.low, doubt.high, doubt.reason)
        if billed.missing:
            assumed = sum(tokens for _, tokens in billed.costs)
            self.out.add_uncounted(media.path, f"{media.kind}_file", billed.missing, assumed)

    # ------------------------------------------------------------ calls and results

    def _call(self, part: ToolCall, section: Section) -> None:
        if part.call_id:
            self.names[part.call_id] = part.name
        arguments = part.arguments
        if arguments is None and part.raw_arguments:
            arguments = {"arguments": part.raw_arguments}
        if part.hosted:
            self._hosted(part.path, part.hosted, part.name, arguments, section)
        else:
            self._add_fragment(section, self.template.render_call(part.name, arguments))

    def _result(self, part: ToolResult, section: Section) -> None:
        name = part.name or self.names.get(part.call_id, "")
        value = part.value if self.native else make_response(part)
        if part.hosted:
            self._hosted(part.path, part.hosted, name, value, section)
        else:
            self._add_fragment(section, self.template.render_result(name, value))
        for inner in part.parts:
            if isinstance(inner, Media):
                self._file(inner, section, in_result=True)
            elif self.native or not isinstance(inner, Text):
                self._part(inner, section)

    def _hosted(self, path: str, kind: str, name: str, value: Json, section: Section) -> None:
        """Add a call or an answer of a tool that Google runs. It is counted from its strings, which is a guess."""
        self._add_fragment(section, strings.render_call(name, value))
        self.out.add_uncounted(path, kind, "how a hosted tool's calls and answers are billed is not known")

    def _add_fragment(self, section: Section, fragment: Fragment) -> None:
        for text in fragment.texts:
            self.out.add_text(section, text)
        self.out.add_cost(section, fragment.fixed, self.rules.style)
        if fragment.doubtful:
            self.out.add_doubt(-fragment.doubtful, 0, "a boolean in a call or result may be free")

    # ------------------------------------------------------------ tools and output

    def _tool(self, tool: Tool) -> None:
        if tool.kind == "function":
            given = tool if self.native else replace(tool, schema_form="google")
            self._add_fragment("tools", self.template.render_tool(given, self.rules, self.limit))
        elif not self.native:
            self.out.add_text("tools", _compact(dict(tool.raw)))
            self.out.add_uncounted(
                tool.path, tool.kind, "another provider's hosted tool is counted from its definition"
            )
        elif self.rules.tools_inject or tool.kind in _COSTLY:
            self.out.add_doubt(0, HOSTED_DOUBT, "a hosted tool adds text when the model uses it")
            self.out.add_uncounted(tool.path, tool.kind, "what the tool adds is known only after the model used it")

    def _output(self) -> None:
        """The response schema. Style "strings" alone bills a Schema message, and one platform alone a JSON schema."""
        output = self.prompt.output
        if output is None or output.schema is None:
            return
        if output.schema_form == "google":
            if self.rules.style == "strings":
                self._add_fragment("schema", strings.render_response_schema(output.schema, self.rules))
        elif self.rules.schema_frame is not None:
            text = _compact(output.schema)
            self.out.add_text("schema", text)
            self.out.add_cost("schema", self.rules.schema_frame, "json_schema")
            self.out.add_doubt(-self.rules.schema_frame, len(text) // 2, "JSON schemas on this platform: one request")


_COSTLY = frozenset({"computerUse"})
"""Hosted tools whose own declarations are in the prompt, on every generation."""


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)
