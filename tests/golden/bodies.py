"""Whole requests in the three providers' formats: good ones by feature, and bad ones by the place of the fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.golden.files import JPEG, PDF, PNG, WAV
from tests.golden.row import Row, get

Bodies = Mapping[str, Mapping[str, Any]]

SCHEMA: Mapping[str, Any] = {
    "type": "object", "required": ["city"], "additionalProperties": False,
    "properties": {"city": {"type": "string", "description": "The city."}, "unit": {"enum": ["c", "f"]}},
}
HI: Mapping[str, Any] = {"role": "user", "content": "Hello, 세계!"}
WEATHER: Mapping[str, Any] = {"role": "user", "content": "What is the weather in Paris?"}

# ---------------------------------------------------------------- OpenAI

FUNCTION = {"name": "get_weather", "description": "The weather now.", "parameters": SCHEMA}
CALLED = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": SCHEMA}}
DATA_URL = f"data:image/png;base64,{PNG}"


def said(*parts: Any) -> dict[str, Any]:
    """A body of one message of the user, in OpenAI's and Anthropic's format."""
    return {"messages": [{"role": "user", "content": [*parts]}]}


CHAT: Bodies = {
    "text": {"messages": [HI]},
    "system and turns": {"messages": [{"role": "system", "content": "Be brief."}, HI,
        {"role": "assistant", "content": "Hi."}, HI]},
    "names": {"messages": [{**HI, "name": "anna"}]},
    "tools": {"messages": [WEATHER], "tools": [{"type": "function", "function": FUNCTION}], "tool_choice": "required"},
    "a call and its result": {
        "messages": [WEATHER, CALLED, {"role": "tool", "tool_call_id": "c1", "content": "18 degrees"}],
        "tools": [{"type": "function", "function": FUNCTION}],
    },
    "functions": {"messages": [WEATHER], "functions": [FUNCTION], "function_call": {"name": "get_weather"}},
    "a schema": {"messages": [WEATHER], "response_format": FORMAT},
    "an image": said({"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": DATA_URL}}),
    "an image in low detail": said({"type": "image_url", "image_url": {"url": DATA_URL, "detail": "low"}}),
    "an image elsewhere": said({"type": "image_url", "image_url": {"url": "https://images.example/a.png"}}),
    "a described image": said({"type": "image_url", "image_url": {"_media": {"width": 1024, "height": 768}}}),
    "a file": said({"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}}),
    "sound": said({"type": "input_audio", "input_audio": {"format": "wav", "data": WAV}}),
    "a part of an unknown kind": said({"type": "hologram", "light": 3}),
    "an unknown field": {"messages": [{**HI, "mood": "cheerful"}], "surprise": "text", "seed": 3},
    "thinking and prediction": {"messages": [HI], "reasoning_effort": "high", "prediction": {"content": "Hello"}},
    "no messages": {"messages": []},
}

RESPONSES: Bodies = {
    "text": {"input": "Hello, 세계!"},
    "instructions": {"input": "Hello", "instructions": "Be brief."},
    "messages": {"input": [HI, {"type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "Hi."}]}]},
    "tools": {"input": "Weather?", "tools": [{"type": "function", **FUNCTION, "strict": True}, {"type": "web_search"}]},
    "a call and its result": {"input": [
        WEATHER, {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city":"Paris"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "18 degrees"}]},
    "reasoning": {"input": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "So."}]}, HI],
        "reasoning": {"effort": "low"}},
    "a schema": {"input": "Where?", "text": {"format": {"type": "json_schema", "name": "place", "schema": SCHEMA}}},
    "an image": {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": DATA_URL}]}]},
    "a file": {"input": [{"role": "user", "content": [{"type": "input_file", "filename": "a.pdf", "file_data": PDF}]}]},
    "stored state": {"input": "Go on.", "previous_response_id": "resp_1"},
    "an unknown item": {"input": [{"type": "hologram", "light": 3}]},
    "nothing": {},
    "wrong: messages": {"messages": [HI]},
    "wrong: input": {"input": 3},
    "wrong: item": {"input": [3]},
    "wrong: role": {"input": [{"role": 3, "content": "x"}]},
    "wrong: content": {"input": [{"role": "user", "content": [{"type": "input_text", "text": 3}]}]},
    "wrong: instructions": {"input": "x", "instructions": 3},
    "wrong: tools": {"input": "x", "tools": {"type": "function"}},
    "wrong: tool": {"input": "x", "tools": ["f"]},
    "wrong: parameters": {"input": "x", "tools": [{"type": "function", "name": "f", "parameters": "none"}]},
    "wrong: reasoning": {"input": "x", "reasoning": "high"},
    "wrong: text": {"input": "x", "text": "json"},
    "wrong: image": {"input": [{"role": "user", "content": [{"type": "input_image",
        "image_url": "data:image/png;base64,%%"}]}]},
}

CHAT_WRONG: Bodies = {
    "messages": {"messages": "Hello"}, "message": {"messages": ["Hello"]},
    "role": {"messages": [{"role": "king", "content": "x"}]},
    "no role": {"messages": [{"content": "x"}]}, "no content": {"messages": [{"role": "user"}]},
    "content": {"messages": [{"role": "user", "content": 3}]}, "text": said({"type": "text", "text": {"a": 1}}),
    "no text": said({"type": "text"}), "kind": said({"type": 3}),
    "image": said({"type": "image_url", "image_url": {"url": 3}}),
    "base64": said({"type": "image_url", "image_url": {"url": "data:image/png;base64,#"}}),
    "no comma": said({"type": "image_url", "image_url": {"url": "data:image/png"}}),
    "described": said({"type": "image_url", "image_url": {"_media": {"width": "wide", "height": 1}}}),
    "tool_calls": {"messages": [{"role": "assistant", "tool_calls": [{"id": "c", "function": 3}]}]},
    "tools": {"messages": [HI], "tools": [{"type": "function", "function": {"name": 3}}]},
    "schema": {"messages": [HI], "response_format": {"type": "json_schema", "json_schema": 3}},
    "tool_choice": {"messages": [HI], "tool_choice": 3},
}

# ---------------------------------------------------------------- Anthropic

TOOL = {"name": "get_weather", "description": "The weather now.", "input_schema": SCHEMA}
USED = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "get_weather",
    "input": {"city": "Paris"}}]}


def source(data: Any, media_type: str = "image/png", kind: str = "image") -> dict[str, Any]:
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}}


MESSAGES: Bodies = {
    "text": {"messages": [HI]},
    "system": {"system": [{"type": "text", "text": "Be brief."}],
        "messages": [HI, {"role": "assistant", "content": "Hi."}, HI]},
    "tools": {"messages": [WEATHER], "tools": [TOOL], "tool_choice": {"type": "tool", "name": "get_weather"}},
    "a call and its result": {
        "messages": [WEATHER, USED, {"role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "18"}]}],
        "tools": [TOOL],
    },
    "a hosted tool": {"messages": [HI], "tools": [{"type": "web_search_20250305", "name": "web_search",
        "max_uses": 3}]},
    "thinking": {
        "messages": [HI, {"role": "assistant", "content": [{"type": "thinking", "thinking": "So.", "signature": "c2ln"},
            {"type": "text", "text": "Hi."}]}, HI],
        "thinking": {"type": "enabled", "budget_tokens": 2000},
    },
    "an image": said({"type": "text", "text": "What is this?"}, source(PNG)),
    "a JPEG": said(source(JPEG, "image/jpeg")),
    "an image elsewhere": said({"type": "image", "source": {"type": "url", "url": "https://images.example/a.png"}}),
    "a described image": said(source({"_media": {"width": 1024, "height": 768}})),
    "a document": said({**source(PDF, "application/pdf", "document"), "title": "Report",
        "citations": {"enabled": True}}),
    "a described document": said(source({"_media": {"pages": 3, "text_chars": 900}}, "application/pdf", "document")),
    "a text document": said({"type": "document", "source": {"type": "text", "media_type": "text/plain",
        "data": "A text."}}),
    "a search result": said({"type": "search_result", "source": "a", "title": "b",
        "content": [{"type": "text", "text": "c"}]}),
    "a block of an unknown kind": said({"type": "hologram", "light": 3}),
    "an unknown field": {"messages": [{**HI, "mood": "cheerful"}], "surprise": ["text"]},
    "a schema": {"messages": [HI], "output_config": {"format": {"type": "json_schema", "schema": SCHEMA},
        "task_budget": {"total": 20000}}},
    "context edits": {"messages": [HI], "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}},
    "no messages": {"messages": []},
    "wrong: no messages": {"system": "x"},
    "wrong: messages": {"messages": 3},
    "wrong: message": {"messages": ["Hello"]},
    "wrong: role": {"messages": [{"role": "king", "content": "x"}]},
    "wrong: no role": {"messages": [{"content": "x"}]},
    "wrong: no content": {"messages": [{"role": "user"}]},
    "wrong: content": {"messages": [{"role": "user", "content": 3}]},
    "wrong: block": {"messages": [HI, {"role": "user", "content": [{"type": "text", "text": "x"}, 3]}]},
    "wrong: block without type": said({"light": 3}),
    "wrong: text": said({"type": "text", "text": 3}),
    "wrong: no text": said({"type": "text"}),
    "wrong: base64": said(source("%%%")),
    "wrong: source": said({"type": "image", "source": "PNG"}),
    "wrong: no source": said({"type": "image", "source": {}}),
    "wrong: described": said(source({"_media": {"width": -1, "height": 5}})),
    "wrong: described pages": said(source({"_media": {"page_sizes_pt": [[612]]}}, "application/pdf", "document")),
    "wrong: system": {"system": 3, "messages": [HI]},
    "wrong: tools": {"tools": "none", "messages": [HI]},
    "wrong: tool": {"tools": [{"name": 3}], "messages": [HI]},
    "wrong: input_schema": {"tools": [{"name": "f", "input_schema": "none"}], "messages": [HI]},
    "wrong: tool_choice": {"tool_choice": {"type": "perhaps"}, "messages": [HI]},
    "wrong: thinking": {"thinking": {"type": "deeply"}, "messages": [HI]},
    "wrong: task budget": {"output_config": {"task_budget": {"total": "many"}}, "messages": [HI]},
}

# ---------------------------------------------------------------- Google


def parts(*items: Any, **more: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [*items]}], **more}


def blob(data: Any, mime: str) -> dict[str, Any]:
    return {"inlineData": {"mimeType": mime, "data": data}}


GENERATE: Bodies = {
    "text": parts({"text": "Hello, 세계!"}),
    "a string": {"contents": "Hello"},
    "system and turns": parts({"text": "Hello"}, systemInstruction={"parts": [{"text": "Be brief."}]}),
    "snake case": parts({"text": "Hello"}, system_instruction="Be brief.",
        generation_config={"response_mime_type": "application/json"}),
    "a whole request": {"generateContentRequest": {"model": "models/gemini-2.5-flash", **parts({"text": "Hello"})}},
    "tools": parts({"text": "Weather?"}, tools=[{"functionDeclarations": [FUNCTION]}, {"googleSearch": {}}],
                   toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}}),
    "a call and its result": {"contents": [
        {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": {"city": "Paris"}},
            "thoughtSignature": "c2ln"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "get_weather", "response": {"degrees": 18}}}]}]},
    "a schema": parts({"text": "Where?"}, generationConfig={"responseMimeType": "application/json",
        "responseSchema": SCHEMA}),
    "an image": parts({"text": "What is this?"}, blob(PNG, "image/png")),
    "a document": parts(blob(PDF, "application/pdf")),
    "sound": parts(blob(WAV, "audio/wav")),
    "a described film": parts({**blob({"_media": {"seconds": 12.5}}, "video/mp4"),
        "videoMetadata": {"fps": 2, "endOffset": "10s"}}),
    "a file elsewhere": parts({"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/a.png"}}),
    "code": parts({"executableCode": {"language": "PYTHON", "code": "1+1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}),
    "a cache": {"cachedContent": "cachedContents/1", "contents": "Go on."},
    "a part of an unknown kind": parts({"hologram": {"light": 3}}),
    "an unknown field": {**parts({"text": "x"}), "surprise": "text"},
    "thinking": parts({"text": "x"}, generationConfig={"thinkingConfig": {"thinkingBudget": 0},
        "mediaResolution": "MEDIA_RESOLUTION_LOW"}),
    "wrong: nothing": {},
    "wrong: messages": {"messages": [HI]},
    "wrong: contents": {"contents": 3},
    "wrong: content": {"contents": [{"role": "user", "parts": [3]}]},
    "wrong: role": {"contents": [{"role": 3, "parts": []}]},
    "wrong: no parts": {"contents": [{"role": "user", "text": "x"}]},
    "wrong: text": parts({"text": 3}),
    "wrong: base64": parts(blob("%%%", "image/png")),
    "wrong: inlineData": parts({"inlineData": "PNG"}),
    "wrong: mime": parts({"inlineData": {"mimeType": 3, "data": PNG}}),
    "wrong: tools": parts({"text": "x"}, tools="none"),
    "wrong: declaration": parts({"text": "x"}, tools=[{"functionDeclarations": [3]}]),
    "wrong: parameters": parts({"text": "x"}, tools=[{"functionDeclarations": [{"name": "f", "parameters": 3}]}]),
    "wrong: config": parts({"text": "x"}, generationConfig=3),
    "wrong: mode": parts({"text": "x"}, toolConfig={"functionCallingConfig": {"mode": [1]}}),
    "wrong: offset": parts({**blob(WAV, "audio/wav"), "videoMetadata": {"startOffset": "soon"}}),
}


def provider_rows(path: str, model: str | None, bodies: Bodies) -> Iterator[Row]:
    """The bodies, sent as the provider's SDK sends them."""
    for name, body in bodies.items():
        yield Row(f"{path} {name}", f"POST {path}", body if model is None else {"model": model, **body})


