"""Which names are open models we can count, and with which vocabulary."""

from __future__ import annotations

import pytest

from service.families.base import Family
from service.families.open_models import FAMILIES, ChatTemplate


def find(model_id: str) -> Family | None:
    return next((family for family in FAMILIES if family.match.fullmatch(model_id)), None)


@pytest.mark.parametrize(("model_id", "family", "tokenizer"), [
    ("llama-3.3-70b-instruct", "llama-3.1", "llama3"),
    ("llama-3.1-8b-instruct", "llama-3.1", "llama3"),
    ("llama-3.3-70b-versatile", "llama-3.1", "llama3"),
    ("llama-3.2-90b-vision-instruct", "llama-3.1", "llama3"),
    ("llama-3-8b-instruct", "llama-3", "llama3"),
    ("llama-2-70b-chat", "llama-2", "llama2"),
    ("codellama-34b-instruct", "codellama", "llama2"),
    ("deepseek-r1", "deepseek-r1", "deepseek_v3"),
    ("deepseek-r1-0528", "deepseek-r1", "deepseek_v3"),
    ("deepseek-r1-distill-llama-70b", "deepseek-r1-llama", "llama3"),
    ("deepseek-r1-distill-qwen-32b", "deepseek-r1-qwen", "qwen3"),
    ("deepseek-r1-0528-qwen3-8b", "deepseek-r1-qwen", "qwen3"),
    ("deepseek-v3", "deepseek-v3", "deepseek_v3"),
    ("deepseek-chat-v3-0324", "deepseek-v3", "deepseek_v3"),
    ("deepseek-v3.1-terminus", "deepseek-v3.1", "deepseek_v3"),
    ("deepseek-v3.2-exp", "deepseek-v3.1", "deepseek_v3"),
    ("mistral-7b-instruct-v0.1", "mistral-v1", "mistral_v1"),
    ("mistral-7b-instruct-v0.2", "mistral-v1", "mistral_v1"),
    ("mistral-7b-instruct-v0.3", "mistral-v3", "mistral_v2"),
    ("open-mistral-7b", "mistral-v3", "mistral_v2"),
    ("mixtral-8x7b-instruct-v0.1", "mistral-v1", "mistral_v1"),
    ("mixtral-8x7b-32768", "mistral-v1", "mistral_v1"),
    ("mixtral-8x22b-instruct-v0.1", "mistral-v3", "mistral_v2"),
    ("mistral-large-2407", "mistral-v3", "mistral_v2"),
    ("open-mistral-nemo", "mistral-nemo", "mistral_v3"),
    ("pixtral-12b-2409", "mistral-nemo", "mistral_v3"),
    ("ministral-8b", "mistral-nemo", "mistral_v3"),
    ("mistral-small-24b-instruct-2501", "mistral-small-3", "mistral_v3"),
    ("mistral-small-3.2-24b-instruct", "mistral-small-3", "mistral_v3"),
    ("qwen2-72b-instruct", "qwen-2", "qwen3"),
    ("qwen2.5-72b-instruct", "qwen-2.5", "qwen3"),
    ("qwen2.5-vl-72b-instruct", "qwen-2", "qwen3"),
    ("qwen3-235b-a22b", "qwen-3", "qwen3"),
    ("qwen3-coder-480b-a35b-instruct", "qwen-3", "qwen3"),
    ("qwen3-235b-a22b-thinking-2507", "qwen-3-thinking", "qwen3"),
    ("qwq-32b", "qwen-3-thinking", "qwen3"),
    ("glm-4.5", "glm-4.5", "glm4"),
    ("glm-4.5-air", "glm-4.5", "glm4"),
    ("glm-4.6v", "glm-4.5", "glm4"),
    ("glm-4.7", "glm-4.5", "glm4"),
    ("kimi-k2-0905-preview", "kimi-k2", "kimi"),
    ("kimi-k2.5", "kimi-k2", "kimi"),
    ("kimi-k3", "kimi-k2", "kimi"),
    ("phi-4", "phi-4", "phi4"),
    ("phi-4-reasoning-plus", "phi-4", "phi4"),
    ("phi-3.5-mini-128k-instruct", "phi-3", "llama2"),
])
def test_a_known_vocabulary(model_id: str, family: str, tokenizer: str) -> None:
    found = find(model_id)
    assert found is not None
    assert (found.name, found.tokenizer, found.inferred) == (family, tokenizer, False)


@pytest.mark.parametrize(("model_id", "tokenizer"), [
    ("deepseek-chat", "deepseek_v3"), ("deepseek-reasoner", "deepseek_v3"), ("mistral-large-2512", "mistral_v3"),
    ("mistral-medium-3.1", "mistral_v3"), ("mistral-small-latest", "mistral_v3"), ("codestral-2508", "mistral_v3"),
    ("ministral-14b-2512", "mistral_v3"), ("magistral-medium-2509", "mistral_v3"), ("qwen-max", "qwen3"),
    ("qwen3-max", "qwen3"), ("glm-4-plus", "glm4"), ("kimi-latest", "kimi"), ("phi-4-mini-instruct", "o200k_base"),
])
def test_a_guessed_vocabulary_says_so(model_id: str, tokenizer: str) -> None:
    found = find(model_id)
    assert found is not None
    assert (found.tokenizer, found.inferred) == (tokenizer, True)


@pytest.mark.parametrize("model_id", [
    "llama-4-scout-17b-16e-instruct", "llama-guard-3-8b", "deepseek-v4-flash", "deepseek-coder-33b-instruct",
    "deepseek-flash", "qwen3.5-27b", "qwen3.8-max", "qwen-7b", "glm-5", "glm-4.7-flash", "glm-4.7-flashx",
    "mistral-embed", "mistral-ocr-2505", "codestral-embed-2505", "moonshot-v1-8k", "phi-3-small-8k-instruct", "phi-2",
    "gpt-4o", "claude-sonnet-4-5", "gemini-2.5-flash", "my-llama-3-8b", "xllama-2", "",
])
def test_no_row_without_a_vocabulary(model_id: str) -> None:
    assert find(model_id) is None


def test_names_are_unique_and_rules_are_templates() -> None:
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    assert all(isinstance(family.rules, ChatTemplate) and family.renderer == "plain" for family in FAMILIES)


@pytest.mark.parametrize("tail", ["-" * 5_000, "-a" * 2_500, "-thinking" * 500, ".1" * 2_500])
def test_no_name_takes_long(tail: str) -> None:
    for start in ("llama-3", "qwen3", "mistral-small", "deepseek-r1", "glm-4.7", "kimi-k2"):
        find(f"{start}{tail}\n")
