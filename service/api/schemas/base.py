"""The two bases of every schema, and the types that many schemas share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from service.dialects.native_schema import describe_defaults


class Body(BaseModel):
    """A request body. Types are not converted ("7" is no number), and unknown fields are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, json_schema_extra=describe_defaults)


class NoQuery(BaseModel):
    """For a path whose query takes no parameter: one would be a mistake, such as a misspelt filter."""

    model_config = ConfigDict(extra="forbid")


class Answer(BaseModel):
    """An answer, as documented. Answers are made as plain JSON: only OpenAPI and tests build these models."""

    model_config = ConfigDict(extra="forbid", defer_build=True, json_schema_extra=describe_defaults)


Absent = Annotated[None, SkipJsonSchema()]
"""`int | Absent` is the type of a key of an answer that is not always there, and is never null where it is."""


# ---------------------------------------------------------------- closed sets

type Method = Literal["exact", "calibrated", "estimate"]
"""How far a count can be trusted."""

type ModelMatch = Literal["known", "alias", "inferred"]
"""How a model's name was understood."""

type PriceStatus = Literal["known", "inferred", "unknown"]

type ServiceTier = Literal["standard", "batch", "flex", "priority", "fast"]

type StoredIn = Literal["memory", "redis"]
"""memory: of this process alone, and lost at a restart."""

type UsageDialect = Literal["openai.chat", "openai.responses", "anthropic", "google"]

type Bucket = Literal[
    "input", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h",
    "input_audio", "input_image", "input_video", "cache_read_audio", "cache_read_image", "cache_read_video",
    "output", "reasoning", "output_audio", "output_image", "output_video",
    "web_searches", "storage_searches", "requests",
]
"""What usage is counted in. No token is in two buckets."""

type ServiceTierName = Annotated[str, WithJsonSchema({
    "type": "string", "enum": ["standard", "batch", "flex", "priority", "fast", "default", "auto", "on_demand"],
})]
"""A service tier by our name or a provider's: default, auto and on_demand mean standard."""

# ---------------------------------------------------------------- money

Usd = Annotated[str, Field(description="US dollars as a decimal string, never rounded.")]
UnknownUsd = Annotated[
    str | None, Field(description="US dollars as a decimal string, never rounded. Null where the price is not known.")
]

type Amount = int | str
"""Tokens as a number, US dollars as a decimal string: the unit of the budget decides."""
