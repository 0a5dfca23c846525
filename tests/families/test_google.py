from __future__ import annotations

import re

import pytest

from service.families.google import FAMILIES, GooglePlatforms, GoogleRules

ROWS = {
    "gemini-1": [
        "gemini-1.0-pro", "gemini-1.5-flash", "gemini-1.5-pro-002", "gemini-1.5-flash-8b", "gemini-pro",
        "gemini-pro-vision",
    ],
    "gemini-2.0-thinking": ["gemini-2.0-flash-thinking-exp", "gemini-2.0-flash-thinking-exp-01-21"],
    "gemini-2.0-exp": ["gemini-2.0-flash-exp", "gemini-2.0-pro-exp-02-05", "gemini-2.0-flash-exp-image-generation"],
    "gemini-2.0": ["gemini-2.0-flash", "gemini-2.0-flash-001", "gemini-2.0-flash-lite-001", "learnlm-2.0-flash"],
    "gemini-2.5": [
        "gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite", "gemini-2.5-flash-preview-05-20",
        "gemini-2.5-flash-image", "gemini-2.5-flash-preview-tts", "gemini-live-2.5-flash", "gemini-robotics-er-1.5",
        "gemini-2.5-flash-native-audio-preview-09-2025", "gemini-2.5-computer-use-preview-10-2025",
    ],
    "gemini-3-image": ["gemini-3-pro-image", "gemini-3-pro-image-preview"],
    "gemini-3": ["gemini-3-pro-preview", "gemini-3-flash-preview", "gemini-3-flash-preview-0115"],
    "gemini-3.1": [
        "gemini-3.1-pro-preview", "gemini-3.1-flash-lite", "gemini-3.1-flash-image", "gemini-3.1-flash-live-preview",
    ],
    "gemini-3.5": ["gemini-3.5-flash", "gemini-3.5-flash-lite"],
    "gemini-3.6": ["gemini-3.6-flash", "gemini-3.7-flash", "gemini-3.8-flash-tts", "gemini-3.8-live"],
    "gemma-3": ["gemma-3-27b-it", "gemma-3n-e4b-it", "gemma-3"],
    "gemma-4": ["gemma-4-31b-it", "gemma-4-26b-a4b-it"],
    "gemini-embedding": ["gemini-embedding-001", "gemini-embedding-2-preview", "text-embedding-004", "embedding-001"],
    "gemini-4": ["gemini-4-argon", "gemini-4-carbon"],
    "gemini-next": ["gemini-5-xenon", "gemini-nano-banana-2.1", "gemini-omni-1.1-flash", "gemini-flash-latest"],
}


@pytest.mark.parametrize(("family", "name"), [(family, name) for family, names in ROWS.items() for name in names])
def test_a_name_has_its_row(family: str, name: str) -> None:
    found = next(row for row in FAMILIES if row.match.fullmatch(name))
    assert (found.name, found.provider, found.renderer, found.tokenizer) == (family, "google", "google", "gemma3")
    assert found.inferred == (family in ("gemini-4", "gemini-next"))


OTHERS = ["models/gemini-2.5-flash", "my-gemini-2.5", "gemini", "text-embedding-3-small", "imagen-4"]


@pytest.mark.parametrize("name", OTHERS)
def test_other_names_have_none_of_these(name: str) -> None:
    assert not [row for row in FAMILIES if row.match.fullmatch(name)]


def test_every_row_is_named_once_and_reachable() -> None:
    assert [row.name for row in FAMILIES] == list(dict.fromkeys(row.name for row in FAMILIES))
    assert {row.name for row in FAMILIES} == set(ROWS)


def test_the_names_of_rules_are_a_closed_set_that_says_the_platform() -> None:
    rules: dict[str, GoogleRules] = {}
    for row in FAMILIES:
        assert isinstance(row.rules, GooglePlatforms)
        for platform in ("gemini-api", "vertex"):
            one = row.rules.get_rules(platform)
            assert re.fullmatch(rf"gem(ini|ma)-[\w.-]+/{platform}", one.name)
            assert rules.setdefault(one.name, one) == one  # one name, one set of rules
    assert len(rules) > 20


def test_a_platform_that_is_not_named_is_the_gemini_api() -> None:
    rules = FAMILIES[0].rules
    assert isinstance(rules, GooglePlatforms)
    assert rules.get_rules(None) is rules.get_rules("gemini-api") is rules.gemini_api
    assert rules.get_rules("vertex") is rules.vertex
