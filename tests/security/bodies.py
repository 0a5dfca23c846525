"""Bodies that use much of the format of each API. parser_fuzz.py changes them, alone.py sends them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from service.types import Json

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="

RICH: Mapping[str, tuple[Json, ...]] = {
    "anthropic": ({
        "model": "claude-sonnet-4-5", "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "tools": [
            {"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {"x": {"enum": [1]}}}},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        ],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}, "task_budget": {"total": 9}},
        "mcp_servers": [{"type": "url", "url": "https://x.example", "name": "m"}],
        "context_management": {"edits": []},
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "hi"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
                {"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}},
                {"type": "document", "title": "t", "context": "c", "citations": {"enabled": True},
                 "source": {"type": "text", "media_type": "text/plain", "data": "doc"}},
                {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "eA=="},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": [1, None, True, "y"]}},
                {"type": "server_tool_use", "id": "c2", "name": "web_search", "input": {"query": "q"}},
                {"type": "web_search_tool_result", "tool_use_id": "c2", "content": [
                    {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e"},
                ]},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "is_error": False, "content": [
                    {"type": "text", "text": "r"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
                ]},
            ]},
        ],
    },),
    "openai": ({
        "model": "gpt-5", "instructions": "i", "reasoning": {"effort": "low"}, "parallel_tool_calls": False,
        "tools": [{"type": "function", "name": "f", "description": "d", "strict": True, "parameters": {
            "type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "required": ["x"],
        }}, {"type": "web_search"}, {"type": "custom", "name": "g", "format": {"type": "text"}}],
        "tool_choice": {"type": "function", "name": "f"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}},
        "input": [
            {"role": "user", "content": [
                {"type": "input_text", "text": "hi"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}", "detail": "low"},
                {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,aGk="},
            ]},
            {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "s"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"x": 1}'},
            {"type": "function_call_output", "call_id": "c", "output": "r"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "o"}]},
        ],
    },),
    "google": ({
        "contents": [
            {"role": "user", "parts": [
                {"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": PICTURE}},
                {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://x"}, "videoMetadata": {"fps": 1}},
            ]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "f", "args": {"x": 1}}}, {"text": "t", "thought": True},
                {"executableCode": {"language": "PYTHON", "code": "1"}},
            ]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"r": [1]}}}]},
        ],
        "systemInstruction": {"parts": [{"text": "s"}]},
        "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "parameters": {
            "type": "OBJECT", "properties": {"x": {"type": "STRING", "enum": ["a"]}}, "required": ["x"],
        }}]}, {"googleSearch": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {
            "responseMimeType": "application/json", "responseSchema": {"type": "OBJECT", "properties": {}},
            "thinkingConfig": {"thinkingBudget": 0}, "mediaResolution": "MEDIA_RESOLUTION_LOW",
        },
    },),
}

CHAT: Json = {
    "model": "gpt-4o",
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}],
    "tool_choice": {"type": "function", "function": {"name": "f"}}, "functions": [{"name": "g", "parameters": {}}],
    "prediction": {"type": "content", "content": "p"}, "reasoning_effort": "low",
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "name": "n", "content": [
            {"type": "text", "text": "hi"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}", "detail": "high"}},
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
            {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,aGk="}},
        ]},
        {"role": "assistant", "content": None, "refusal": "r", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
            {"id": "d", "type": "custom", "custom": {"name": "g", "input": "i"}},
        ]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "r"}]},
    ],
}


def native_bodies() -> Iterator[Json]:
    """The same requests in bodies of the native API."""
    for dialect, bodies in {**RICH, "chat": (CHAT,)}.items():
        for body in bodies:
            model = body.get("model", "gemini-2.5-flash")
            yield {"model": model, "request": {key: value for key, value in body.items() if key != "model"}}
            yield {"model": "gpt-4o", "dialect": None, "request": body} if dialect == "openai" else {
                "model": model, "platform": "vertex", "request": body
            }
