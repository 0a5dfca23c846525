"""A text as tokens, and tokens as a text: the bodies, their limits, and the answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from service.api.schemas.base import Answer, Body, Method, ModelMatch
from service.api.schemas.counts import ErrorBand, WarningItem
from service.dialects.native_schema import MODEL, TOKENIZER, Engine, SpecialTokens

MAX_TEXT = 1 << 20
"""Characters of a text of /v1/tokenize: what Python takes a second for, six at worst (Claude's, combining marks)."""

MAX_PAGE = 100_000
"""Tokens in one page that spells them out."""

MAX_COLUMNS = 1_000_000
MAX_IDS = 1_000_000
MAX_STREAMED_IDS = 100_000

TokenId = Annotated[int, Field(ge=0, le=2**32 - 1)]

TokenText = Annotated[str | None, Field(description="Null where the bytes are not whole characters.")]
BytesHex = Annotated[str | None, Field(description="Null where text is given.")]
PublishedId = Annotated[int | None, Field(description="Null where the vocabulary is not published.")]

type Normaliser = Literal[
    "nfkc", "nfc", "controls_removed", "plain_spaces", "plain_quotes", "mark_is_blank", "blank_in_front"
]
"""A way in which a tokenizer may change a text before it cuts it."""

# ---------------------------------------------------------------- what the routes share


class OpenBody(Body):
    """Unknown fields are named in the warnings of the answer."""

    model_config = ConfigDict(extra="allow")


class Target(OpenBody):
    """What the tokens are wanted of: exactly one of model, tokenizer and provider."""

    model: str | None = Field(None, description=MODEL)
    tokenizer: str | None = Field(None, description=TOKENIZER)
    provider: str | None = Field(None, description="Legacy alias of a tokenizer, as in /v1/countTokens.")


class ForTokenizer(Answer):
    """Whose tokens they are."""

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
    special_tokens: SpecialTokens = Field("text", description="As in /v1/countTokens.")
    engine: Engine = Field("auto", description="Which implementation answers.")


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


class TokenizeAnswer(ForTokenizer):
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


class DetokenizeAnswer(ForTokenizer):
    """The emitted texts and rest, joined, are text."""

    count: int
    text: str
    valid: bool = Field(description="False where bytes are not UTF-8 and became U+FFFD.")
    pieces: list[StreamedPiece] | None = Field(description="Null unless they were asked for.")
    rest: str
