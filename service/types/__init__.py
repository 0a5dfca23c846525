"""The types used inside: a request without its wire format, and what a count is made of.

A dialect turns bytes into a `Prompt`. A renderer turns a `Prompt` into a `Rendering`: texts to be counted and fixed
costs. The counter turns a `Rendering` into a `TokenCount`. These are plain values; pydantic is only used for the wire.
"""

from service.types.counts import (
    CountRequest,
    InputCost,
    Method,
    TokenCount,
    WindowUse,
)
from service.types.prompt import (
    Document,
    Media,
    Message,
    OutputFormat,
    Part,
    Prompt,
    Role,
    SearchResult,
    Text,
    Thinking,
    Tool,
    ToolAddition,
    ToolCall,
    ToolChoice,
    ToolReference,
    ToolResult,
    Unknown,
)
from service.types.rendering import (
    FEATURES,
    SECTIONS,
    CountedPrefix,
    Doubt,
    Edge,
    Feature,
    Overhead,
    Rendering,
    Section,
    Segment,
    Uncounted,
    Warned,
)
from service.types.value import (
    Json,
    value,
)

__all__ = [
    "FEATURES",
    "SECTIONS",
    "CountRequest",
    "CountedPrefix",
    "Document",
    "Doubt",
    "Edge",
    "Feature",
    "InputCost",
    "Json",
    "Media",
    "Message",
    "Method",
    "OutputFormat",
    "Overhead",
    "Part",
    "Prompt",
    "Rendering",
    "Role",
    "SearchResult",
    "Section",
    "Segment",
    "Text",
    "Thinking",
    "TokenCount",
    "Tool",
    "ToolAddition",
    "ToolCall",
    "ToolChoice",
    "ToolReference",
    "ToolResult",
    "Uncounted",
    "Unknown",
    "Warned",
    "WindowUse",
    "value",
]
