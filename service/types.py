"""The inside types: what a request is once its wire format is forgotten, and what a count is made of.

A dialect turns bytes into a `Prompt`; a renderer turns a `Prompt` into a `Rendering` (texts to be counted and
fixed costs); the counter turns a `Rendering` into a `TokenCount`. Values only; pydantic stays at the wire.

The prompt model is neutral but loses nothing that any provider bills for: where two wires say the same thing
differently and the difference is billed (arguments as sent, a role that is absent), a field keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from typing import Any, Literal

from service.values import value

Json = Any
"""A decoded JSON value: None, bool, int, float, str, list or dict."""

Section = Literal["system", "tools", "messages", "media", "schema", "frame"]
SECTIONS: tuple[Section, ...] = ("system", "tools", "messages", "media", "schema", "frame")

Edge = Literal["open", "inside", "end"]
"""Where a text stands: `open` it opens and closes a turn by itself; `inside` it stands in the middle of a longer
document; `end` it starts in the middle of one and the prompt ends with it (a prefill). Only the tiling tokenizers tell
them apart."""

Role = Literal["system", "developer", "user", "assistant", "tool"]

Method = Literal["exact", "calibrated", "estimate"]

Feature = Literal[
    "media", "hosted", "tool_history", "tools", "documents", "schema", "thinking", "multi_turn", "system", "text"
]
FEATURES: tuple[Feature, ...] = (
    "media", "hosted", "tool_history", "tools", "documents", "schema", "thinking", "multi_turn", "system", "text",
)


# ---------------------------------------------------------------- parts of a message


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

    Of `data` (decoded bytes) and `reference` (a URL or file id that is never fetched) one is set, or neither where the
    caller only describes the file (`{"_media": {...}}` in place of the bytes): then `size` (width, height in px),
    `seconds`, `page_sizes` (width, height in points) and `text_chars` are what it told. `kind` follows the MIME type.
    `detail` is OpenAI's detail or Google's media resolution, as sent. `clip` is the part of a recording that is used
    (start, end or None; seconds) and `fps` the frames taken of a film a second, where the request says so.
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
    """Thinking shown back to the model. `text` is "" where only an opaque `signature` (base64 as sent) was given."""

    text: str = ""
    signature: str | None = None
    redacted: bool = False
    path: str = ""


@value
class ToolCall:
    """A call the model made. `raw_arguments` is the string as sent (OpenAI), `arguments` the decoded value.

    `hosted` is the provider's own tool type when the provider ran it; `replayed` says the item carries both an item
    id and a status (OpenAI Responses bills the tokens it sampled then), `item_id` that it carries an item id.
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
    """What a tool answered. `value` is the structured answer where the wire has one (Gemini), else None and `parts`."""

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
    """A block of a type we do not know: counted from its serialised text and listed as uncounted."""

    kind: str
    value: Json
    path: str = ""


Part = (
    Text | Media | Document | SearchResult | Thinking | ToolCall | ToolResult | ToolReference | ToolAddition | Unknown
)


# ---------------------------------------------------------------- the prompt


@value
class Message:
    """One message. `role_given` is False where the wire left the role out (Gemini bills that differently)."""

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
    """`mode` auto | none | required | named; `parallel` False where parallel calls were switched off."""

    mode: Literal["auto", "none", "required", "named"] = "auto"
    name: str | None = None
    parallel: bool | None = None
    allowed: tuple[str, ...] = ()


@value
class OutputFormat:
    """Structured output. `schema` None for free-form JSON."""

    kind: Literal["json_object", "json_schema"]
    name: str = ""
    description: str = ""
    schema: Json = None
    schema_form: Literal["json", "google"] = "json"
    strict: bool | None = None


@value
class Prompt:
    """A whole request, whatever wire it came by.

    `system` holds the parts of a system prompt that stands apart from the messages (Anthropic `system`, Responses
    `instructions`, Gemini `systemInstruction`); `system_role_given` says whether Gemini's had a role. `dialect` names
    the wire (`openai.chat`, `openai.responses`, `anthropic.messages`, `google.generateContent`, ...), `platform` the
    billing platform where it matters (`gemini-api`, `vertex`). `options` keeps what only one provider bills
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


# ---------------------------------------------------------------- what a renderer gives


@value
class Segment:
    """A text that the provider's template renders between two of its own special tokens, to be counted whole.

    `spans` is ((section, text), ...): what the template joins is joined before counting, because merges cross joints.
    A span's share is count(text up to its end) - count(text up to its start); the last takes the rest.
    """

    spans: tuple[tuple[Section, str], ...]
    edge: Edge = "open"

    @property
    def text(self) -> str:
        return self.spans[0][1] if len(self.spans) == 1 else "".join(text for _, text in self.spans)


@value
class Overhead:
    """A fixed cost of a section in tokens; may be negative. `rule` is a short stable name for docs and debugging."""

    section: Section
    tokens: int
    rule: str


@value
class Doubt:
    """The billed number may differ by `low`..`high` tokens (low <= 0 <= high) for this reason: it widens the band."""

    low: int
    high: int
    reason: str


@value
class Uncounted:
    """Something that could not be counted from the body; `assumed_tokens` are in the total all the same."""

    path: str
    kind: str
    reason: str
    assumed_tokens: int = 0


@value
class Warned:
    """A repair or a choice made on the caller's behalf: a stable code and the JSON path it concerns."""

    code: str
    path: str = ""


