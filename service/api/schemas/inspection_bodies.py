"""What may be asked of the inspecting routes of the native wire, as pydantic models, and the limits of it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

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


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", frozen=True)


class Target(_Body):
    """What the tokens are wanted of: exactly one of the three."""

    model: str | None = Field(None, description="A model by any of its names. One of model, tokenizer, provider.")
    tokenizer: str | None = Field(None, description="A tokenizer by name, see GET /v1/tokenizers.")
    provider: str | None = Field(None, description="Legacy alias of a tokenizer, as in /v1/countTokens.")


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


class DetokenizeBody(Target):
    ids: list[TokenId] = Field(description=f"At most {MAX_IDS}, with pieces {MAX_STREAMED_IDS}.")
    pieces: bool = Field(False, description="Also show what each id adds, as it would stream.")


class ExplainBody(Target):
    text: str = Field(description=f"At most {MAX_EXPLAINED} characters.")


class TrainBody(_Body):
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


BODIES: tuple[type[BaseModel], ...] = (TokenizeBody, DetokenizeBody, ExplainBody, TrainBody)
