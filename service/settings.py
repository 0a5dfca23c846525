"""What an operator may set, read once from the environment (prefix TALLYSTICK_) and passed down from there."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

MIB = 1 << 20

DEFAULT_WARM = ("o200k_base", "cl100k_base", "gemma3", "claude-v3", "claude-v4.7", "claude-v4.8")


class Settings(BaseSettings):
    """Frozen. Every field is an environment variable: `port` is TALLYSTICK_PORT."""

    model_config = SettingsConfigDict(env_prefix="TALLYSTICK_", frozen=True, extra="ignore")

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8080, ge=0, le=65535, description="Port to listen on; 0 takes a free one and logs it.")
    max_body_bytes: int = Field(
        32 * MIB, ge=1024, description="Largest request body, as sent and after decompression; a larger one is a 413."
    )
    inflight_bytes: int = Field(
        512 * MIB, description="Bodies that all requests together may hold; beyond it, a 503 with Retry-After."
    )
    body_seconds: float = Field(30.0, gt=0, description="A body that has not arrived by then is a 408.")
    inline_bytes: int = Field(
        16 * 1024, ge=0, description="Bodies up to this size are counted on the event loop, larger ones in a thread."
    )
    threads: int = Field(
        default_factory=lambda: max(2, os.cpu_count() or 1), ge=1, le=256,
        description="Threads that count large bodies (default: the cores, at least 2).",
    )
    queue: int = Field(
        256, ge=0, description="Large requests that may wait for a counting thread; one more is a 503 with Retry-After."
    )
    warm: Annotated[tuple[str, ...], NoDecode] = Field(
        DEFAULT_WARM, description="Tokenizers loaded before /readyz says ready, separated by commas."
    )
    cache_bytes: int = Field(64 * MIB, ge=0, description="Memory for counts of texts seen before.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="warning and above leave out the line a request."
    )
    keep_alive_seconds: int = Field(75, ge=1, description="How long an idle connection is kept.")
    shutdown_seconds: int = Field(30, ge=0, description="How long a stopping server waits for requests in flight.")

    @field_validator("warm", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @model_validator(mode="after")
    def _one_body_fits(self) -> Settings:
        if self.inflight_bytes < self.max_body_bytes:
            raise ValueError("inflight_bytes must not be less than max_body_bytes, or no large body fits")
        return self
