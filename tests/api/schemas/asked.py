"""A spread of requests: every operation with each optional part of its answers there and absent, null and not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.security.bodies import CHAT, PICTURE, RICH, native_bodies

UNPRICED, NO_WINDOW, TOKENIZER = "gpt-5.9-nova", "codellama-7b", "o200k_base"

PATHS = {"gemini": "/v1beta/models/gemini-2.5-flash:countTokens", "vertex": (
    "/v1beta1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:countTokens"
)}

SEVERAL_MEDIA = {"contents": [{"role": "user", "parts": [
    {"inlineData": {"mimeType": "image/png", "data": PICTURE}},
    *({"fileData": {"mimeType": mime, "fileUri": "gs://x"}} for mime in ("video/mp4", "audio/mp3", "application/pdf")),
]}]}

COUNTS: tuple[Any, ...] = (
    {"model": "gpt-4o", "text": "Hello"}, {"model": "openai/gpt-4o-2024-08-06", "texts": ["Hello", ""]},
    {"tokenizer": TOKENIZER, "text": "Hello"}, {"provider": "anthropic", "text": "Hello", "colour": 1},
    {"model": UNPRICED, "text": "Hello"}, {"model": "gpt-5", "text": "Hello"}, {"model": "llama-3-70b", "text": "Hi"},
    *native_bodies(), {"model": "gemini-2.5-flash", "request": SEVERAL_MEDIA},
)

POSTS: tuple[tuple[str, Any], ...] = (
    *(("/v1/countTokens", body) for body in COUNTS),
    ("/v1/countTokens:batch", {"items": [{"model": "gpt-4o", "text": "a"}]}),
    ("/v1/countTokens:batch", {"items": [*COUNTS, {"model": "no-such-model", "text": ""}, 3]}),
    *(("/v1/messages/count_tokens", body) for body in RICH["anthropic"]),
    ("/anthropic/v1/messages/count_tokens", {"model": "gpt-4o", "messages": {"role": "user", "content": None}}),
    *(("/v1/responses/input_tokens", body) for body in RICH["openai"]),
    *((path, body) for path in PATHS.values() for body in (*RICH["google"], SEVERAL_MEDIA, {"contents": []})),
    ("/tokenize", {"model": "gpt-4o", "prompt": "Hello", "return_token_strs": True}),
    ("/tokenize", {"model": "gpt-4o", "prompt": "Hello"}), ("/tokenize", CHAT),
    ("/tokenize", {"model": UNPRICED, "prompt": "Hello"}),
    ("/detokenize", {"model": "gpt-4o", "tokens": []}), ("/utils/token_counter", CHAT),
    ("/utils/token_counter", {"model": "gpt-4o", "prompt": "Hello"}),
    # ------------------------------------------------------------ cost
    ("/v1/estimateCost", {"model": "gpt-4o", "usage": {"input": 5, "output_image": 3}}),
    ("/v1/estimateCost", {"model": "gpt-4o", "usage": {"input": 5}, "service_tier": "batch", "at": "2026-11-15"}),
    ("/v1/estimateCost", {"model": "gemini-2.5-pro", "usage": {"input": 500_000, "output": 3}}),
    ("/v1/estimateCost", {"model": UNPRICED, "usage": {"input": 5}}),
    ("/v1/checkBudget", {"tokenizer": TOKENIZER, "text": "Hello", "max_cost_usd": 1, "max_input_tokens": 1}),
    ("/v1/checkBudget", {"tokenizer": TOKENIZER, "text": "Hello"}),
    ("/v1/checkBudget", {"model": "gpt-4o", "text": "Hello", "max_input_tokens": 0, "max_output_tokens": 1}),
    ("/v1/checkBudget", {"model": UNPRICED, "text": "Hello", "max_cost_usd": "0.1"}),
    *(("/v1/checkBudget", body) for body in native_bodies()),
    ("/v1/compare", {"models": ["gpt-4o", UNPRICED, "llama-2-7b", "grok-4", NO_WINDOW], "text": "Hello"}),
    ("/v1/compare", {"models": ["grok-4", "gtp-4o"], "text": "Hello"}),
    *(("/v1/compare", {"models": ["gpt-4o"], **{key: part for key, part in body.items() if key != "model"}})
      for body in native_bodies()),
    # ------------------------------------------------------------ text
    ("/v1/truncate", {"model": "gpt-4o", "text": "one two three", "max_tokens": 2}),
    ("/v1/truncate", {"tokenizer": TOKENIZER, "text": "one two three", "max_tokens": 9}),
    ("/v1/truncate", {"model": "gpt-4o", "max_tokens": 50_000, "request": CHAT}),
    ("/v1/split", {"model": "gpt-4o", "text": "one two three", "max_tokens": 2}),
    ("/v1/split", {"tokenizer": TOKENIZER, "text": "", "max_tokens": 2}),
    # ------------------------------------------------------------ tokens
    *(("/v1/tokenize", {**target, "text": "ﬁ 안녕 🤖! <|endoftext|>", **more}) for target in (
        {"model": "gpt-4o"}, {"tokenizer": "cl100k_base"}, {"model": "claude-opus-4-8"}, {"provider": "anthropic"},
    ) for more in ({}, {"form": "columns"}, {"limit": 1}, {"colour": 1})),
    ("/v1/tokenize", {"tokenizer": "cl100k_base", "text": "<|endoftext|>", "special_tokens": "parse"}),
    ("/v1/detokenize", {"model": "gpt-4o", "ids": [93643]}),
    ("/v1/detokenize", {"tokenizer": "cl100k_base", "ids": [100257, 9906, 9468], "pieces": True, "colour": 1}),
    *(("/v1/explain", {**target, "text": text}) for text in ("Hello ﬁ 🤖", " " * 36, " " * 36 + "𓀀") for target in (
        {"model": "gpt-4o"}, {"tokenizer": "gemma3"}, {"model": "claude-opus-4-8"}, {"tokenizer": "llama3"},
        {"tokenizer": "claude", "colour": 1}, {"tokenizer": "p50k_base"},
    )),
    ("/v1/bpe/train", {"corpus": "low low lower 안녕", "merges": 50, "encode": ["low", "안"], "colour": 1}),
    ("/v1/bpe/train", {"corpus": "low low", "merges": 2, "level": "character", "encode": ["low lux"]}),
    # ------------------------------------------------------------ usage
    ("/v1/usage", {"model": "gpt-4o", "usage": {"input": 9, "output": 1}}),
    ("/v1/usage", {"model": UNPRICED, "usage": {"input": 9}, "text": "Hello"}),
    ("/v1/usage", {"model": "gpt-4o-mini", "usage": {"output": 1}, "counted_tokens": 3}),
)

BUDGET_CALLS: tuple[tuple[str, str, Any], ...] = (
    ("tok", "reserve", {"tokens": 100}), ("tok", "reserve", {"tokens": 950}), ("tok", "reserve", {"tokens": 2_000}),
    ("tok", "reserve", {"model": "gpt-4o", "text": "Hello"}), ("usd", "reserve", {"amount_usd": "0.1"}),
    ("usd", "reserve", {"amount_usd": "100"}), ("usd", "reserve", {"model": UNPRICED, "text": "Hello"}),
    ("usd", "reserve", {"model": "gpt-4o", "text": "Hello"}),
    ("usd", "settle", {"amount_usd": "0.001"}), ("usd", "settle", {"model": "gpt-4o", "usage": {"input": 1}}),
    ("tok", "release", {}), ("tok", "settle", {"tokens": 3}),
)
"""Budget, call, body. A settle or release gets a lease of its own, and is sent twice."""

GETS: tuple[str, ...] = (
    "/v1/models", "/v1/models?limit=500", "/v1/models?limit=500&prices=true", "/v1/models?search=no-such",
    "/v1/models?provider=openai&family=gpt-4o&limit=2&prices=false", "/v1/models/gpt-4o", f"/v1/models/{UNPRICED}",
    f"/v1/models/{NO_WINDOW}", "/v1/models/gemini-2.5-pro", "/v1/models/claude-opus-4-8", "/v1/models/llama-2-7b",
    "/v1/tokenizers", "/v1/budgets", "/v1/budgets/usd", "/v1/budgets/tok", "/livez", "/readyz", "/v1/usage",
    "/v1/usage?group_by=", "/v1/usage?group_by=hour,project,model&time_zone=Asia/Kolkata", "/v1/usage?group_by=model",
    "/v1/usage?from=2026-01-01&to=2026-01-02", f"/v1/usage?model=tokenizer:{TOKENIZER}", "/v1/usage?model=other",
    "/v1/usage/drift", "/v1/usage/drift?from=2026-01-01&to=2026-01-02",
)

BAD: Mapping[str, tuple[Any, ...]] = {
    "/v1/countTokens": (3, {"model": "gtp-4o", "text": ""}),
    "/v1/messages/count_tokens": (3, {"model": "gtp-4o", "messages": []}),
    "/v1/responses/input_tokens": (3, {"model": "gtp-4o", "input": ""}),
    PATHS["gemini"]: (3, {"contents": 3}), "/tokenize": (3, {"model": "gtp-4o", "prompt": ""}),
    "/utils/token_counter": (3, {"model": "gtp-4o", "prompt": ""}),
}
"""Path of each wire -> bodies that are refused."""
