"""The inside types: what a request is once its wire format is forgotten, and what a count is made of.

A dialect turns bytes into a `Prompt`; a renderer turns a `Prompt` into a `Rendering` (texts to be counted and
fixed costs); the counter turns a `Rendering` into a `TokenCount`. Values only; pydantic stays at the wire.
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
