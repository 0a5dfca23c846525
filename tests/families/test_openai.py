from __future__ import annotations

import re

import pytest

from service.families import find_family
from service.families.openai import FAMILIES
from service.tokenizers import registry


@pytest.mark.parametrize(
    ("family", "ids"),
    [
        ("gpt-3.5", "gpt-3.5-turbo gpt-3.5-turbo-0125 gpt-3.5-turbo-16k-0613 gpt-35-turbo gpt-3.5-turbo-0301"),
        ("gpt-4", "gpt-4 gpt-4-0613 gpt-4-32k-0314 gpt-4-turbo-2024-04-09 gpt-4-1106-vision-preview gpt-4-preview"),
        ("gpt-4o", "gpt-4o gpt-4o-2024-05-13 chatgpt-4o-latest gpt-4.5-preview-2025-02-27 gpt-4o-realtime-preview"),
        ("gpt-4o", "gpt-4o-audio-preview-2025-06-03 ft:gpt-4o-2024-08-06:org::id gpt-4o-transcribe"),
        ("gpt-4o-mini", "gpt-4o-mini gpt-4o-mini-2024-07-18 gpt-4o-mini-realtime-preview gpt-4o-mini-tts"),
        ("gpt-4o-search", "gpt-4o-search-preview gpt-4o-search-preview-2025-03-11"),
        ("gpt-4o-mini-search", "gpt-4o-mini-search-preview-2025-03-11"),
        ("gpt-4.1", "gpt-4.1 gpt-4.1-2025-04-14"),
        ("gpt-4.1-mini", "gpt-4.1-mini gpt-4.1-mini-2025-04-14"),
        ("gpt-4.1-nano", "gpt-4.1-nano-2025-04-14"),
        ("gpt-audio", "gpt-audio-2025-08-28 gpt-audio-mini gpt-realtime gpt-realtime-2 gpt-realtime-mini gpt-live-1"),
        ("gpt-image", "gpt-image-1 gpt-image-1-mini gpt-image-1.5 chatgpt-image-latest"),
        ("o1-mini", "o1-mini o1-mini-2024-09-12 o1-preview"),
        ("o", "o1 o1-pro o3 o3-mini-2025-01-31 o3-deep-research"),
        ("o4-mini", "o4-mini o4-mini-2025-04-16 o4-mini-deep-research codex-mini-latest"),
        ("gpt-5-chat", "gpt-5-chat-latest gpt-5.2-chat gpt-5.1-chat-latest gpt-chat-latest"),
        ("gpt-5", "gpt-5 gpt-5-2025-08-07 gpt-5-pro gpt-5-codex gpt-5-search-api"),
        ("gpt-5-mini", "gpt-5-mini gpt-5-mini-2025-08-07 gpt-5.1-codex-mini"),
        ("gpt-5-nano", "gpt-5-nano-2025-08-07"),
        ("gpt-5.1", "gpt-5.1 gpt-5.1-codex-max gpt-5.1-2025-11-13"),
        ("gpt-5.2", "gpt-5.2-2025-12-11 gpt-5.2-pro gpt-5.3-codex"),
        ("gpt-5.4", "gpt-5.4 gpt-5.4-mini gpt-5.4-nano-2026-03-17 gpt-5.4-pro"),
        ("gpt-5.5", "gpt-5.5-2026-04-23 gpt-5.5-pro"),
        ("gpt-5.6", "gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna"),
        ("gpt-6", "gpt-6-astra gpt-6-luna gpt-6.1-sol gpt-6.1-terra"),
        ("gpt-oss", "gpt-oss-20b gpt-oss-120b gpt-oss-safeguard-20b"),
        ("openai-embedding", "text-embedding-ada-002 text-embedding-ada-002-v2 text-embedding-3-small"),
        ("openai-completion", "davinci-002 babbage-002 babbage:2023-07-21-v2 gpt-3.5-turbo-instruct:20230824-v2"),
        ("openai-davinci", "text-davinci-002 text-davinci-003 code-davinci-002"),
        ("openai-edit", "text-davinci-edit-001"),
        ("openai-gpt3", "davinci ada text-curie-001 text-similarity-davinci-001 text-search-ada-doc-001"),
        ("openai-gpt2", "gpt2 gpt-2"),
        ("gpt-5-other", "gpt-5.9 gpt-7 gpt-5.8-orion gpt-10-mini"),
        ("gpt-4o-other", "gpt-4o-something gpt-4.7-mini"),
        ("o-other", "o5 o5-mini-2027-01-01 o3-ultra"),
    ],
)
def test_ids_of_a_family(family: str, ids: str) -> None:
    for name in ids.split():
        found = find_family(name)
        assert found is not None, name
        assert (name, found.name) == (name, family)


@pytest.mark.parametrize(
    "name", ["my-8k-o1-bot", "o1bot", "turbo-gpt-4", "gpt", "gpt-", "gpt-4o_mini", "xo1", "o0", "gpt5x", ""]
)
def test_names_that_only_contain_a_known_one_are_not_openai(name: str) -> None:
    assert not any(family.match.fullmatch(name) for family in FAMILIES)


def test_only_catch_alls_and_unmeasured_generations_are_inferred() -> None:
    assert {family.name for family in FAMILIES if family.inferred} == {
        "gpt-6", *(family.name for family in FAMILIES if family.name.endswith("-other")),
    }


def test_names_are_a_closed_set_and_tokenizers_exist() -> None:
    known = {row.name for row in registry.describe()} if hasattr(registry, "describe") else None
    for family in FAMILIES:
        assert re.fullmatch(r"[a-z0-9.-]+", family.name)
        assert (family.provider, family.renderer) == ("openai", "openai")
        assert known is None or family.tokenizer in known


@pytest.mark.parametrize(
    ("name", "tokenizer"),
    [
        ("gpt-3.5-turbo", "cl100k_base"), ("gpt-4", "cl100k_base"), ("gpt-4o", "o200k_base"), ("gpt-5", "o200k_base"),
        ("gpt-oss-20b", "o200k_harmony"), ("text-davinci-003", "p50k_base"), ("davinci", "r50k_base"), ("gpt2", "gpt2"),
        ("text-davinci-edit-001", "p50k_edit"), ("o3", "o200k_base"), ("text-embedding-3-large", "cl100k_base"),
    ],
)
def test_tokenizers(name: str, tokenizer: str) -> None:
    family = find_family(name)
    assert family is not None
    assert family.tokenizer == tokenizer
    assert registry.get_tokenizer(tokenizer).count("Hello") > 0


def test_a_long_name_is_matched_in_no_time() -> None:
    name = "gpt-4" + "-2024-01-01-latest-preview" * 9 + "!"
    assert find_family(name) is None
