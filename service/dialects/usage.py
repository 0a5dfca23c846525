"""Reading the usage object of each provider as disjoint buckets.

The numbers of providers overlap in different ways. OpenAI and Google count cached tokens inside the input, Anthropic
beside it. OpenAI and Anthropic count reasoning inside the output, Google beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, cast

from service.dialects.fields import as_object, each, wrong_type
from service.errors import InvalidRequest
from service.pricing.usage import BUCKETS, MAX_AMOUNT, Bucket, Usage, make_usage
from service.types import Json

UsageShape = Literal["buckets", "openai.chat", "openai.responses", "anthropic", "google"]


def read_usage(value: Json, path: str = "usage", shape: UsageShape | None = None) -> Usage:
    """The usage object of a provider's answer, or our own buckets, as disjoint buckets.

    `shape` is inferred from the field names where it is None. Raises InvalidRequest naming `path` for negative or
    fractional numbers, for a part that is larger than its whole, and where the names do not show the shape.
    """
    usage = _UsageFields(as_object(value, path), path)
    return _READERS[shape or _detect_shape(usage)](usage)


class _UsageFields:
    """The fields of a usage object and their JSON paths. An absent field and null are 0."""

    def __init__(self, fields: Mapping[str, Json], path: str) -> None:
        self.fields, self.path = fields, path

    def has(self, *names: str) -> bool:
        return any(self.fields.get(name) is not None for name in names)

    def path_of(self, name: str) -> str:
        """The path of a field whose name may be in camelCase, as in Google's API, or in snake_case."""
        snake = re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", name)
        return f"{self.path}.{name if self.has(name) or not self.has(snake) else snake}"

    def number(self, *names: str) -> int:
        """The first of the fields `names` that is there, or 0."""
        for name in names:
            value = self.fields.get(name)
            if value is None:
                continue
            where, wanted = f"{self.path}.{name}", f"a whole number from 0 to {MAX_AMOUNT}"
            if isinstance(value, (bool, str, list, dict)):
                raise wrong_type(where, wanted, value)
            if not isinstance(value, int) or not 0 <= value <= MAX_AMOUNT:
                raise InvalidRequest(f"{where} must be {wanted}.", field=where)
            return value
        return 0

    def nested(self, *names: str) -> _UsageFields:
        """The first of the objects `names` that is there, or an empty one."""
        for name in names:
            value = self.fields.get(name)
            if value is not None:
                return _UsageFields(as_object(value, f"{self.path}.{name}"), f"{self.path}.{name}")
        return _UsageFields({}, f"{self.path}.{names[0]}")

    def subtract(self, whole: int, parts: int, what: str, nested_path: str = "") -> int:
        """`whole` less the `parts` of it, which the caller said in the field `nested_path`, or here."""
        if parts > whole:
            where = nested_path or self.path
            raise InvalidRequest(f"{where}: {what} cannot exceed the number they are part of.", field=where)
        return whole - parts


def _make_usage(numbers: Mapping[str, int]) -> Usage:
    return make_usage(cast(Mapping[Bucket, int], numbers))


def _detect_shape(usage: _UsageFields) -> UsageShape:
    anthropic = usage.has("cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation", "server_tool_use")
    if usage.has("prompt_tokens", "completion_tokens"):
        return "openai.chat"
    if usage.has("promptTokenCount", "candidatesTokenCount", "totalTokenCount", "thoughtsTokenCount") or usage.has(
        "prompt_token_count", "candidates_token_count", "total_token_count"
    ):
        return "google"
    if usage.has("input_tokens_details", "input_token_details", "cached_tokens", "cached_input_tokens"):
        if anthropic:
            raise InvalidRequest(
                f"{usage.path} has fields of two providers, which count cached tokens differently: name the `dialect`.",
                field=usage.path,
            )
        return "openai.responses"
    if anthropic:
        return "anthropic"
    if usage.has("input_tokens", "output_tokens", "total_tokens"):
        return "openai.responses"
    return "buckets"


