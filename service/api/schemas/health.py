"""Is the process alive, and is it ready."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from service.api.schemas.base import Absent, Answer


class LiveAnswer(Answer):
    """The process is alive."""

    status: Literal["alive"]


class TokenizerHealth(Answer):
    """Whether a tokenizer answers rightly. Of the first requests and the API keys only ready and reason are told."""

    ready: bool
    reason: str | Absent = Field(None, description="Only where it is not ready.")
    engine: Literal["fast", "reference"] | Absent = Field(None, description="Only where it is loaded.")
    golden: str | Absent = Field(
        None,
        description="ok, unconfirmed (no independent answers exist), not checked (no fast engine), or why the "
        "self-check failed. Only where it is loaded.",
    )
    fallbacks: int | Absent = Field(
        None, description="Loads that ended at the reference engine because of that. Only where it is loaded."
    )


class RedisHealth(Answer):
    status: Literal["ok", "degraded"]
    reason: str | Absent = Field(None, description="Only where it is degraded.")


class ReadyAnswer(Answer):
    """Ready and degraded are 200, the others 503."""

    status: Literal["ready", "degraded", "starting", "failed", "draining"]
    tokenizers: dict[str, TokenizerHealth] = Field(
        description="The tokenizers that are loaded at start; requests and keys where these are not ready."
    )
    redis: RedisHealth | Absent = Field(None, description="Only where the service uses Redis.")
