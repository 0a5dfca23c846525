"""What an operator may set, read once from the environment (prefix TALLYSTICK_) and passed down from there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from service.redis.url import parse_redis_url

MIB = 1 << 20

MIN_SECRET_CHARS = 16
"""Characters of a cache secret."""

DEFAULT_WARM = ("o200k_base", "cl100k_base", "gemma3", "claude-v3", "claude-v4.7", "claude-v4.8")

Names = Annotated[tuple[str, ...], NoDecode]
"""Separated by commas in the environment."""


class CatalogSettings(BaseSettings):
    """What model names mean, where an operator has a say in it. Frozen. The command line needs no more than this."""

    model_config = SettingsConfigDict(env_prefix="TALLYSTICK_", frozen=True, extra="ignore", hide_input_in_errors=True)

    catalog_file: Path | None = Field(
        None, description="Your own aliases, models, limits, prices and budgets (TOML); SIGHUP reads it again."
    )
    budgets_file: Path | None = Field(
        None, description="Budgets alone (TOML), beside those of the catalog file; SIGHUP reads it again, too."
    )
    aliases: Annotated[Mapping[str, str], NoDecode] = Field(
        {}, description='JSON: names and the models they mean, such as {"prod-chat": "gpt-4o"}. They come before the '
        "catalog file's.",
    )

    @field_validator("catalog_file", "budgets_file", mode="before")
    @classmethod
    def _no_file(cls, value: Any) -> Any:
        return None if value == "" else value

    @field_validator("aliases", mode="before")
    @classmethod
    def _decode(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value or "{}")
        except ValueError:
            raise ValueError('a JSON object is needed, such as {"prod-chat": "gpt-4o"}') from None


class Settings(CatalogSettings):
    """Every field is an environment variable: `port` is TALLYSTICK_PORT."""

    needs_secret: ClassVar[bool] = True
    """Whether Redis is of no use without a cache secret."""

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
        64 * 1024, ge=0, description="Bodies up to this size are counted on the event loop, larger ones in a thread."
    )
    threads: int = Field(
        default_factory=lambda: max(2, os.cpu_count() or 1), ge=1, le=256,
        description="Threads that count large bodies (default: the cores, at least 2).",
    )
    queue: int = Field(
        256, ge=0, description="Large requests that may wait for a counting thread; one more is a 503 with Retry-After."
    )
    warm: Names = Field(
        DEFAULT_WARM, description="Tokenizers loaded before /readyz says ready, separated by commas."
    )
    cache_bytes: int = Field(64 * MIB, ge=0, description="Memory for counts of texts seen before.")
    cache_ttl_seconds: int = Field(86_400, ge=1, description="How long counts are kept in Redis.")
    cache_secret: SecretStr | None = Field(
        None, description="Keys the hashes that stand for texts in Redis; needed with redis_url, the same everywhere."
    )
    redis_url: SecretStr | None = Field(
        None, description="Redis shared by all processes: redis://, rediss://, unix://, redis+sentinel:// or "
        "redis+cluster://. Without it counts, ledger and budgets are kept in the memory of each process.",
    )
    ledger_days: int = Field(90, ge=1, le=400, description="How long GET /v1/usage can look back.")
    redis_seconds: float = Field(
        0.1, gt=0, le=10, description="Longest wait for a count from Redis; then it is counted instead."
    )
    ask_redis: Literal["worthwhile", "always"] = Field(
        "worthwhile", description="always: ask even where counting is faster than asking (for tests)."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="warning and above leave out the line a request."
    )
    workers: int = Field(1, ge=1, le=128, description="Processes that answer; memory of tokenizers is shared.")
    keep_alive_seconds: int = Field(75, ge=1, description="How long an idle connection is kept.")
    grace_seconds: float = Field(
        5.0, ge=0,
        description="After SIGTERM, how long /readyz says no while everything is still answered, before it stops.",
    )
    shutdown_seconds: int = Field(30, ge=0, description="How long a stopping server waits for requests in flight.")
    header_seconds: float = Field(10.0, gt=0, description="A request whose headers are not there by then is a 408.")
    request_seconds: float = Field(
        60.0, gt=0, description="A count that has waited and run for so long is given up with a 503."
    )
    max_connections: int = Field(
        4096, ge=1, description="Connections that a worker keeps at once; one more is answered with a 503 and closed."
    )
    keys_file: Path | None = Field(None, description="File of API keys (tallystick keys add); keys are needed then.")
    keys_in_redis: bool = Field(False, description="API keys are in Redis; then, too, they are needed.")
    public: Names = Field(
        ("/livez", "/readyz", "/", "/web"),
        description="Paths that need no key, separated by commas, with all that is below them.",
    )
    allow_anonymous: bool = Field(False, description="Listen on other than loopback without keys.")
    projects: Names = Field(
        (), description="Without keys: what X-Tallystick-Project may say, separated by commas. Others are `default`."
    )
    requests_per_minute: int = Field(
        0, ge=0, description="Requests a minute by key, or by client address without keys; 0 sets no limit."
    )
    tokens_per_minute: int = Field(
        0, ge=0, description="Tokens counted a minute by key or client address; 0 sets no limit."
    )
    cors_origins: Names = Field(
        (), description="Web origins whose pages may call, separated by commas; * is any. None by default."
    )
    trusted_proxies: Names = Field(
        (), description="Addresses or networks of proxies whose X-Forwarded-For is believed; * is any. None by default."
    )

    @field_validator("warm", "public", "projects", "cors_origins", "trusted_proxies", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @field_validator("redis_url", "cache_secret", "keys_file", mode="before")
    @classmethod
    def _unset(cls, value: Any) -> Any:
        return None if value == "" else value

    @field_validator("redis_url")
    @classmethod
    def _is_redis(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            parse_redis_url(value.get_secret_value())
        return value

    @model_validator(mode="after")
    def _has_secret(self) -> Settings:
        if self.redis_url is None or (self.cache_secret is None and not self.needs_secret):
            return self
        secret = self.cache_secret.get_secret_value() if self.cache_secret else ""
        if len(secret) < MIN_SECRET_CHARS:
            raise ValueError(
                f"TALLYSTICK_REDIS_URL needs TALLYSTICK_CACHE_SECRET, at least {MIN_SECRET_CHARS} characters that "
                "nobody guesses and that every process shares: hashes in Redis are keyed with it. "
                "Make one with: openssl rand -hex 32"
            )
        return self

    @model_validator(mode="after")
    def _keys_are_somewhere(self) -> Settings:
        if self.keys_in_redis and self.redis_url is None:
            raise ValueError("TALLYSTICK_KEYS_IN_REDIS needs TALLYSTICK_REDIS_URL")
        if self.keys_in_redis and self.keys_file is not None:
            raise ValueError("keys are in a file or in Redis: unset TALLYSTICK_KEYS_FILE or TALLYSTICK_KEYS_IN_REDIS")
        return self

    @model_validator(mode="after")
    def _one_body_fits(self) -> Settings:
        if self.inflight_bytes < self.max_body_bytes:
            raise ValueError("inflight_bytes must not be less than max_body_bytes, or no large body fits")
        return self


class KeySettings(Settings):
    """The same for the commands about API keys: in Redis these are kept without the cache secret."""

    needs_secret: ClassVar[bool] = False
