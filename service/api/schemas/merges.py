"""How a text was merged into tokens, and how merges are learnt: the bodies, their limits, and the answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.api.schemas.base import Answer, Method
from service.api.schemas.counts import WarningItem
from service.api.schemas.tokenize import (
    BytesHex,
    ForTokenizer,
    Normaliser,
    OpenBody,
    Target,
    TokenItem,
    TokenText,
)

MAX_EXPLAINED = 2_000
"""Characters whose merges are shown: up to 16,000 nodes, 2 MB of JSON."""

MAX_CORPUS = 50_000
"""Characters; learning 1,000 merges from them takes 0.2 to 1 s."""

MAX_MERGES, MAX_TOP, MAX_ENCODED = 1_000, 100, 100

# ---------------------------------------------------------------- POST /v1/explain


class ExplainBody(Target):
    """A text whose merges are to be shown."""

    text: str = Field(description=f"At most {MAX_EXPLAINED} characters.")


class MergeNode(Answer):
    """A leaf, or the merge of two nodes. start and end are bytes of the pre-token; the lowest rank merges first."""

    id: int | None = Field(description="Null where the node is no token.")
    text: TokenText
    bytes_hex: BytesHex
    start: int
    end: int
    left: int | None = Field(description="Number of a node. Null for a leaf, as right and rank.")
    right: int | None
    rank: int | None


class SpelledToken(Answer):
    id: int
    text: TokenText
    bytes_hex: BytesHex


class OtherRule(Answer):
    """What the same vocabulary gives under the other kind of rule."""

    rule: Literal["ranks", "merge_list"]
    same: bool
    tokens: list[SpelledToken] = Field(description="Empty where the tokens are the same.")


class PreToken(Answer):
    """A stretch that is merged by itself.

    The first `leaves` nodes are what merging begins with, the others its merges in order: after k of them the row is
    every node so far that is no child of a merge so far. tokens is the row at the end.
    """

    text: str
    bytes_hex: None = Field(description="Always null: a pre-token is whole characters.")
    start: int
    end: int
    kind: Literal["text", "added"]
    whole: bool = Field(description="The pre-token is itself a token.")
    leaves: int
    nodes: list[MergeNode]
    tokens: list[int] = Field(description="Numbers of nodes.")
    other_rule: OtherRule | None = Field(description="Null where there is no other rule to compare with.")


class ExplainAnswer(ForTokenizer):
    """How the text was cut."""

    method: Method
    count: int
    altered: bool
    normaliser: list[Normaliser]
    algorithm: Literal["ranks", "merge_list", "tiling", "bundled"]
    about: str
    steps_missing: Literal["tiling", "bundled", "not_reproduced"] | None = Field(
        description="Why there are no steps to show. Null where there are."
    )
    pre_tokens: list[PreToken] | None = Field(description="Null where there are no steps to show.")
    tokens: list[TokenItem]


# ---------------------------------------------------------------- POST /v1/bpe/train


class TrainBody(OpenBody):
    """A corpus to learn merges from, and texts to encode with them."""

    corpus: str = Field(description=f"At most {MAX_CORPUS} characters.")
    merges: int = Field(ge=1, le=MAX_MERGES, description="Most merges to learn.")
    level: Literal["byte", "character"] = Field(
        "byte", description="Bytes of letters, digits, symbols, blanks; or characters of words with a mark at the end."
    )
    ties: Literal["first_counted", "lowest_ids"] = Field(
        "first_counted", description="Which of equally frequent pairs merges; Hugging Face's trainer takes lowest_ids."
    )
    top: int = Field(20, ge=0, le=MAX_TOP, description="Most pairs to show with each step.")
    encode: list[str] = Field(
        [], description=f"At most {MAX_ENCODED} texts, together at most {MAX_EXPLAINED} characters."
    )


class PairCount(Answer):
    left: int
    right: int
    count: int


class TrainStep(Answer):
    """A merge: the pair, how often it stood in the corpus (tied: as often as another), the new token's id."""

    step: int
    left: int
    right: int
    count: int
    tied: bool
    id: int
    text: TokenText
    bytes_hex: BytesHex
    pairs: list[PairCount] = Field(description="The most frequent pairs before it, the chosen one first.")
    distinct_pairs: int
    tokens: int = Field(description="Length of the corpus after it.")


class WordCount(Answer):
    text: str
    count: int


class CorpusFacts(Answer):
    """What the corpus holds before the first merge."""

    characters: int
    pre_tokens: int
    distinct: int = Field(description="Distinct pre-tokens.")
    tokens: int
    words: list[WordCount] = Field(description="The first distinct pre-tokens, in order of appearance.")


class VocabularyItem(Answer):
    """A token: of the alphabet, or the merge of two others."""

    id: int
    text: TokenText
    bytes_hex: BytesHex
    left: int | None = Field(description="Null for a token of the alphabet, as right.")
    right: int | None


class EncodedText(Answer):
    """A text of encode, cut by the merges that were learnt."""

    text: str
    ids: list[int | None] = Field(description="Null for a character that the corpus never had.")
    pre_tokens: list[PreToken]


class TrainAnswer(Answer):
    """The merges, step by step, and the vocabulary that they make."""

    level: Literal["byte", "character"]
    ties: Literal["first_counted", "lowest_ids"]
    end_of_word: str | None = Field(description="The mark at the end of a word. Null where level is byte.")
    warnings: list[WarningItem]
    corpus: CorpusFacts
    steps: list[TrainStep]
    stopped: Literal["merges", "no_pairs"] = Field(description="Why there are no more steps.")
    vocabulary: list[VocabularyItem]
    encoded: list[EncodedText]
