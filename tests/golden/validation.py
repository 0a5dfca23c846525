"""The bodies of our own routes, each field of them set wrongly: the words of the refusals are what matters here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.golden.row import DROP, Row, variants

TEXT = "Hello, world! 안녕하세요."
MIX: Mapping[str, Any] = {"model": "gpt-4o", "text": TEXT}
LONG = "One sentence here. Another one there, with more words in it.\n\nA paragraph of its own, and a last word."

NOT_STRINGS: tuple[Any, ...] = (3, 1.5, True, [], {})


def each(name: str, *values: Any) -> Iterator[dict[str, Any]]:
    """A change of one field for each value."""
    for value in values:
        yield {name: value}


def count_rows() -> Iterator[Row]:
    yield from variants(
        "/v1/countTokens", MIX,
        *each("model", *NOT_STRINGS, "claude-opus-4-8", "gemini-2.5-flash", "openai/gpt-4o-2024-08-06", "prod-chat",
            "acme-chat-1", " gpt-4o "),
        *each("text", *NOT_STRINGS, None, "", DROP, "<|endoftext|>", "\u0000",
            "👩‍👩‍👧‍👦 नमस्ते"),
        {"text": DROP, "texts": ["a", "b c", ""]}, {"text": DROP, "texts": []}, {"text": DROP, "texts": "a"},
        {"text": DROP, "texts": ["a", 3]}, {"text": DROP, "texts": {}}, {"texts": ["a"]}, {"text": DROP, "request": []},
        {"text": DROP, "request": {}}, {"text": DROP, "request": {"hello": 1}},
        {"text": DROP, "request": {"messages": []}, "dialect": "klingon"},
        {"text": DROP, "request": {"messages": []}, "dialect": 3}, {"request": {"messages": []}},
        {"model": DROP, "text": DROP, "request": {"messages": []}},
        {"model": DROP, "text": DROP, "request": {"model": "gpt-4o", "messages": []}},
        {"model": DROP, "tokenizer": "cl100k_base"}, {"model": DROP, "tokenizer": "no-such"},
        {"model": DROP, "tokenizer": 3}, {"tokenizer": "o200k_base"},
        {"model": DROP, "tokenizer": "gemma3", "add_special_tokens": True}, {"model": DROP, "tokenizer": "claude-v4.8"},
        {"model": DROP, "tokenizer": "o200k_base", "text": DROP, "request": {"messages": []}},
        *({"model": DROP, "provider": name} for name in ("openai_o200k", "openai_cl100k", "openai_p50k", "anthropic",
            "google", "nobody", 3)),
        {"provider": "google"}, *each("platform", "vertex", "gemini-api", "azure", 3, None),
        *each("dialect", "openai.chat", None, "x"),
        *each("special_tokens", "parse", "text", "TEXT", True, None),
        {"text": "a<|endoftext|>b", "special_tokens": "parse"},
        *each("add_special_tokens", True, "true", 1, None), *each("engine", "fast", "reference", "warp", 1, None),
        {"surprise": "text"}, {"surprise": 3, "second": None}, {"x" * 100: "text"}, {"": "text"}, {"a.b[0]": "text"},
        {"model": 3, "text": 3}, {"text": 3, "engine": "warp"}, {"surprise": "x", "text": 3},
    )


def plain_text_rows() -> Iterator[Row]:
    for query in (
        "model=gpt-4o", "tokenizer=o200k_base&add_special_tokens=yes", "provider=anthropic", "", "model=",
        "model=gpt-4o&model=claude-opus-4-8", "model=gpt-4o&surprise=1", "model=gpt-4o&engine=warp",
        "model=gpt-4o&special_tokens=parse", "model=no-such",
    ):
        yield Row(f"text/plain with ?{query}", f"POST /v1/countTokens?{query}", "Hello <|endoftext|>",
            {"content-type": "text/plain"})
    plain = "POST /v1/countTokens?model=gpt-4o"
    yield Row("text/plain, empty", plain, b"", {"content-type": "text/plain"})
    yield Row("text/plain, a byte order mark", plain, b"\xef\xbb\xbfHello",
        {"content-type": "text/plain; charset=utf-8"})
    yield Row("text/plain, not UTF-8", plain, b"Hello \xff", {"content-type": "text/plain"})
    yield Row("text/plain, Latin-1", plain, b"Hello", {"content-type": "text/plain; charset=iso-8859-1"})


def batch_rows() -> Iterator[Row]:
    good = {"items": [{**MIX}, {"tokenizer": "cl100k_base", "texts": ["a", "b"]}]}
    items: tuple[Any, ...] = (
        3, None, "x", [], {}, {"model": "gpt-4o"}, {"text": "x"}, {**MIX, "text": 3}, {**MIX, "engine": "warp"},
        {**MIX, "model": "no-such-model"},
        {**MIX, "surprise": "x"}, {"model": "gpt-4o", "request": {"messages": [{"role": "user", "content": 3}]}},
        {**MIX, "texts": ["a"]},
        {"tokenizer": "no-such", "text": "x"}, {"provider": "anthropic", "text": "x"},
        {"model": "gpt-4o", "request": {"messages": []}, "dialect": "x"},
    )
    yield from variants(
        "/v1/countTokens:batch", good, *each("items", [], None, "x", {}, 3, DROP), {"surprise": "x"},
        {"items": [MIX] * 1_001},
        *({"items": [MIX, item]} for item in items), {"items": [*items]},
    )


def estimate_rows() -> Iterator[Row]:
    usage = {"input_tokens": 10_000, "cache_read_input_tokens": 40_000, "output_tokens": 15_000}
    yield from variants(
        "/v1/estimateCost", {"model": "claude-opus-4-8", "usage": usage, "at": "2026-11-15"},
        *each("model", *NOT_STRINGS, None, DROP, "no-such", "acme-chat-1", "gpt-4o"),
        *each("usage", None, DROP, [], 3, "x", {}),
        *each("usage", {"input": 10, "output": 5}, {"input": -1}, {"input": 1.5}, {"input": "1"}, {"input": True},
            {"input": 10**30}, {"surprise": 3},
              {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 20}},
              {"prompt_tokens": 10, "completion_tokens": 3},
              {"promptTokenCount": 10, "candidatesTokenCount": 3},
              {"input_tokens": 3, "cached_tokens": 1, "cache_creation": {}},
              {"input_tokens": 3, "input_tokens_details": {"cached_tokens": "x"}},
              {"prompt_tokens": 3, "prompt_tokens_details": 3}),
        *each("dialect", "anthropic", "google", "klingon", 3, None),
        *each("service_tier", "batch", "priority", "default", "slow", 3, None),
        *each("at", "2026-11-15T12:00:00+09:00", "yesterday", "1999-01-01", "2100-01-01", 3, None, ""), {"surprise": 1},
        {"a" * 80: 1},
        {"model": 3, "usage": 3}, {"model": 3, "surprise": 1},
    )


def check_rows() -> Iterator[Row]:
    yield from variants(
        "/v1/checkBudget", {**MIX, "max_output_tokens": 500, "max_cost_usd": "0.05", "at": "2026-11-15"},
        *(change for name in ("max_input_tokens", "max_output_tokens")
          for change in each(name, 0, -1, 10**9, 10**9 + 1, 1.5, 2.0, "3", True, None, [], 10**30)),
        *each("max_cost_usd", 0.05, 1, 0, "0", "1e-7", "-1", "NaN", "1_0", "", "1 USD", 9_000_001, True, [], None),
        *each("service_tier", "batch", "slow", 3), *each("at", "x", 3, None), *each("text", 3, None, DROP),
        *each("model", 3, "no-such", DROP),
        {"surprise": "x"}, {"engine": "warp"}, {"tokenizer": "gemma3"}, {"model": DROP, "tokenizer": "gemma3"},
        {"max_input_tokens": 3},
        {"texts": ["a", 3]}, {"text": DROP, "request": {"messages": [{"role": "user", "content": "x"}]}},
        {"text": DROP, "request": {"messages": 3}},
        {"max_output_tokens": DROP, "max_cost_usd": DROP},
    )


def compare_rows() -> Iterator[Row]:
    yield from variants(
        "/v1/compare", {"models": ["gpt-4o", "claude-opus-4-8", "gemini-2.5-flash"], "text": TEXT,
            "output_tokens": 100},
        *each("models", [], None, DROP, "gpt-4o", {}, [3], ["gpt-4o", None], ["gpt-4o", "no-such"],
            ["gpt-4o", "gpt-4o"], [""], ["gpt-4o"] * 51),
        *each("output_tokens", 0, -1, 1.5, "1", None, 10**9 + 1, True), {"model": "gpt-4o"}, {"tokenizer": "gemma3"},
        {"provider": "google"},
        {"surprise": "x"}, {"text": 3}, {"text": DROP}, {"engine": "warp"},
        {"text": DROP, "request": {"messages": [{"role": "user", "content": "x"}]}},
    )


def truncate_rows() -> Iterator[Row]:
    yield from variants(
        "/v1/truncate", {"model": "gpt-4o", "text": LONG, "max_tokens": 8},
        *each("max_tokens", 0, 1, -1, 1.5, 1.0, "8", None, DROP, True, 10**9 + 1, 1_000),
        *each("cut_from", "start", "middle", "side", 3, None),
        *each("marker", " [...] ", "x" * 1_001, 3, None), *each("text", 3, None, "", DROP),
        *each("model", 3, "no-such", DROP, "claude-opus-4-8"),
        {"model": DROP, "tokenizer": "gemma3"}, {"tokenizer": "gemma3"}, {"model": DROP, "tokenizer": "no-such"},
        {"surprise": 1}, {"platform": "azure"},
        {"text": DROP, "request": {"messages": [{"role": "user", "content": LONG},
            {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Why?"}]}, "max_tokens": 12},
        {"text": DROP, "request": {"messages": 3}}, {"text": DROP, "request": {"messages": []}, "marker": "x"},
        {"text": DROP, "request": []},
        {"request": {"messages": []}}, {"text": DROP, "request": {"messages": [{"role": "user", "content": LONG}]},
            "dialect": "x"},
    )


def split_rows() -> Iterator[Row]:
    yield from variants(
        "/v1/split", {"model": "gpt-4o", "text": LONG, "max_tokens": 8},
        *each("max_tokens", 0, 1, 1.5, "8", None, DROP, 10**9 + 1),
        *each("overlap_tokens", 0, 3, 8, -1, 1.5, "1", None),
        *each("split_at", "word", "sentence", "line", "paragraph", "page", 3), *each("text", 3, None, "", DROP),
        {"surprise": 1},
        {"model": DROP}, {"model": "no-such"}, {"tokenizer": "gemma3"}, {"model": DROP, "tokenizer": "claude-v4.8"},
        {"model": 3, "text": 3},
    )


TARGETS: tuple[dict[str, Any], ...] = (
    {"model": DROP}, {"model": 3}, {"model": "no-such"}, {"tokenizer": "gemma3"},
    {"model": DROP, "tokenizer": "gemma3"},
    {"model": DROP, "tokenizer": "no-such"}, {"model": DROP, "tokenizer": []},
    {"model": DROP, "provider": "anthropic"},
    {"model": DROP, "provider": "nobody"}, {"model": "claude-opus-4-8"}, {"surprise": "x"}, {"surprise": 3},
    {"x" * 80: None},
)
"""What names the vocabulary in the routes below, and fields that they do not know."""


def tokenize_rows() -> Iterator[Row]:
    yield from variants(
        "/v1/tokenize", {"model": "gpt-4o", "text": "안녕 🤖!"}, *TARGETS,
        *each("text", 3, None, DROP, "", "a" * ((1 << 20) + 1)),
        *each("offset", 0, 2, 99, -1, 1.5, "1", None, True), *each("at", 0, 3, -1, "1", None, 99),
        {"offset": 1, "at": 1},
        *each("limit", 1, 0, 100_001, 1_000_001, "1", None, 1.5), *each("unit", "utf16", "bytes", 3),
        *each("form", "columns", "rows", None),
        *each("special_tokens", "parse", "x"), *each("engine", "fast", "reference", "warp"),
        {"form": "columns", "limit": 100_001},
        {"text": 3, "limit": 0}, {"surprise": "x", "limit": 0},
    )


def detokenize_rows() -> Iterator[Row]:
    yield from variants(
        "/v1/detokenize", {"model": "gpt-4o", "ids": [14307, 98931, 93643, 244, 0]}, *TARGETS,
        *each("ids", [], None, DROP, "1", {}, [1.5], ["1"], [-1], [2**32], [2**32 - 1], [0, None], [True], [[1]],
            [199_999], [200_000]),
        *each("pieces", True, "true", 1, None), {"ids": [93643, 244], "pieces": True},
    )


def merge_rows() -> Iterator[Row]:
    targets = [change for change in TARGETS if change.get("tokenizer") != "gemma3"]  # whose merges take 2 s to load
    yield from variants("/v1/explain", {"model": "gpt-4o", "text": "low newest"}, *targets,
        *each("text", 3, None, DROP, "", "a" * 2_001))
    yield from variants(
        "/v1/bpe/train", {"corpus": "low low low lower newer", "merges": 3, "level": "character", "top": 2,
            "encode": ["lowest"]},
        *each("corpus", 3, None, DROP, "", "a" * 50_001),
        *each("merges", 0, 1, 1_000, 1_001, 1.5, 3.0, "3", True, None, DROP),
        *each("level", "byte", "word", 3, None), *each("ties", "lowest_ids", "random", 3),
        *each("top", 0, 100, 101, -1, "1", None),
        *each("encode", [], ["a", "b"], "lowest", [3], ["a", None], {}, None, ["a"] * 101, ["a" * 2_001]),
        {"surprise": "x"}, {"model": "gpt-4o"},
        {"merges": 0, "level": "word"}, {"corpus": 3, "surprise": 1},
    )


def foreign_rows() -> Iterator[Row]:
    """vLLM's and LiteLLM's fields."""
    chat = [{"role": "user", "content": "Hello, world!"}]
    yield from variants(
        "/tokenize", {"model": "gpt-4o", "prompt": "Hello, world!"}, *each("prompt", 3, None, DROP, "", ["a"]),
        {"prompt": DROP, "messages": chat}, {"prompt": DROP, "messages": 3},
        {"prompt": DROP, "messages": [{"role": "king"}]}, {"messages": chat},
        *each("add_special_tokens", False, "no", None, 1), *each("return_token_strs", True, "yes"),
        *each("model", "claude-opus-4-8", "llama-3.1-8b-instruct", 3),
    )
    yield from variants(
        "/detokenize", {"model": "gpt-4o", "tokens": [13225, 11]},
        *each("tokens", [], None, DROP, "1", [1.5], [-1], [True], [10**9], [[1]], {}),
        *each("model", "claude-opus-4-8", 3, DROP),
    )
    yield from variants(
        "/utils/token_counter", {"model": "gpt-4o", "prompt": "Hello, world!"},
        *each("prompt", 3, None, DROP, "", ["a"]), {"messages": chat},
        {"messages": 3}, {"messages": [3]}, {"contents": [{"parts": [{"text": "x"}]}]}, {"contents": 3},
        {"prompt": DROP, "messages": [], "tools": 3},
        *each("model", "claude-opus-4-8", 3, DROP),
    )
