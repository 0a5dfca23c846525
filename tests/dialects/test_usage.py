"""Usage objects of providers as disjoint buckets: no cached token twice, no reasoning token twice, nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.dialects.usage import read_usage
from service.errors import InvalidRequest
from service.pricing.usage import BUCKETS, INPUT_BUCKETS, OUTPUT_BUCKETS
from service.types import Json

CASES: list[tuple[str, Json, dict[str, int]]] = [
    (
        "chat: cached, audio and reasoning are inside",
        {
            "prompt_tokens": 2006, "completion_tokens": 300, "total_tokens": 2306,
            "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 6},
            "completion_tokens_details": {"reasoning_tokens": 128, "audio_tokens": 0, "accepted_prediction_tokens": 5},
        },
        {"input": 80, "cache_read": 1920, "input_audio": 6, "output": 172, "reasoning": 128, "requests": 1},
    ),
    (
        "responses with cache writes",
        {
            "input_tokens": 1530, "output_tokens": 20, "total_tokens": 1550,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 1527},
            "output_tokens_details": {"reasoning_tokens": 4},
        },
        {"input": 3, "cache_write": 1527, "output": 16, "reasoning": 4, "requests": 1},
    ),
    (
        "cached beside the total, inside all the same",
        {"input_tokens": 17903, "cached_tokens": 17817, "output_tokens": 1},
        {"input": 86, "cache_read": 17817, "output": 1, "requests": 1},
    ),
    (
        "DeepSeek's hit and miss",
        {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36},
        {"input": 36, "cache_read": 64, "output": 5, "requests": 1},
    ),
    (
        "realtime: cached by modality",
        {
            "input_tokens": 100, "output_tokens": 50,
            "input_token_details": {
                "text_tokens": 40, "audio_tokens": 60, "cached_tokens": 30,
                "cached_tokens_details": {"text_tokens": 10, "audio_tokens": 20},
            },
            "output_token_details": {"text_tokens": 20, "audio_tokens": 30},
        },
        {
            "input": 30, "cache_read": 10, "cache_read_audio": 20, "input_audio": 40, "output": 20, "output_audio": 30,
            "requests": 1,
        },
    ),
    ("embeddings", {"prompt_tokens": 8, "total_tokens": 8}, {"input": 8, "requests": 1}),
    ("the output from the total", {"prompt_tokens": 8, "total_tokens": 11}, {"input": 8, "output": 3, "requests": 1}),
    ("no total", {"prompt_tokens": 8, "completion_tokens": 3}, {"input": 8, "output": 3, "requests": 1}),
    (
        "Anthropic: three disjoint inputs",
        {
            "input_tokens": 86, "cache_read_input_tokens": 17817, "cache_creation_input_tokens": 500,
            "output_tokens": 9, "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 300},
            "server_tool_use": {"web_search_requests": 2}, "output_tokens_details": {"thinking_tokens": 4},
        },
        {
            "input": 86, "cache_read": 17817, "cache_write_5m": 200, "cache_write_1h": 300, "output": 5, "reasoning": 4,
            "web_searches": 2, "requests": 1,
        },
    ),
    (
        "Anthropic before write durations",
        {"input_tokens": 4, "cache_creation_input_tokens": 500, "cache_read_input_tokens": None, "output_tokens": 9},
        {"input": 4, "cache_write": 500, "output": 9, "requests": 1},
    ),
    (
        "Google: cached inside, thoughts and tool results beside",
        {
            "promptTokenCount": 1000, "cachedContentTokenCount": 600, "candidatesTokenCount": 50,
            "thoughtsTokenCount": 70, "toolUsePromptTokenCount": 30, "totalTokenCount": 1150,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 742}, {"modality": "IMAGE", "tokenCount": 258}],
            "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 600}],
        },
        {"input": 172, "cache_read": 600, "input_image": 258, "output": 50, "reasoning": 70, "requests": 1},
    ),
    (
        "Google's Python SDK",
        {"prompt_token_count": 10, "candidates_token_count": 4, "total_token_count": 14, "thoughts_token_count": None},
        {"input": 10, "output": 4, "requests": 1},
    ),
    ("our buckets", {"input": 3, "cache_read": 0, "output": 2}, {"input": 3, "output": 2}),
    ("nothing", {}, {}),
]


@pytest.mark.parametrize(("name", "value", "buckets"), CASES, ids=[case[0] for case in CASES])
def test_usage_object(name: str, value: Json, buckets: dict[str, int]) -> None:
    assert dict(read_usage(value).buckets) == buckets


@pytest.mark.parametrize(("value", "field"), [
    ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 11}}, "usage.prompt_tokens_details"),
    ({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 6, "cache_write_tokens": 5}},
     "usage.input_tokens_details"),
    ({"output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 4}, "input_tokens": 1},
     "usage.output_tokens_details"),
    ({"promptTokenCount": 5, "cachedContentTokenCount": 6}, "usage.cachedContentTokenCount"),
    ({"prompt_token_count": 5, "cached_content_token_count": 6}, "usage.cached_content_token_count"),
    ({"promptTokenCount": 5, "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 6}]},
     "usage.promptTokensDetails"),
    ({"input_tokens": 5, "cache_creation_input_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 2}},
     "usage.cache_creation"),
    ({"prompt_tokens": -1}, "usage.prompt_tokens"),
    ({"prompt_tokens": 1.5}, "usage.prompt_tokens"),
    ({"prompt_tokens": True}, "usage.prompt_tokens"),
    ({"prompt_tokens": "7"}, "usage.prompt_tokens"),
    ({"prompt_tokens": 10**16}, "usage.prompt_tokens"),
    ({"prompt_tokens": float("inf")}, "usage.prompt_tokens"),
    ({"prompt_tokens": 10, "prompt_tokens_details": 3}, "usage.prompt_tokens_details"),
    ({"total_tokens": 10}, "usage"),
    ({"total_tokens": 10, "prompt_tokens": 11}, "usage"),
    ({"input_tokens": 1, "input_tokens_details": {}, "cache_read_input_tokens": 5}, "usage"),
    ({"tokens": 10}, "usage.tokens"),
    ({"input": 1, "inputs": 2}, "usage.inputs"),
    ([], "usage"),
    (None, "usage"),
    ({"promptTokenCount": 1, "promptTokensDetails": [7]}, "usage.promptTokensDetails[0]"),
])
def test_impossible_usage_is_refused_by_path(value: Json, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_usage(value)
    assert caught.value.field == field


def test_named_shape_settles_what_names_leave_open() -> None:
    value = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "cache_read_input_tokens": 5}
    assert dict(read_usage(value, shape="openai.responses").buckets) == {"input": 6, "cache_read": 4, "requests": 1}
    assert dict(read_usage(value, shape="anthropic").buckets) == {"input": 10, "cache_read": 5, "requests": 1}


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_buckets_sum_to_the_totals(cached: int, fresh: int, reasoning: int, said: int) -> None:
    usage = read_usage({
        "prompt_tokens": cached + fresh, "completion_tokens": reasoning + said,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    })
    assert (usage.input_tokens, usage.output_tokens) == (cached + fresh, reasoning + said)
    usage = read_usage({
        "input_tokens": fresh, "cache_read_input_tokens": cached, "output_tokens": reasoning + said,
        "output_tokens_details": {"thinking_tokens": reasoning},
    })
    assert (usage.input_tokens, usage.output_tokens) == (cached + fresh, reasoning + said)


@given(st.dictionaries(st.sampled_from(BUCKETS), st.integers(0, 10**9)))
def test_our_own_buckets_pass_through(numbers: dict[str, int]) -> None:
    usage = read_usage(dict(numbers))
    assert dict(usage.buckets) == {bucket: number for bucket, number in numbers.items() if number}
    assert usage.input_tokens == sum(numbers.get(bucket, 0) for bucket in INPUT_BUCKETS)
    assert usage.output_tokens == sum(numbers.get(bucket, 0) for bucket in OUTPUT_BUCKETS)
