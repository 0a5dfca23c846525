"""Texts and conversations cut to a number of tokens."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, RootModel

from service.api.schemas.base import (
    Answer,
    Body,
)
from service.api.schemas.counts import CountSummary, MaybeModel, NamedModel
from service.dialects.native_schema import MODEL, TOKENIZER, JsonObject, Platform
from service.dialects.values import MAX_TOKENS

# ---------------------------------------------------------------- POST /v1/truncate


class TruncateBody(Body):
    """A text (with a model or a tokenizer) or a whole request (with a model) to be cut to at most max_tokens."""

    model: str | None = Field(None, description=MODEL)
    tokenizer: str | None = Field(None, description=TOKENIZER)
    text: str | None = None
    request: JsonObject | None = Field(None, description="A whole request: its oldest turns are dropped.")
    dialect: str | None = Field(None, description="What request is written in, as in countTokens.")
    platform: Platform | None = Field(None, description="As in countTokens.")
    max_tokens: int = Field(ge=1, le=MAX_TOKENS)
    cut_from: Literal["end", "start", "middle"] = Field("end", description="Where text is taken away.")
    marker: str = Field("", max_length=1000, description="Stands where text was taken away; counted in.")


class _CutFor(MaybeModel):
    tokenizer: str
    tokenizer_revision: str


class TruncatedText(_CutFor):
    """A text that was cut, or fitted as it was."""

    text: str
    tokens: int = Field(description="Of the text that is left, the marker included.")
    input_tokens: int = Field(description="Of the text that was sent.")
    truncated: bool
    kept: list[list[int]] = Field(description="[start, end] of the parts of the text that are left, in characters.")


class _TruncatedRequest(NamedModel):
    request: JsonObject = Field(description="The request without the messages that were dropped.")
    tokens: int = Field(description="Of the request that is left.")
    truncated: bool
    dropped: list[str] = Field(description="The paths of the messages that were dropped.")
    count_before: int = Field(description="Tokens of the request that was sent.")


class TruncatedRequest(CountSummary, _TruncatedRequest):
    """A request that was cut, or fitted as it was, with the count of what is left."""


class TruncateAnswer(RootModel[TruncatedText | TruncatedRequest]):
    """The text or the request that is left."""


# ---------------------------------------------------------------- POST /v1/split


class SplitBody(Body):
    """A text to be split into pieces of at most max_tokens, for a model or a tokenizer."""

    model: str | None = Field(None, description=MODEL)
    tokenizer: str | None = Field(None, description=TOKENIZER)
    text: str
    max_tokens: int = Field(ge=1, le=MAX_TOKENS)
    overlap_tokens: int = Field(0, ge=0, le=MAX_TOKENS, description="How much of a piece the next one repeats.")
    split_at: Literal["character", "word", "sentence", "line", "paragraph"] = Field(
        "character", description="Where pieces end when one is in their second half."
    )


class TextPiece(Answer):
    """A piece and its place in the text, in characters."""

    text: str
    start: int
    end: int
    tokens: int


class SplitAnswer(_CutFor):
    """The pieces, in order."""

    pieces: list[TextPiece]
