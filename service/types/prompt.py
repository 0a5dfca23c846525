"""A request without its wire format: a prompt of messages, tools and files, the same for every dialect.

A prompt keeps everything that any provider bills for. When two wire formats say the same thing differently and the
difference is billed (arguments as sent, a role that is absent), a field keeps the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from service.types.rendering import Warned
from service.types.value import Json, value

Role = Literal["system", "developer", "user", "assistant", "tool"]


@value
class Text:
    """Plain text. `thought` marks a Gemini thought shown as text; `citations` an Anthropic citations switch."""

    text: str
    path: str = ""
    thought: bool = False
    citations: bool = False


@value
class Media:
    """An image, document, recording or other file.

    One of `data` (decoded bytes) and `reference` (a URL or file id, which is never fetched) is set. Neither is set when
    the caller only describes the file (`{"_media": {...}}` in place of the bytes). Then `size` (width, height in px),
    `seconds`, `page_sizes` (width, height in points) and `text_chars` are what the caller said. `kind` follows from the
    MIME type. `detail` is OpenAI's detail or Google's media resolution, as sent. `clip` is the part of a recording that
    is used (start and end in seconds; end may be None). `fps` is the frames per second taken of a video, if sent.
    """

    kind: Literal["image", "document", "audio", "video", "file"]
    mime: str
    data: bytes | None = None
    reference: str | None = None
    path: str = ""
    detail: str | None = None
    title: str | None = None
    context: str | None = None
    filename: str | None = None
    citations: bool = False
    size: tuple[int, int] | None = None
    seconds: float | None = None
    page_sizes: tuple[tuple[float, float], ...] | None = None
    text_chars: int | None = None
    clip: tuple[float, float | None] | None = None
    fps: float | None = None


@value
class Document:
    """A document given as text or as parts (Anthropic `text` and `content` sources), not as a file."""

    parts: tuple[Text | Media, ...]
    title: str | None = None
    context: str | None = None
    citations: bool = False
    path: str = ""


@value
class SearchResult:
    """A search result given as a block: its source, title and texts."""

    source: str
    title: str
    parts: tuple[Text, ...]
    citations: bool = False
    path: str = ""


@value
class Thinking:
    """Thinking sent back to the model. `text` is "" when only an opaque `signature` (base64, as sent) was given."""

    text: str = ""
    signature: str | None = None
    redacted: bool = False
    path: str = ""


@value
class ToolCall:
    """A call the model made. `raw_arguments` is the string as sent (OpenAI), `arguments` the decoded value.

    `hosted` is the provider's own tool type when the provider ran the tool. `item_id` says that the item has an item
    id, `replayed` that it has a status, too: OpenAI Responses then bills the tokens that the model sampled.
    `signature` is a Gemini thought signature.
    """

    name: str
    arguments: Json
    raw_arguments: str | None = None
    call_id: str = ""
    hosted: str | None = None
    replayed: bool = False
    signature: str | None = None
    path: str = ""
    item_id: bool = False


@value
class ToolResult:
    """What a tool answered: a structured `value` if the wire format has one (Gemini), else `parts`."""

    call_id: str
    name: str
    parts: tuple[Part, ...]
    value: Json = None
    is_error: bool = False
    hosted: str | None = None
    path: str = ""


@value
class ToolReference:
    """A deferred tool that a result brings into context (Anthropic tool search)."""

    name: str
    path: str = ""


@value
class ToolAddition:
    """Tools added in the middle of a conversation (Anthropic `tool_addition`, OpenAI `additional_tools`)."""

    tools: tuple[Tool, ...]
    path: str = ""


@value
class Unknown:
    """A block of an unknown type. Its serialized text is counted, and it is listed as uncounted."""

    kind: str
    value: Json
    path: str = ""


Part = (
    Text | Media | Document | SearchResult | Thinking | ToolCall | ToolResult | ToolReference | ToolAddition | Unknown
)


# ---------------------------------------------------------------- the prompt


@value
class Message:
    """One message. `role_given` is False when the request left the role out, which Gemini bills differently."""

    role: Role
    parts: tuple[Part, ...]
    name: str | None = None
    role_given: bool = True
    path: str = ""


@value
class Tool:
    """A tool definition.

    `kind` is "function" for the caller's own, else the provider's type string (`web_search_20250305`,
    `code_interpreter`, `googleSearch`). `schema_form` is "json" for JSON schema and "google" for Google's Schema
    message. `raw` is the definition as sent, for hosted and unknown kinds.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Json] | None = None
    response: Mapping[str, Json] | None = None
    kind: str = "function"
    schema_form: Literal["json", "google"] = "json"
    strict: bool | None = None
    deferred: bool = False
    raw: Mapping[str, Json] = field(default_factory=dict)
    path: str = ""


@value
class ToolChoice:
    """Which tools the model may call. `parallel` is False when parallel calls were switched off."""

    mode: Literal["auto", "none", "required", "named"] = "auto"
    name: str | None = None
    parallel: bool | None = None
    allowed: tuple[str, ...] = ()


@value
class OutputFormat:
    """Structured output. `schema` is None for free-form JSON."""

    kind: Literal["json_object", "json_schema"]
    name: str = ""
    description: str = ""
    schema: Json = None
    schema_form: Literal["json", "google"] = "json"
    strict: bool | None = None


@value
class Prompt:
    """A whole request, in whatever dialect it came.

    `system` holds the parts of a system prompt that stands apart from the messages (Anthropic `system`, Responses
    `instructions`, Gemini `systemInstruction`). `system_role_given` says whether Gemini's had a role. `dialect` is the
    wire format (`openai.chat`, `openai.responses`, `anthropic.messages`, `google.generateContent`, ...), `platform` the
    billing platform if it matters (`gemini-api`, `vertex`). `options` keeps what only one provider bills
    (`task_budget`, `media_resolution`, `prediction`).
    """

    messages: tuple[Message, ...]
    system: tuple[Part, ...] = ()
    system_role_given: bool = False
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    output: OutputFormat | None = None
    thinking: Literal["enabled", "adaptive", "disabled"] | None = None
    dialect: str = "openai.chat"
    platform: str | None = None
    options: Mapping[str, Json] = field(default_factory=dict)
    warnings: tuple[Warned, ...] = ()
