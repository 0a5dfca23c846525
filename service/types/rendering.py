"""What a renderer makes of a prompt: texts to be counted, fixed costs, and what is not certain."""

from __future__ import annotations

from typing import Literal

from service.types.value import value

Section = Literal["system", "tools", "messages", "media", "schema", "frame"]
SECTIONS: tuple[Section, ...] = ("system", "tools", "messages", "media", "schema", "frame")

Edge = Literal["open", "inside", "end"]
"""Where a text stands. `open`: it opens and closes a turn by itself. `inside`: it is in the middle of a longer
document. `end`: it begins in the middle of one, and the prompt ends with it (a prefill). Only the tokenizers of Claude
3 and later count these differently."""

Feature = Literal[
    "media", "hosted", "tool_history", "tools", "documents", "schema", "thinking", "multi_turn", "system", "text"
]
FEATURES: tuple[Feature, ...] = (
    "media", "hosted", "tool_history", "tools", "documents", "schema", "thinking", "multi_turn", "system", "text",
)


@value
class Segment:
    """A text that the provider's template renders between two of its own special tokens, to be counted whole.

    `spans` is ((section, text), ...). What the template joins is joined before counting, since a token may reach across
    a joint. The tokens of a span are count(text up to its end) - count(text up to its start); the last takes the rest.
    """

    spans: tuple[tuple[Section, str], ...]
    edge: Edge = "open"

    @property
    def text(self) -> str:
        return self.spans[0][1] if len(self.spans) == 1 else "".join(text for _, text in self.spans)


@value
class Overhead:
    """A fixed cost of a section, in tokens. It may be negative. `rule` is a short stable name for docs and
    debugging."""

    section: Section
    tokens: int
    rule: str


@value
class Doubt:
    """For this reason the bill may differ by `low`..`high` tokens (low <= 0 <= high). It widens the error band."""

    low: int
    high: int
    reason: str


@value
class Uncounted:
    """Something that could not be counted from the body. `assumed_tokens` are in the total all the same."""

    path: str
    kind: str
    reason: str
    assumed_tokens: int = 0


@value
class Warned:
    """A repair or a choice made for the caller: a stable code, and the JSON path that it is about."""

    code: str
    path: str = ""


@value
class Rendering:
    """What the provider's template makes of a prompt. Pure data: no token has been counted yet.

    `rules` names the rule set that was applied, from a closed set (`openai-gpt5/chat`, `gemini-2.5/vertex`). Together
    with the prompt's main feature it is the class in the accuracy table. Media costs are overheads of section `media`.
    """

    segments: tuple[Segment, ...]
    overheads: tuple[Overhead, ...]
    rules: str
    uncounted: tuple[Uncounted, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    warnings: tuple[Warned, ...] = ()


# ---------------------------------------------------------------- what was counted before


@value
class CountedPrefix:
    """What was counted for a conversation without its newest messages. `details` are the tokens by section."""

    details: tuple[tuple[Section, int], ...] = ()
    features: frozenset[Feature] = frozenset()
    doubts: tuple[Doubt, ...] = ()
    uncounted: tuple[Uncounted, ...] = ()
    warnings: tuple[Warned, ...] = ()