def _read_buckets(usage: _UsageFields) -> Usage:
    unknown = next((name for name in usage.fields if name not in BUCKETS), None)
    if unknown is not None:
        raise InvalidRequest(
            f"{usage.path} has a field that is neither a bucket nor a provider's. Buckets: {', '.join(BUCKETS)}.",
            field=f"{usage.path}.{unknown[:64]}",
        )
    return _make_usage({bucket: usage.number(bucket) for bucket in BUCKETS})


def _read_part_of_total(
    usage: _UsageFields, whole: tuple[str, ...], part: tuple[str, ...], other: tuple[str, ...]
) -> int:
    """The number in the field `part`. Where it is absent, the total without the `other` part."""
    if usage.has(*part) or not usage.has(*whole):
        return usage.number(*part)
    if not usage.has(*other):
        raise InvalidRequest(f"{usage.path} has a total alone: say how much of it is input.", field=usage.path)
    return usage.subtract(usage.number(*whole), usage.number(*other), "the parts of the total")


def _read_openai(usage: _UsageFields) -> Usage:
    """Usage of Chat Completions, Responses, Realtime and Embeddings. Details are parts of the totals beside them."""
    names_in, names_out = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")
    total_in = _read_part_of_total(usage, ("total_tokens",), names_in, names_out)
    total_out = _read_part_of_total(usage, ("total_tokens",), names_out, names_in)
    details_in = usage.nested("prompt_tokens_details", "input_tokens_details", "input_token_details")
    details_out = usage.nested("completion_tokens_details", "output_tokens_details", "output_token_details")
    cached = details_in.number("cached_tokens") or usage.number(
        "cached_tokens", "cached_input_tokens", "prompt_cache_hit_tokens"
    )
    written = details_in.number("cache_write_tokens")
    cached_by = details_in.nested("cached_tokens_details")
    read_audio, read_image = cached_by.number("audio_tokens"), cached_by.number("image_tokens")
    audio, image = details_in.number("audio_tokens"), details_in.number("image_tokens")
    reasoning = details_out.number("reasoning_tokens")
    spoken, drawn = details_out.number("audio_tokens"), details_out.number("image_tokens")
    audio = details_in.subtract(audio, read_audio, "cached audio tokens")
    image = details_in.subtract(image, read_image, "cached image tokens")
    return _make_usage({
        "input": usage.subtract(
            total_in, cached + written + audio + image, "cached, audio and image tokens", details_in.path
        ),
        "cache_read": details_in.subtract(cached, read_audio + read_image, "cached audio and image tokens"),
        "cache_read_audio": read_audio, "cache_read_image": read_image, "cache_write": written,
        "input_audio": audio, "input_image": image,
        "output": usage.subtract(
            total_out, reasoning + spoken + drawn, "reasoning, audio and image tokens", details_out.path
        ),
        "reasoning": reasoning, "output_audio": spoken, "output_image": drawn, "requests": 1,
    })


def _read_anthropic(usage: _UsageFields) -> Usage:
    """Usage of the Messages API. Its three inputs are disjoint. Writes by duration are parts of the cache writes, and
    thinking is a part of the output."""
    written = usage.number("cache_creation_input_tokens")
    by_duration = usage.nested("cache_creation")
    short, long = by_duration.number("ephemeral_5m_input_tokens"), by_duration.number("ephemeral_1h_input_tokens")
    written = max(written, short + long) if not usage.has("cache_creation_input_tokens") else written
    details = usage.nested("output_tokens_details")
    thinking = details.number("thinking_tokens")
    return _make_usage({
        "input": usage.number("input_tokens"), "cache_read": usage.number("cache_read_input_tokens"),
        "cache_write": usage.subtract(written, short + long, "cache writes by duration", by_duration.path),
        "cache_write_5m": short, "cache_write_1h": long,
        "output": usage.subtract(usage.number("output_tokens"), thinking, "thinking tokens", details.path),
        "reasoning": thinking,
        "web_searches": usage.nested("server_tool_use").number("web_search_requests"), "requests": 1,
    })


