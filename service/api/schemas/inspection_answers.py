"""What the inspecting routes answer, as pydantic models: they describe it in OpenAPI, nothing else needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from service.dialects.native_schema import ErrorBand, WarningItem


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)


class _Head(_Answer):
    model: str | None
    model_ref: str | None
    model_match: Literal["known", "alias", "inferred"] | None
    provider: str | None
    tokenizer: str
    tokenizer_revision: str
    warnings: list[WarningItem]


class Spelling(_Answer):
    """text, or, where the bytes are not whole characters, bytes_hex; the other is null."""

    text: str | None
    bytes_hex: str | None


NormaliserCode = Literal[
    "nfkc", "nfc", "controls_removed", "plain_spaces", "plain_quotes", "mark_is_blank", "blank_in_front"
]


# ---------------------------------------------------------------- tokenize


class TokenItem(Spelling):
    """A token. start to end are the characters of the input that it holds all or part of; id is null where the
    vocabulary is not published."""

    id: int | None
    start: int
    end: int
    special: bool = Field(False, description="Only where true: it is a special token.")


class ColumnException(Spelling):
    """A token that is not the whole characters start to end of the input; index is its number in the text."""

    index: int


class TokenColumns(_Answer):
    """The page as arrays. A token is the input from start to end, unless it is one of the exceptions."""

    ids: list[int] | None
    starts: list[int]
    ends: list[int]
    exceptions: list[ColumnException]


class TokenizeAnswer(_Head):
    """count is of the whole text and equals /v1/countTokens. Where altered, the tokenizer changed the text before it
    cut it (normaliser says in what ways it may): token texts are of the changed text, places still of the input."""

    method: Literal["exact", "calibrated", "estimate"]
    error_band: ErrorBand
    count: int
    characters: int
    bytes: int
    has_ids: bool
    altered: bool
    normaliser: list[NormaliserCode]
    offset: int
    next_offset: int | None
    tokens: list[TokenItem] | None
    columns: TokenColumns | None


# ---------------------------------------------------------------- detokenize


class StreamedPiece(Spelling):
    """An id and its bytes; emit is what may be shown once it has come, held_hex the bytes held back after it because
    they are the beginning of a character."""

    id: int
    emit: str
    held_hex: str
    special: bool = Field(False, description="Only where true: it is a special token.")


class DetokenizeAnswer(_Head):
    """The emitted texts and rest, joined, are text. valid is false where bytes are no UTF-8 and became U+FFFD."""

    count: int
    text: str
    valid: bool
    pieces: list[StreamedPiece] | None
    rest: str


# ---------------------------------------------------------------- explain


class MergeNode(Spelling):
    """A leaf, or the merge of two nodes. start and end are bytes of the pre-token; the lowest rank merges first."""

    id: int | None
    start: int
    end: int
    left: int | None
    right: int | None
    rank: int | None


class SpelledToken(Spelling):
    id: int


class OtherRuleItem(_Answer):
    """What the same vocabulary gives under the other kind of rule; tokens is empty where that is the same."""

    rule: Literal["ranks", "merge_list"]
    same: bool
    tokens: list[SpelledToken]


class PreTokenItem(Spelling):
    """A stretch that is merged by itself. The first `leaves` nodes are what merging begins with, the others its merges
    in order: after k of them the row is every node so far that is no child of a merge so far. tokens is the row at the
    end."""

    start: int
    end: int
    kind: Literal["text", "added"]
    whole: bool
    leaves: int
    nodes: list[MergeNode]
    tokens: list[int]
    other_rule: OtherRuleItem | None


class ExplainAnswer(_Head):
    """pre_tokens is null where there are no steps to show, and steps_missing says why."""

    method: Literal["exact", "calibrated", "estimate"]
    count: int
    altered: bool
    normaliser: list[NormaliserCode]
    algorithm: Literal["ranks", "merge_list", "tiling", "bundled"]
    about: str
    steps_missing: Literal["tiling", "bundled", "not_reproduced"] | None
    pre_tokens: list[PreTokenItem] | None
    tokens: list[TokenItem]


# ---------------------------------------------------------------- train


class PairCount(_Answer):
    left: int
    right: int
    count: int


class TrainStep(Spelling):
    """A merge: the pair, how often it stood in the corpus (tied: as often as another), the new token's id. pairs are
    the most frequent before it, the chosen one first; tokens is the length of the corpus after it."""

    step: int
    left: int
    right: int
    count: int
    tied: bool
    id: int
    pairs: list[PairCount]
    distinct_pairs: int
    tokens: int


class WordCount(_Answer):
    text: str
    count: int


class CorpusFacts(_Answer):
    """tokens is its length before the first merge; words are the first distinct pre-tokens, in order of appearance."""

    characters: int
    pre_tokens: int
    distinct: int
    tokens: int
    words: list[WordCount]


class VocabularyItem(Spelling):
    id: int
    left: int | None
    right: int | None


class EncodedText(_Answer):
    """ids has null for a character that the corpus never had."""

    text: str
    ids: list[int | None]
    pre_tokens: list[PreTokenItem]


class TrainAnswer(_Answer):
    level: Literal["byte", "character"]
    ties: Literal["first_counted", "lowest_ids"]
    end_of_word: str | None
    warnings: list[WarningItem]
    corpus: CorpusFacts
    steps: list[TrainStep]
    stopped: Literal["merges", "no_pairs"]
    vocabulary: list[VocabularyItem]
    encoded: list[EncodedText]


ANSWERS: Mapping[str, type[BaseModel]] = {
    "tokenize": TokenizeAnswer, "detokenize": DetokenizeAnswer, "explain": ExplainAnswer, "bpe_train": TrainAnswer,
}
"""By the name of a route."""
