"""The main feature decides which measured accuracy applies to a count."""

from __future__ import annotations

import pytest

from service.counting.features import has_files, main_feature
from service.types import (
    Document,
    Media,
    Message,
    OutputFormat,
    Prompt,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolReference,
    ToolResult,
)

HI = Message("user", (Text("hi"),))
HELLO = Message("assistant", (Text("hello"),))
CALL = Message("assistant", (ToolCall("f", {}),))
RESULT = Message("tool", (ToolResult("", "f", (Text("1"),)),))
SHOWN = Message("tool", (ToolResult("", "f", (Media("image", "image/png", b""),)),))
PDF = Media("document", "application/pdf", b"")
CSV = Media("file", "text/csv", b"")


@pytest.mark.parametrize(
    ("prompt", "feature"),
    [
        (Prompt(()), "text"),
        (Prompt((HI,)), "text"),
        (Prompt((HI,), system=(Text("be brief"),)), "system"),
        (Prompt((Message("system", (Text("be brief"),)), HI)), "system"),
        (Prompt((HI, HELLO, HI), system=(Text("be brief"),)), "multi_turn"),
        (Prompt((HI, HELLO, HI), thinking="enabled"), "thinking"),
        (Prompt((HI,), thinking="disabled"), "text"),
        (Prompt((HI, Message("assistant", (Thinking("hm"), Text("hello"))), HI)), "thinking"),
        (Prompt((HI,), thinking="enabled", output=OutputFormat("json_schema")), "schema"),
        (Prompt((Message("user", (Document((Text("x"),)),)),), output=OutputFormat("json_schema")), "documents"),
        (Prompt((Message("user", (CSV,)),)), "documents"),
        (Prompt((HI,), tools=(Tool("f"),), output=OutputFormat("json_schema")), "tools"),
        (Prompt((HI, CALL, RESULT), tools=(Tool("f"),)), "tool_history"),
        (Prompt((HI, CALL, RESULT), tools=(Tool("f", deferred=True),)), "hosted"),
        (Prompt((HI,), tools=(Tool("web_search", kind="web_search_20250305"),)), "hosted"),
        (Prompt((HI, CALL, Message("tool", (ToolResult("", "f", (ToolReference("g"),)),)))), "hosted"),
        (Prompt((HI, CALL, SHOWN), tools=(Tool("f"),)), "media"),
        (Prompt((Message("user", (PDF, Text("read it"))),)), "media"),
    ],
)
def test_main_feature(prompt: Prompt, feature: str) -> None:
    assert main_feature(prompt) == feature


def test_texts_without_a_template_are_texts_however_many() -> None:
    assert main_feature(Prompt((HI, HI, HI), dialect="openai.embeddings")) == "text"


@pytest.mark.parametrize(("prompt", "expected"), [
    (Prompt((HI, CALL, RESULT)), False),
    (Prompt((HI, SHOWN)), True),
    (Prompt((Message("user", (PDF,)),)), True),
    (Prompt((Message("user", (Document((Text("a"),)),)),)), True),
    (Prompt((HI,), system=(CSV,)), True),
    (Prompt((), system=(Text("a"),)), False),
])
def test_files_are_seen_wherever_they_stand(prompt: Prompt, expected: bool) -> None:
    assert has_files(prompt) is expected