_MODALITIES = {"TEXT": "", "AUDIO": "_audio", "IMAGE": "_image", "DOCUMENT": "_image", "VIDEO": "_video"}


def _sum_by_modality(usage: _UsageFields, *names: str) -> dict[str, int]:
    """Tokens by bucket suffix, summed from lists of `{modality, tokenCount}`."""
    found: dict[str, int] = {}
    for name in names:
        for item, path in each(usage.fields.get(name), f"{usage.path}.{name}"):
            entry = _UsageFields(as_object(item, path), path)
            modality = str(entry.fields.get("modality", "TEXT")).rpartition(".")[2].upper()
            suffix = _MODALITIES.get(modality, "")
            found[suffix] = found.get(suffix, 0) + entry.number("tokenCount", "token_count")
    return found


def _read_google(usage: _UsageFields) -> Usage:
    """Usage of generateContent. Cached tokens are part of the prompt, thoughts and tool results stand beside it."""
    out_names = ("candidatesTokenCount", "candidates_token_count")
    prompt_names = ("promptTokenCount", "prompt_token_count")
    totals = ("totalTokenCount", "total_token_count")
    thoughts = usage.number("thoughtsTokenCount", "thoughts_token_count")
    tools = usage.number("toolUsePromptTokenCount", "tool_use_prompt_token_count")
    prompt, candidates = usage.number(*prompt_names), usage.number(*out_names)
    if usage.has(*totals) and usage.has(*prompt_names) != usage.has(*out_names):
        rest = usage.subtract(usage.number(*totals), prompt + candidates + thoughts + tools, "the parts of the total")
        prompt, candidates = (prompt, rest) if usage.has(*prompt_names) else (rest, candidates)
    cached = usage.number("cachedContentTokenCount", "cached_content_token_count")
    spent = _sum_by_modality(usage, "promptTokensDetails", "prompt_tokens_details", "toolUsePromptTokensDetails",
                         "tool_use_prompt_tokens_details")
    read = _sum_by_modality(usage, "cacheTokensDetails", "cache_tokens_details")
    made = _sum_by_modality(usage, "candidatesTokensDetails", "candidates_tokens_details")
    numbers: dict[str, int] = {"reasoning": thoughts, "requests": 1}
    media = [suffix for suffix in _MODALITIES.values() if suffix]
    for suffix in dict.fromkeys(media):
        numbers[f"cache_read{suffix}"] = read.get(suffix, 0)
        numbers[f"input{suffix}"] = usage.subtract(
            spent.get(suffix, 0), read.get(suffix, 0), "cached tokens by modality"
        )
        numbers[f"output{suffix}"] = made.get(suffix, 0)
    media_read = sum(read.get(suffix, 0) for suffix in dict.fromkeys(media))
    media_in = sum(numbers[f"input{suffix}"] for suffix in dict.fromkeys(media))
    media_out = sum(made.get(suffix, 0) for suffix in dict.fromkeys(media))
    numbers["cache_read"] = usage.subtract(
        cached, media_read, "cached tokens by modality", usage.path_of("cacheTokensDetails")
    )
    nested_path = "cachedContentTokenCount" if cached > prompt + tools else "promptTokensDetails"
    numbers["input"] = usage.subtract(
        prompt + tools, cached + media_in, "cached tokens and tokens by modality", usage.path_of(nested_path)
    )
    numbers["output"] = usage.subtract(
        candidates, media_out, "candidates tokens by modality", usage.path_of("candidatesTokensDetails")
    )
    return _make_usage(numbers)


_READERS: Mapping[UsageShape, Callable[[_UsageFields], Usage]] = {
    "buckets": _read_buckets, "openai.chat": _read_openai, "openai.responses": _read_openai,
    "anthropic": _read_anthropic, "google": _read_google,
}
