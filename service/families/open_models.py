"""Families of open models whose vocabularies are in the data. Their chat templates are public.

The constants are the control tokens of the templates that were published with the models (tokenizer_config.json of
each, as of November 2026), counted with the vocabulary of the family. What a host bills can differ, so these counts are
estimates. There is no row for a model whose vocabulary is not in the data (Llama 4, DeepSeek V4, Qwen 3.5 and later,
GLM 5 and 4.7-Flash, embedding models of Mistral). Gemma is with the Google families.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from service.families.base import Family

ToolForm = Literal["lines", "list", "compact", "indented", "sections"]
"""How tool definitions are written: one JSON object a line, one JSON list, one JSON list without blanks, JSON indented
by four, or sections in Markdown."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message. `tokens` are its control tokens, role word and line ends. `before` and `after` are joined to its text.
    """

    tokens: int
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """How the template of a family writes a conversation. All numbers are tokens."""

    user: Turn
    assistant: Turn
    tool: Turn
    reply: int
    """Opens the answer."""
    system: Turn = Turn(0)
    system_wrap: tuple[str, str] | None = None
    """Where given, the system prompt has no turn: it stands between these two texts inside the first user message."""
    start: int = 0
    """Opens the prompt (bos)."""
    preamble: int = 0
    """At the top of the system turn, with or without a system prompt of the caller."""
    default_system: int = 0
    """The system prompt that the template writes where the caller has none."""
    tools: int = 0
    """Around the tool definitions."""
    tool_form: ToolForm = "lines"
    call: int = 4
    """Around the JSON of a call."""
    trims: bool = False
    """Blanks around a text are dropped."""


# Header, role word, end of header, end of turn. The role of a tool is "ipython", which is two tokens.
_LLAMA_3 = ChatTemplate(
    system=Turn(4, "\n\n"), user=Turn(4, "\n\n"), assistant=Turn(4, "\n\n"), tool=Turn(5, "\n\n"), reply=4,
    start=1, tools=51, tool_form="indented", call=0, trims=True,
)
# Two lines with the knowledge date and the current date are always there: "hello" alone is 36 tokens.
_LLAMA_3_1 = replace(_LLAMA_3, preamble=20, tools=51 + 5)

_LLAMA_2 = ChatTemplate(
    user=Turn(1, "[INST] ", " [/INST]"), assistant=Turn(1), tool=Turn(1, "[INST] ", " [/INST]"), reply=0,
    system_wrap=("<<SYS>>\n", "\n<</SYS>>\n\n"), tool_form="list", trims=True,
)

# [INST] was plain text in the first vocabulary. From the second on it is one control token, and tools have their own.
_MISTRAL_V1 = ChatTemplate(
    user=Turn(0, "[INST] ", " [/INST]"), assistant=Turn(1), tool=Turn(0, "[INST] ", " [/INST]"), reply=0,
    system_wrap=("", "\n\n"), start=1, tool_form="list",
)
_MISTRAL_V3 = ChatTemplate(
    user=Turn(2), assistant=Turn(1), tool=Turn(2), reply=0, system_wrap=("", "\n\n"), start=1,
    tools=2, tool_form="list", call=2,
)
_MISTRAL_V7 = replace(_MISTRAL_V3, system=Turn(2), system_wrap=None)

_DEEPSEEK_V3 = ChatTemplate(
    user=Turn(1), assistant=Turn(2), tool=Turn(4), reply=1, start=1, tools=12 + 90, tool_form="sections", call=5,
)
_DEEPSEEK_V3_1 = replace(_DEEPSEEK_V3, assistant=Turn(3), reply=2)
_DEEPSEEK_R1 = replace(_DEEPSEEK_V3, reply=3)

# ChatML: start, end and the line end after it. The answer of a tool is a user turn with two tags of one token each.
_QWEN_3 = ChatTemplate(
    system=Turn(3, "system\n"), user=Turn(3, "user\n"), assistant=Turn(3, "assistant\n"), tool=Turn(7, "\n", "\n"),
    reply=3, tools=78,
)
_QWEN_2 = replace(_QWEN_3, default_system=6)
_QWEN_2_5 = replace(_QWEN_3, default_system=16)
_QWEN_THINKING = replace(_QWEN_3, reply=5)

_GLM_4 = ChatTemplate(
    system=Turn(1, "\n"), user=Turn(1, "\n"), assistant=Turn(4, "\n"), tool=Turn(4, "\n", "\n"), reply=1, start=2,
    tools=37 + 64,
)

_KIMI_K2 = ChatTemplate(
    system=Turn(4), user=Turn(4), assistant=Turn(4), tool=Turn(14), reply=3, default_system=14,
    tools=6, tool_form="compact", call=5 + 6,
)

_PHI_4 = ChatTemplate(system=Turn(4), user=Turn(4), assistant=Turn(4), tool=Turn(4), reply=3, tool_form="list")
_PHI_3 = ChatTemplate(
    system=Turn(2), user=Turn(2), assistant=Turn(2), tool=Turn(2), reply=1, start=1, tools=2, tool_form="list"
)
_PHI_4_MINI = replace(_PHI_3, start=0)


def _row(
    name: str, provider: str, tokenizer: str, rules: ChatTemplate, match: str, *, inferred: bool = False
) -> Family:
    return Family(name, provider, re.compile(match), tokenizer, "plain", rules, inferred)


_TAIL = r"(?:[-.:].+)?"

FAMILIES: tuple[Family, ...] = (
    # A distilled model has the vocabulary of the model that it was distilled into.
    _row("deepseek-r1-llama", "deepseek", "llama3", _DEEPSEEK_R1, rf"deepseek-r1-distill-llama{_TAIL}"),
    _row("deepseek-r1-qwen", "deepseek", "qwen3", _DEEPSEEK_R1, rf"deepseek-r1-(?:distill|0528)-qwen3?{_TAIL}"),
    _row("deepseek-r1", "deepseek", "deepseek_v3", _DEEPSEEK_R1, rf"deepseek-r1(?!-distill){_TAIL}"),
    _row("deepseek-v3.1", "deepseek", "deepseek_v3", _DEEPSEEK_V3_1, rf"deepseek-(?:chat-)?v3\.[12]{_TAIL}"),
    _row("deepseek-v3", "deepseek", "deepseek_v3", _DEEPSEEK_V3, r"deepseek-(?:(?:chat-)?v3|prover-v2)(?:-.+)?"),
    _row(  # names for the newest model: this is V4 now, whose vocabulary is larger
        "deepseek-hosted", "deepseek", "deepseek_v3", _DEEPSEEK_V3_1, rf"deepseek-(?:chat|reasoner){_TAIL}",
        inferred=True,
    ),
    _row("codellama", "meta", "llama2", _LLAMA_2, rf"code-?llama{_TAIL}"),
    _row("llama-2", "meta", "llama2", _LLAMA_2, r"llama-2(?:-.+)?"),
    _row("llama-3.1", "meta", "llama3", _LLAMA_3_1, r"llama-3\.[1-3](?:-.+)?"),
    _row("llama-3", "meta", "llama3", _LLAMA_3, r"llama-3(?:-.+)?"),
    _row(
        "mistral-v1", "mistral", "mistral_v1", _MISTRAL_V1,
        r"mistral-7b-(?:instruct-)?v0\.[12]|(?:open-)?mixtral-8x7b(?:-.+)?|mistral-(?:tiny|small|medium)-2312",
    ),
    _row(  # the second and third vocabularies split text alike
        "mistral-v3", "mistral", "mistral_v2", _MISTRAL_V3,
        r"(?:open-)?mistral-7b(?:-instruct)?(?:-v0\.3)?|(?:open-)?mixtral-8x22b(?:-.+)?|mistral-(?:small|large)-24\d\d"
        r"|codestral-(?:22b(?:-.+)?|2405)|(?:mathstral|codestral-mamba)(?:-.+)?",
    ),
    _row(
        "mistral-nemo", "mistral", "mistral_v3", _MISTRAL_V3,
        r"(?:open-)?mistral-nemo(?:-.+)?|pixtral-12b(?:-.+)?|ministral-\d+b(?:-(?:instruct-)?24\d\d)?",
    ),
    _row(
        "mistral-small-3", "mistral", "mistral_v3", _MISTRAL_V7,
        r"mistral-small-(?:24b(?:-.+)?|25\d\d|3(?:\.[12])?(?:-.+)?)|(?:devstral|magistral)-small(?:-.*25(?:0[5-9]))?",
    ),
    _row(  # models that only Mistral serves, or with a later vocabulary of the same kind
        "mistral-hosted", "mistral", "mistral_v3", _MISTRAL_V7,
        r"(?:mistral-(?:large|medium|small|saba|tiny)|ministral|codestral(?!-embed)|devstral|magistral|pixtral|voxtral)"
        r"(?:-.+)?",
        inferred=True,
    ),
    _row("qwen-2", "alibaba", "qwen3", _QWEN_2, r"qwen(?:1\.5|2|2\.5-vl)(?:-.+)?"),
    _row("qwen-2.5", "alibaba", "qwen3", _QWEN_2_5, r"qwen2\.5(?:-.+)?"),
    _row("qwen-3-thinking", "alibaba", "qwen3", _QWEN_THINKING, r"qwq-\d+b(?:-.+)?|qwen3-.+-thinking(?:-.+)?"),
    _row(
        "qwen-hosted", "alibaba", "qwen3", _QWEN_3,
        r"qwen3-(?:max|coder-(?:plus|flash))(?:-.+)?|qw(?:en|q)-(?:max|plus|turbo|flash|long|vl|mt|omni|coder)(?:-.+)?",
        inferred=True,
    ),
    _row("qwen-3", "alibaba", "qwen3", _QWEN_3, r"qwen3(?:-.+)?"),
    _row("glm-4.5", "zai", "glm4", _GLM_4, r"glm-4\.[56](?:v?(?:-.+)?)|glm-4\.7(?!-flash)(?:-.+)?"),
    _row("glm-4", "zai", "glm4", _GLM_4, r"glm-(?:4v?|z1)(?:-.+)?", inferred=True),
    _row("kimi-k2", "moonshotai", "kimi", _KIMI_K2, r"kimi-k[23](?:\.\d)?(?:-.+)?"),
    _row("kimi-hosted", "moonshotai", "kimi", _KIMI_K2, r"kimi-latest", inferred=True),
    _row("phi-4-mini", "azure", "o200k_base", _PHI_4_MINI, r"phi-4-(?:mini|multimodal)(?:-.+)?", inferred=True),
    _row("phi-4", "azure", "phi4", _PHI_4, r"phi-4(?:-.+)?"),
    _row("phi-3", "azure", "llama2", _PHI_3, r"phi-3(?:\.5)?-(?:mini|medium|vision)(?:-.+)?"),
)
