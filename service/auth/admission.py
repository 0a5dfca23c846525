"""From settings to who is let in: where keys are kept, what rates there are, where it may listen."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

from service.auth.key_store import FileStore, Keys, KeyStore, RedisStore
from service.auth.rate_limits import RateLimiter, Rates
from service.observability.metrics import Metrics
from service.settings import Settings

if TYPE_CHECKING:
    from service.redis.client import Client

REDIS_SECONDS = 2.0
"""Longest wait for keys in Redis: nobody's request waits for it."""

REDIS_REFRESH_SECONDS = 5.0
"""How often Redis is asked whether keys have changed."""


class Exposed(Exception):
    """Anybody on the network could use the service; the message says what to do."""


def find_store(settings: Settings) -> KeyStore | None:
    """Where the settings say that API keys are; None where they say nothing of keys."""
    if settings.keys_file is not None:
        return FileStore(settings.keys_file)
    return RedisStore(lambda: _connect(settings)) if settings.keys_in_redis else None


def _connect(settings: Settings) -> Client:
    from service.redis.client import open_redis, parse_redis_url  # noqa: PLC0415

    assert settings.redis_url is not None  # the settings saw to it
    return open_redis(parse_redis_url(settings.redis_url.get_secret_value()), REDIS_SECONDS, 2)


def open_keys(settings: Settings) -> Keys | None:
    """The keys, read at once where they are in a file. Raises KeyStoreError where it cannot be used."""
    store = find_store(settings)
    if store is None:
        return None
    if not isinstance(store, FileStore):
        return Keys(store, REDIS_REFRESH_SECONDS)
    keys = Keys(store)
    keys.load()
    return keys


def open_limiter(settings: Settings, metrics: Metrics) -> RateLimiter:
    """In Redis where there is one and a limit is possible: of the settings, or of a key."""
    rates = Rates(settings.requests_per_minute, settings.tokens_per_minute)
    shared = None
    if settings.redis_url is not None and (rates != Rates() or find_store(settings) is not None):
        from service.auth.rate_store import RateStore  # noqa: PLC0415  0.4 s of imports

        shared = RateStore(settings.redis_url.get_secret_value(), settings.redis_seconds)
    return RateLimiter(rates, shared, metrics.limited_alone)


def check_exposure(settings: Settings) -> None:
    """Raises Exposed where others than this machine could connect, and nobody would be asked for a key."""
    if settings.allow_anonymous or settings.keys_file is not None or settings.keys_in_redis:
        return
    if not is_loopback(settings.host):
        raise Exposed(
            f"refusing to listen on {settings.host} without API keys: whoever can reach it could use it. Choose one: "
            "make a key (tallystick keys add NAME --file keys.json) and set TALLYSTICK_KEYS_FILE=keys.json; or listen "
            "on this machine alone (--host 127.0.0.1); or, where something in front of it checks who calls, say "
            "--allow-anonymous (TALLYSTICK_ALLOW_ANONYMOUS=1)."
        )


def is_loopback(host: str) -> bool:
    """Whether every address that `host` stands for is of this machine alone."""
    try:
        found = socket.getaddrinfo(host or None, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        return False
    return all(ipaddress.ip_address(row[4][0].partition("%")[0]).is_loopback for row in found)  # type: ignore[union-attr]
