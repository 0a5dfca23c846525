"""How a text is cut into tokens, and how a vocabulary is learnt: the bodies, their limits, and the answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from service.api.schemas.base import Answer, Body, Method, ModelMatch
from service.api.schemas.common import ErrorBand, WarningItem
from service.dialects.native_schema import MODEL, TOKENIZER

MAX_TEXT = 1 << 20
"""Characters of a text of /v1/tokenize: what Python takes a second for, six at worst (Claude's, combining marks)."""

MAX_PAGE = 100_000
"""Tokens in one page that spells them out."""

MAX_COLUMNS = 1_000_000
MAX_IDS = 1_000_000
MAX_STREAMED_IDS = 100_000

MAX_EXPLAINED = 2_000
"""Characters whose merges are shown: up to 16,000 nodes, 2 MB of JSON."""

MAX_CORPUS = 50_000
"""Characters; learning 1,000 merges from them takes 0.2 to 1 s."""

MAX_MERGES, MAX_TOP, MAX_ENCODED = 1_000, 100, 100

TokenId = Annotated[int, Field(ge=0, le=2**32 - 1)]

TokenText = Annotated[str | None, Field(description="Null where the bytes are not whole characters.")]
BytesHex = Annotated[str | None, Field(description="Null where text is given.")]
PublishedId = Annotated[int | None, Field(description="Null where the vocabulary is not published.")]

type Normaliser = Literal[
    "nfkc", "nfc", "controls_removed", "plain_spaces", "plain_quotes", "mark_is_blank", "blank_in_front"
]
"""A way in which a tokenizer may change a text before it cuts it."""

# ---------------------------------------------------------------- what the routes share


class _OpenBody(Body):
    """Unknown fields are named in the warnings of the answer."""

    model_config = ConfigDict(extra="allow")


class Target(_OpenBody):
    """What the tokens are wanted of: exactly one of model, tokenizer and provider."""

    model: str | None = Field(None, description=MODEL)
    tokenizer: str | None = Field(None, description=TOKENIZER)
    provider: str | None = Field(None, description="Legacy alias of a tokenizer, as in /v1/countTokens.")


class _Tokenizer(Answer):
    model: str | None = Field(description="The canonical id. Null where no model was named, like the next three.")
    model_ref: str | None = Field(description="The name that was sent.")
    model_match: ModelMatch | None
    provider: str | None
    tokenizer: str
    tokenizer_revision: str
    warnings: list[WarningItem]


class TokenItem(Answer):
    """A token. start to end are the characters of the input that it holds all or part of."""

    id: PublishedId
    text: TokenText
    bytes_hex: BytesHex
    start: int
    end: int
    special: bool = Field(False, description="Only where true: it is a special token.")


# ---------------------------------------------------------------- POST /v1/tokenize


class TokenizeBody(Target):
    """A text, and which of its tokens to show: from the `offset`th, or from the one at a place in the text."""

    text: str = Field(description=f"At most {MAX_TEXT} characters.")
    offset: int | None = Field(None, ge=0, description="Number of the first token to show; 0 unless `at` is given.")
    at: int | None = Field(None, ge=0, description="Show from the token that holds this place of the text, in `unit`.")
    limit: int = Field(
        1_000, ge=1, le=MAX_COLUMNS, description=f"Most tokens to show; at most {MAX_PAGE} where form is tokens."
    )
    unit: Literal["code_point", "utf16"] = Field(
        "code_point", description="What places in the text are counted in; JavaScript's strings count utf16."
    )
    form: Literal["tokens", "columns"] = Field("tokens", description="An object a token, or arrays for many.")
    special_tokens: Literal["text", "parse"] = Field("text", description="As in /v1/countTokens.")
    engine: Literal["auto", "reference", "fast"] = Field("auto", description="Which implementation answers.")


class ColumnException(Answer):
    """A token that is not the whole characters start to end of the input; index is its number in the text."""

    index: int
    text: TokenText
    bytes_hex: BytesHex


class TokenColumns(Answer):
    """The page as arrays. A token is the input from start to end, unless it is one of the exceptions."""

    ids: list[int] | None = Field(description="Null where the vocabulary is not published.")
    starts: list[int]
    ends: list[int]
    exceptions: list[ColumnException]


class TokenizeAnswer(_Tokenizer):
    """count is of the whole text and equals /v1/countTokens.

    Where altered, the tokenizer changed the text before it cut it (normaliser says in what ways it may): token texts
    are of the changed text, places still of the input.
    """

    method: Method
    error_band: ErrorBand
    count: int
    characters: int = Field(description="Length of the text, in `unit`.")
    bytes: int
    has_ids: bool
    altered: bool
    normaliser: list[Normaliser]
    offset: int
    next_offset: int | None = Field(description="Null where this is the last page.")
    tokens: list[TokenItem] | None = Field(description="Null where form is columns.")
    columns: TokenColumns | None = Field(description="Null where form is tokens.")


# ---------------------------------------------------------------- POST /v1/detokenize


class DetokenizeBody(Target):
    """Token ids whose text is wanted."""

    ids: list[TokenId] = Field(description=f"At most {MAX_IDS}, with pieces {MAX_STREAMED_IDS}.")
    pieces: bool = Field(False, description="Also show what each id adds, as it would stream.")


class StreamedPiece(Answer):
    """An id and its bytes.

    emit is what may be shown once it has come, held_hex the bytes held back after it because they are the beginning of
    a character.
    """

    id: int
    text: TokenText
    bytes_hex: BytesHex
    emit: str
    held_hex: str
    special: bool = Field(False, description="Only where true: it is a special token.")


class DetokenizeAnswer(_Tokenizer):
    """The emitted texts and rest, joined, are text."""

    count: int
    text: str
    valid: bool = Field(description="False where bytes are not UTF-8 and became U+FFFD.")
    pieces: list[StreamedPiece] | None = Field(description="Null unless they were asked for.")
    rest: str


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


class ExplainAnswer(_Tokenizer):
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


class TrainBody(_OpenBody):
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
