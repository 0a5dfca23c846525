"""How the same model is spelled in different places: rows that turn a spelling into the canonical id.

A row fits the whole name or does nothing. Nothing is searched for inside a name. Each row is tried once, in order, on
the result of the rows before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spelling:
    """A row. `name` is shown to callers, `match` fits whole lower-case names, `to` is the result (groups as in re)."""

    name: str
    match: re.Pattern[str]
    to: str


def _row(name: str, pattern: str, to: str = r"\1") -> Spelling:
    return Spelling(name, re.compile(pattern), to)


_LINE = r"(opus|sonnet|haiku|fable|mythos)"
_TAIL = r"((?:[-@:\[].*)?)"
_OPEN = r"(?:llama|codellama|qwen|qwq|gemma|phi|mistral|mixtral|ministral|deepseek|gpt-oss|glm|kimi)"

SPELLINGS: tuple[Spelling, ...] = (
    # Fine-tunes: template and tokenizer are those of the base model.
    _row("fine-tune", r"ft:([a-z0-9.-]+)(?::[^:]*){1,4}"),
    _row("fine-tune", r"(gpt-[a-z0-9.-]+?|o\d[a-z0-9.-]*?)\.ft-[a-z0-9-]+"),
    _row("fine-tune", r"(ada|babbage|curie|davinci):ft-[a-z0-9-]+(?::.*)?"),
    # Variants that only choose a route, a price or a longer window.
    _row("route", r"(.+):(?:free|beta|nitro|floor|online|exacto|extended|thinking|batch)"),
    _row("long-context", r"(claude-.+)(?:\[1m\]|-1m)"),
    # Versions that clouds append.
    _row("cloud-version", r"(mi[sx]tral-.+-v0):(\d)", r"\1.\2"),
    _row("cloud-version", r"claude-(instant-)?v(\d)(?::0)?(?::\d+k)?", r"claude-\1\2"),
    _row("cloud-version", r"claude-(instant-)?v(\d)[:.](\d)(?::\d+k)?", r"claude-\1\2.\3"),
    _row("cloud-version", r"(.+?)-v\d+:\d+(?::\d+k)?"),
    _row("cloud-version", r"((?:claude|nova|titan)-.+)-v\d"),
    _row("cloud-version", r"(gpt-oss-\d+b)-\d:\d"),
    _row("cloud-version", r"(.+)@(?:latest|default)"),
    _row("cloud-version", r"(.+)@(\d{3}|\d{8})", r"\1-\2"),
    _row("cloud-version", r"(.+)-maas"),
    # Claude: dots, and the word orders of the older generations and of other catalogs.
    _row("claude-version", rf"claude-{_LINE}-([4-9])\.(\d){_TAIL}", r"claude-\1-\2-\3\4"),
    _row("claude-order", rf"claude-([4-9])[.-](\d)-{_LINE}{_TAIL}", r"claude-\3-\1-\2\4"),
    _row("claude-order", rf"claude-([4-9])-{_LINE}{_TAIL}", r"claude-\2-\1\3"),
    _row("claude-version", rf"claude-3\.([57])-{_LINE}{_TAIL}", r"claude-3-\1-\2\3"),
    _row("claude-order", rf"claude-{_LINE}-3[.-]([57]){_TAIL}", r"claude-3-\2-\1\3"),
    _row("claude-order", rf"claude-{_LINE}-3{_TAIL}", r"claude-3-\1\2"),
    _row("claude-version", rf"claude-{_LINE}-([4-9])-0{_TAIL}", r"claude-\1-\2\3"),
    _row("claude-version", r"claude-(instant-)?([12])-(\d)", r"claude-\1\2.\3"),
    # OpenAI: Azure writes no dots, LiteLLM and OpenRouter write dates without dashes.
    _row("gpt-version", r"gpt-35(-.+)", r"gpt-3.5\1"),
    _row("gpt-version", r"gpt-4-1((?:-(?:mini|nano|2025)(?:-.+)?)?)", r"gpt-4.1\1"),
    _row("gpt-version", r"gpt-([5-9])-(\d)((?:-.+)?)", r"gpt-\1.\2\3"),
    _row("gpt-version", r"chat-latest", "gpt-chat-latest"),
    _row("gpt-date", r"((?:gpt|chatgpt|o\d)[a-z0-9.-]*)-(20\d\d)(\d\d)(\d\d)", r"\1-\2-\3-\4"),
    _row("effort", r"(o\d(?:-mini|-pro)?)-(?:low|medium|high)"),
    # Gemini: OpenRouter's old word order.
    _row("gemini-order", r"gemini-(flash|pro)-(1\.[05])((?:-.+)?)", r"gemini-\2-\1\3"),
    # Open models: ollama's tags, hosts that write p for a dot, versions with or without a dash.
    _row("ollama-tag", rf"({_OPEN}[a-z0-9.-]*):(\d[a-z0-9._-]*)", r"\1-\2"),
    _row("ollama-tag", rf"({_OPEN}[a-z0-9.-]*):latest"),
    _row("llama-version", r"(?:meta-)?llama-?v?([2-9])[.p-](\d)((?:-.+)?)", r"llama-\1.\2\3"),
    _row("llama-version", r"(?:meta-)?llama-?v?([2-9])((?:-.+)?)", r"llama-\1\2"),
    _row("deepseek-version", r"deepseek[-_]([vr]\d)[.p-](\d)((?:-.+)?)", r"deepseek-\1.\2\3"),
    _row("deepseek-version", r"deepseek_(.+)", r"deepseek-\1"),
    _row("glm-version", r"(?:zai-)?glm-([4-9])[.p-](\d)((?:[-v].*)?)", r"glm-\1.\2\3"),
    _row("glm-version", r"zai-(glm-.+)"),
    _row("kimi-version", r"kimi-k(\d)[.p-](\d)((?:-.+)?)", r"kimi-k\1.\2\3"),
    _row("qwen-version", r"qwen-?(\d)[.p-]?(\d)((?:-.+)?)", r"qwen\1.\2\3"),
    _row("qwen-version", r"qwen-([2-9])((?:-.+)?)", r"qwen\1\2"),
    _row("gemma-version", r"gemma([2-9]n?)((?:-.+)?)", r"gemma-\1\2"),
    _row("phi-version", r"phi([2-9](?:\.\d)?)((?:-.+)?)", r"phi-\1\2"),
    _row("minimax-version", r"minimax-m(\d)p(\d)((?:-.+)?)", r"minimax-m\1.\2\3"),
    _row("weights", rf"({_OPEN}[a-z0-9.-]+)-(?:fp8|bf16|fp16|awq|gguf|int4|nvfp4)(?:-fast|-\dbit)?"),
)


def spell(name: str) -> tuple[str, tuple[str, ...]]:
    """(canonical spelling of `name`, names of the rows that changed it). `name` is lower-case ASCII without a host."""
    rules: list[str] = []
    for row in SPELLINGS:
        fit = row.match.fullmatch(name)
        if fit is None:
            continue
        spelled = fit.expand(row.to)
        if spelled != name:
            name = spelled
            if row.name not in rules:
                rules.append(row.name)
    return name, tuple(rules)
