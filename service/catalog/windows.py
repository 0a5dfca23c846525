"""Context windows and output limits that the price list lacks or rounds.

Source: the providers' model pages as of 2026-11 (platform.openai.com/docs/models, platform.claude.com models overview,
ai.google.dev/gemini-api/docs/models). A model without a row has the window of the price list and no output limit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits in tokens; None when not known. `shared`: input and output share the window, else it is for input alone.

    `max_input` is set when the provider refuses inputs that are shorter than the window.
    """

    window: int | None = None
    max_input: int | None = None
    max_output: int | None = None
    shared: bool = True

    @property
    def longest_input(self) -> int | None:
        """The longest input that the provider accepts, whatever the length of the answer."""
        return self.window if self.max_input is None else self.max_input


def _row(
    pattern: str, window: int | None, max_output: int | None, max_input: int | None = None, shared: bool = True
) -> tuple[re.Pattern[str], Limits]:
    return re.compile(pattern), Limits(window, max_input, max_output, shared)


_LIMITS: tuple[tuple[re.Pattern[str], Limits], ...] = (
    # OpenAI: reasoning models of the gpt-5 line refuse inputs that leave no room for the longest answer.
    _row(r"gpt-3\.5-turbo-(?:instruct.*|0301|0613)", 4_096, 4_096),
    _row(r"gpt-3\.5-turbo.*", None, 4_096),
    _row(r"gpt-4-turbo.*|gpt-4-(?:0125|1106|vision).*|gpt-4o-2024-05-13", 128_000, 4_096),
    _row(r"gpt-4(?:-0314|-0613)?", 8_192, 8_192),
    _row(r"gpt-4-32k.*", 32_768, 32_768),
    _row(r"(?:chat)?gpt-4o(?:-mini)?(?:-latest|-search-preview|-audio-preview)?|gpt-4\.5-preview", 128_000, 16_384),
    _row(r"gpt-4\.1(?:-mini|-nano)?", 1_047_576, 32_768),
    _row(r"o1-mini", 128_000, 65_536),
    _row(r"o1-preview", 128_000, 32_768),
    _row(r"o[134](?:-mini|-pro|-deep-research|-mini-deep-research)?", 200_000, 100_000),
    _row(r"gpt-5(?:\.\d)?-chat|gpt-5\.3", 128_000, 16_384),
    _row(r"gpt-5-pro", 400_000, 272_000),
    _row(r"gpt-5(?:-mini|-nano|-codex)?|gpt-5\.4-(?:mini|nano)", 400_000, 128_000, 272_000),
    _row(r"gpt-5\.[123](?:-pro|-codex|-codex-max|-codex-mini|-mini)?", 400_000, 128_000, 272_000),
    _row(r"gpt-5\.[45](?:-pro)?|gpt-(?:5\.6|6|6\.1)-(?:sol|terra|luna|astra)", 1_050_000, 128_000, 922_000),
    # Anthropic: one window for both.
    _row(r"claude-(?:1.*|2|2\.0|instant.*)", 100_000, 4_096),
    _row(r"claude-2\.1|claude-3-(?:opus|sonnet|haiku)", 200_000, 4_096),
    _row(r"claude-3-5-.+", 200_000, 8_192),
    _row(r"claude-3-7-sonnet|claude-sonnet-4|claude-(?:opus|sonnet|haiku)-4-5", 200_000, 64_000),
    _row(r"claude-opus-4(?:-1)?", 200_000, 32_000),
    _row(r"claude-(?:opus|sonnet)-4-[678]|claude-(?:opus|sonnet|haiku|fable|mythos)-5(?:-\d)?", 1_000_000, 128_000),
    # Google: input and output have limits of their own.
    _row(r"gemini-1\.5-flash.*", 1_048_576, 8_192, shared=False),
    _row(r"gemini-1\.5-pro", 2_097_152, 8_192, shared=False),
    _row(r"gemini-2\.0-flash(?:-lite)?", 1_048_576, 8_192, shared=False),
    _row(r"gemini-(?:2\.5|3|3\.[1-8])-(?:pro|flash|flash-lite)(?:-preview(?:-\d\d-\d\d(?:\d\d)?)?)?", 1_048_576, 65_536,
         shared=False),
    _row(r"gemini-4-.+", 1_048_576, None, shared=False),
)


_OPEN_WINDOWS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"llama-2(?:-.+)?"), 4_096),
    (re.compile(r"llama-3(?:-.+)?"), 8_192),
    (re.compile(r"llama-3\.[1-3](?:-.+)?"), 131_072),
    (re.compile(r"code-?llama(?:-.+)?"), 16_384),
    (re.compile(r"(?:open-)?mi[sx]tral-(?:7b|8x7b)(?:-.+)?"), 32_768),
    (re.compile(r"(?:open-)?mixtral-8x22b(?:-.+)?"), 65_536),
    (re.compile(r"(?:open-)?mistral-nemo(?:-.+)?|pixtral-12b(?:-.+)?"), 131_072),
    (re.compile(r"deepseek-(?:v3|r1)(?:[.-].+)?"), 131_072),
    (re.compile(r"qwen2\.5-.+"), 131_072),
    (re.compile(r"qwen3-\d.+"), 131_072),
    (re.compile(r"glm-4\.5(?:-.+)?"), 131_072),
    (re.compile(r"glm-4\.[67](?:-.+)?"), 204_800),
    (re.compile(r"gpt-oss(?:-.+)?"), 131_072),
    (re.compile(r"gemma-3-(?:4|12|27)b(?:-.+)?"), 131_072),
    (re.compile(r"phi-4"), 16_384),
)
"""Open models, from their model cards. Hosts often serve a shorter window, so the number of a host comes first."""


def find_limits(model_id: str, listed_window: int | None) -> Limits:
    """The limits of a canonical id. `listed_window` is the window in the price list, used when no row has one."""
    for pattern, limits in _LIMITS:
        if pattern.fullmatch(model_id):
            return limits if limits.window is not None else replace(limits, window=listed_window)
    if listed_window is None:
        listed_window = next((window for pattern, window in _OPEN_WINDOWS if pattern.fullmatch(model_id)), None)
    return Limits(window=listed_window)
