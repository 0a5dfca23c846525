"""The settings. They are read once from environment variables with the prefix TALLYSTICK_, and passed down."""

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
"""Shortest cache secret that is accepted."""

DEFAULT_WARM = ("o200k_base", "cl100k_base", "gemma3", "claude-v3", "claude-v4.7", "claude-v4.8")

Names = Annotated[tuple[str, ...], NoDecode]
"""A list of names. In the environment they are separated by commas."""


class CatalogSettings(BaseSettings):
    """The settings about models, which the command line needs, too. Frozen."""

    model_config = SettingsConfigDict(env_prefix="TALLYSTICK_", frozen=True, extra="ignore", hide_input_in_errors=True)

    catalog_file: Path | None = Field(
        None, description="File (TOML) of your own aliases, models, limits, prices and budgets. SIGHUP reads it again."
    )
    budgets_file: Path | None = Field(
        None, description="File (TOML) of budgets, in addition to those of the catalog file. SIGHUP reads it again."
    )
    aliases: Annotated[Mapping[str, str], NoDecode] = Field(
        {}, description='Aliases as JSON, such as {"prod-chat": "gpt-4o"}. They take precedence over those of the '
        "catalog file.",
    )

    @field_validator("catalog_file", "budgets_file", mode="before")
    @classmethod
    def _accept_no_file(cls, value: Any) -> Any:
        return None if value == "" else value

    @field_validator("aliases", mode="before")
    @classmethod
    def _decode_aliases(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value or "{}")
        except ValueError:
            raise ValueError('a JSON object is needed, such as {"prod-chat": "gpt-4o"}') from None


class Settings(CatalogSettings):
    """All settings. Each field is an environment variable: `port` is TALLYSTICK_PORT."""

    needs_secret: ClassVar[bool] = True
    """Whether Redis needs a cache secret."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8080, ge=0, le=65535, description="Port to listen on. 0 is any free port, which is logged.")
    max_body_bytes: int = Field(
        32 * MIB, ge=1024, description="Largest request body, as sent and decompressed. A larger one gets a 413."
    )
    inflight_bytes: int = Field(
        512 * MIB,
        description="Memory for the bodies of all requests together. Beyond it, requests get a 503 with Retry-After."
    )
    body_seconds: float = Field(30.0, gt=0, description="Time for a body to arrive. After it, the request gets a 408.")
    inline_bytes: int = Field(
        64 * 1024, ge=0, description="Bodies up to this size are counted on the event loop, larger ones in a thread."
    )
    threads: int = Field(
        default_factory=lambda: max(2, os.cpu_count() or 1), ge=1, le=256,
        description="Threads that count large bodies (default: the cores, at least 2).",
    )
    queue: int = Field(
        256, ge=0,
        description="Large requests that may wait for a counting thread. One more gets a 503 with Retry-After."
    )
    warm: Names = Field(
        DEFAULT_WARM, description="Tokenizers that are loaded before /readyz says ready, separated by commas."
    )
    cache_bytes: int = Field(64 * MIB, ge=0, description="Memory for the counts of texts that were counted before.")
    cache_ttl_seconds: int = Field(86_400, ge=1, description="How long counts are kept in Redis.")
    cache_secret: SecretStr | None = Field(
        None,
        description="Secret key of the hashes that stand for texts in Redis. Needed with redis_url; the same in every "
        "process."
    )
    redis_url: SecretStr | None = Field(
        None,
        description="URL of the Redis that all processes share: redis://, rediss://, unix://, redis+sentinel:// or "
        "redis+cluster://. Without it, each process keeps counts, ledger and budgets in its own memory.",
    )
    ledger_days: int = Field(90, ge=1, le=400, description="How many days GET /v1/usage can look back.")
    redis_seconds: float = Field(
        0.1, gt=0, le=10, description="Longest wait for Redis. After it, the text is counted instead."
    )
    ask_redis: Literal["worthwhile", "always"] = Field(
        "worthwhile",
        description="worthwhile: ask Redis only when counting takes longer than asking. always: ask for every long "
        "text (for tests)."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lowest level that is logged. warning and error leave out the line of each request."
    )
    workers: int = Field(1, ge=1, le=128, description="Worker processes. They share the memory of the tokenizers.")
    keep_alive_seconds: int = Field(75, ge=1, description="How long an idle connection is kept.")
    grace_seconds: float = Field(
        5.0, ge=0,
        description="After SIGTERM, how long requests are still taken while /readyz already answers 503.",
    )
    shutdown_seconds: int = Field(30, ge=0, description="At the end, how long requests in flight may take.")
    header_seconds: float = Field(
        10.0, gt=0,
        description="Time for the headers of a request to arrive. After it, the request gets a 408."
    )
    request_seconds: float = Field(
        60.0, gt=0, description="Time for a count, waiting and running. After it, the request gets a 503."
    )
    max_connections: int = Field(
        4096, ge=1, description="Connections of a worker at the same time. One more gets a 503 and is closed."
    )
    keys_file: Path | None = Field(
        None,
        description="File of API keys (see tallystick keys add). With it, callers need a key."
    )
    keys_in_redis: bool = Field(False, description="API keys are in Redis. With it, callers need a key.")
    public: Names = Field(
        ("/livez", "/readyz", "/", "/web", "/docs"),
        description="Paths that need no key, and all paths below them. Separated by commas.",
    )
    allow_anonymous: bool = Field(False, description="Listen on an address other than loopback without API keys.")
    projects: Names = Field(
        (),
        description="Without keys: the names that X-Tallystick-Project may give, separated by commas. Others count as "
        "`default`."
    )
    requests_per_minute: int = Field(
        0, ge=0, description="Requests a minute for each key or, without keys, client address. 0 is no limit."
    )
    tokens_per_minute: int = Field(
        0, ge=0, description="Tokens counted a minute for each key or client address. 0 is no limit."
    )
    cors_origins: Names = Field(
        (), description="Web origins whose pages may call the service, separated by commas. * is any. None by default."
    )
    trusted_proxies: Names = Field(
        (), description="Addresses or networks of proxies whose X-Forwarded-For is trusted. * is any. None by default."
    )

    @field_validator("warm", "public", "projects", "cors_origins", "trusted_proxies", mode="before")
    @classmethod
    def _split_names(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @field_validator("redis_url", "cache_secret", "keys_file", mode="before")
    @classmethod
    def _accept_unset(cls, value: Any) -> Any:
        return None if value == "" else value

    @field_validator("redis_url")
    @classmethod
    def _check_redis_url(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            parse_redis_url(value.get_secret_value())
        return value

    @model_validator(mode="after")
    def _check_cache_secret(self) -> Settings:
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
    def _check_key_stores(self) -> Settings:
        if self.keys_in_redis and self.redis_url is None:
            raise ValueError("TALLYSTICK_KEYS_IN_REDIS needs TALLYSTICK_REDIS_URL")
        if self.keys_in_redis and self.keys_file is not None:
            raise ValueError("keys are in a file or in Redis: unset TALLYSTICK_KEYS_FILE or TALLYSTICK_KEYS_IN_REDIS")
        return self

    @model_validator(mode="after")
    def _check_body_sizes(self) -> Settings:
        if self.inflight_bytes < self.max_body_bytes:
            raise ValueError("inflight_bytes must not be less than max_body_bytes, or no large body fits")
        return self


class KeySettings(Settings):
    """The settings for the commands about API keys. Keys are kept in Redis without the cache secret."""

    needs_secret: ClassVar[bool] = False