@value
class Rendering:
    """What the provider's template makes of a prompt. Pure data: no token has been counted yet.

    `rules` names the rule set that was applied (closed set, e.g. `openai-gpt5/chat`, `gemini-2.5/vertex`); with the
    prompt's main feature it is the class that the accuracy table is looked up by. Media costs are overheads of section
    `media`.
    """

    segments: tuple[Segment, ...]
    overheads: tuple[Overhead, ...]
    rules: str
    uncounted: tuple[Uncounted, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    warnings: tuple[Warned, ...] = ()


# ---------------------------------------------------------------- the question and the answer


@value
class Before:
    """What all of a prompt but its newest messages came to, when it was counted; `details` are tokens by section."""

    details: tuple[tuple[Section, int], ...] = ()
    features: frozenset[Feature] = frozenset()
    doubts: tuple[Doubt, ...] = ()
    uncounted: tuple[Uncounted, ...] = ()
    warnings: tuple[Warned, ...] = ()


@value
class CountRequest:
    """What the counter is asked: a whole `prompt`, or `texts` whose content alone is counted.

    One of `model_ref` and `tokenizer` is set. `single` says that the caller sent one text, not a list.
    `special_tokens` is "parse" where special-token strings in texts are to be read as such; `add_special_tokens` adds
    what the tokenizer's own post-processor adds (a bos). `path` prefixes the fields named in errors (batch items).
    `guessed` says that the tokenizer stands in for models it may not be the one of: an estimate at best. Where `before`
    is given, the prompt is only what is newer.
    """

    model_ref: str | None = None
    tokenizer: str | None = None
    prompt: Prompt | None = None
    before: Before | None = None
    texts: tuple[str, ...] | None = None
    single: bool = True
    special_tokens: Literal["text", "parse"] = "text"
    add_special_tokens: bool = False
    engine: Literal["auto", "reference", "fast"] = "auto"
    guessed: bool = False
    warnings: tuple[Warned, ...] = ()
    path: str = ""


@value
class InputCost:
    """What counted input costs in US dollars now: uncached, at the standard tier. Exact, never rounded.

    `price_status` is `inferred` where the price is that of a wider name or of another host.
    """

    usd: Decimal
    price_status: Literal["known", "inferred"]
    prices_version: str


@value
class WindowUse:
    """What a count leaves of a model's context window, in tokens.

    `remaining` is what may be added to the input (negative where it is too long already); `fits` goes by the upper end
    of the error band. `max_input` is set where the provider refuses inputs shorter than the window: both go by it then.
    """

    window: int
    remaining: int
    fits: bool
    max_input: int | None = None


@value
class TokenCount:
    """The answer to every count. All numbers are tokens; `low`..`high` is the error band, inclusive.

    `details` has only sections that are not zero and sums to `input_tokens`. `counts` is per text for `texts`.
    `modalities` splits section media (`IMAGE`, `AUDIO`, `VIDEO`, `DOCUMENT`) where the rules of its costs tell.
    `family` names the row of the families that the model is of; `doubts` are part of the band. `cost` is None where no
    price is known, `context` where no window is.
    """

    input_tokens: int
    method: Method
    low: int
    high: int
    tokenizer: str
    tokenizer_revision: str
    details: Mapping[Section, int]
    model: str | None = None
    model_ref: str | None = None
    model_match: Literal["known", "alias", "inferred"] | None = None
    provider: str | None = None
    counts: tuple[int, ...] | None = None
    uncounted: tuple[Uncounted, ...] = ()
    warnings: tuple[Warned, ...] = ()
    rules: str | None = None
    feature: Feature | None = None
    modalities: Mapping[str, int] = field(default_factory=dict)
    engine: str = "reference"
    family: str | None = None
    doubts: tuple[Doubt, ...] = ()
    cost: InputCost | None = None
    context: WindowUse | None = None
