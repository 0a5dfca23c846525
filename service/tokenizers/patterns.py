"""The patterns by which OpenAI's tokenizers cut text before merging, and their special tokens, as tiktoken 0.14.0
publishes them (MIT)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

END_OF_TEXT, END_OF_PROMPT = "<|endoftext|>", "<|endofprompt|>"
FIM_PREFIX, FIM_MIDDLE, FIM_SUFFIX = "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"

_GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
_CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|"""
    r"""\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)
_O200K = "|".join((
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""\p{N}{1,3}""",
    r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
    r"""\s*[\r\n]+""",
    r"""\s+(?!\S)""",
    r"""\s+""",
))


@dataclass(frozen=True, slots=True)
class RankPattern:
    """`newlines_apart`: a run of white space is cut after its last newline."""

    regex: str
    specials: Mapping[str, int]
    newlines_apart: bool


_O200K_SPECIALS = {END_OF_TEXT: 199999, END_OF_PROMPT: 200018}
_HARMONY_NAMED = {
    "<|startoftext|>": 199998, "<|return|>": 200002, "<|constrain|>": 200003, "<|channel|>": 200005,
    "<|start|>": 200006, "<|end|>": 200007, "<|message|>": 200008, "<|call|>": 200012,
}
_HARMONY_RESERVED = {
    f"<|reserved_{number}|>": number
    for number in (200000, 200001, 200004, 200009, 200010, 200011, *range(200013, 201088))
}

RANK_PATTERNS: dict[str, RankPattern] = {
    "o200k_base": RankPattern(_O200K, _O200K_SPECIALS, newlines_apart=True),
    "o200k_harmony": RankPattern(_O200K, _O200K_SPECIALS | _HARMONY_NAMED | _HARMONY_RESERVED, newlines_apart=True),
    "cl100k_base": RankPattern(
        _CL100K,
        {END_OF_TEXT: 100257, FIM_PREFIX: 100258, FIM_MIDDLE: 100259, FIM_SUFFIX: 100260, END_OF_PROMPT: 100276},
        newlines_apart=True,
    ),
    "p50k_base": RankPattern(_GPT2, {END_OF_TEXT: 50256}, newlines_apart=False),
    "p50k_edit": RankPattern(
        _GPT2, {END_OF_TEXT: 50256, FIM_PREFIX: 50281, FIM_MIDDLE: 50282, FIM_SUFFIX: 50283}, newlines_apart=False
    ),
    "r50k_base": RankPattern(_GPT2, {END_OF_TEXT: 50256}, newlines_apart=False),
    "gpt2": RankPattern(_GPT2, {END_OF_TEXT: 50256}, newlines_apart=False),
}