def native_rows(model: str, bodies: Bodies, **more: Any) -> Iterator[Row]:
    """The bodies as the `request` of a native count."""
    for name, body in bodies.items():
        word = " ".join([model, *map(str, more.values()), name])
        yield Row(word, "POST /v1/countTokens", {"model": model, "request": body, **more})


def native_request_rows() -> Iterator[Row]:
    wrong = {f"wrong: {name}": body for name, body in CHAT_WRONG.items()}
    yield from native_rows("gpt-4o", {**CHAT, **wrong})
    yield from native_rows("gpt-5", {name: RESPONSES[name] for name in ("text", "tools", "an image", "wrong: item")})
    for model in ("claude-sonnet-4-5", "claude-opus-4-8", "gemini-2.5-flash", "llama-3.1-8b-instruct"):
        yield from native_rows(model, {name: CHAT[name] for name in ("text", "a call and its result", "an image",
            "an unknown field")})
    yield from native_rows("claude-3-5-haiku-latest",
        {name: MESSAGES[name] for name in ("system", "tools", "wrong: text")})
    yield from native_rows("gemini-2.5-flash", {name: GENERATE[name] for name in ("a whole request", "wrong: text")},
        platform="vertex")
    yield from native_rows("text-embedding-3-small",
        {"embeddings": {"input": ["a", "b"]}, "ids": {"input": [1, 2]}, "wrong": {"input": [{}]}},
                           dialect="openai.embeddings")
    yield from native_rows("gpt-3.5-turbo-instruct", {"completion": {"prompt": ["a", "b"], "suffix": "c"}},
        dialect="openai.completions")
    yield get("/v1/models/gemini-2.5-flash:countTokens", "GET where POST is asked for")
