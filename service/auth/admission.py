"""What the settings say about access: where API keys are kept, which rate limits apply, where the server may listen."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

from service.auth.key_store import FileStore, Keys, KeyStore
from service.auth.rate_limits import RateLimiter, Rates
from service.observability.metrics import Metrics
from service.redis.url import parse_redis_url
from service.settings import Settings

if TYPE_CHECKING:
    from service.redis.client import Client

REDIS_SECONDS = 2.0
"""Longest wait for keys in Redis. No request waits for this."""

REDIS_REFRESH_SECONDS = 5.0
"""How often Redis is asked whether the keys have changed."""


class Exposed(Exception):
    """Anybody on the network could use the service; the message says what to do."""


def find_store(settings: Settings) -> KeyStore | None:
    """The store of API keys that the settings name; None when they name none."""
    if settings.keys_file is not None:
        return FileStore(settings.keys_file)
    if not settings.keys_in_redis:
        return None
    from service.auth.redis_key_store import RedisStore

    return RedisStore(lambda: _connect(settings))


def _connect(settings: Settings) -> Client:
    from service.redis.client import open_redis

    assert settings.redis_url is not None  # the settings check this
    return open_redis(parse_redis_url(settings.redis_url.get_secret_value()), REDIS_SECONDS, 2)


def open_keys(settings: Settings) -> Keys | None:
    """The keys; None when the settings name no store. A file is read at once; raises KeyStoreError if that fails."""
    store = find_store(settings)
    if store is None:
        return None
    if not isinstance(store, FileStore):
        return Keys(store, REDIS_REFRESH_SECONDS)
    keys = Keys(store)
    keys.load()
    return keys


def open_limiter(settings: Settings, metrics: Metrics) -> RateLimiter:
    """A rate limiter. It counts in Redis if there is one and a limit is possible, by the settings or by a key."""
    rates = Rates(settings.requests_per_minute, settings.tokens_per_minute)
    shared = None
    if settings.redis_url is not None and (rates != Rates() or find_store(settings) is not None):
        from service.auth.rate_store import RateStore

        shared = RateStore(settings.redis_url.get_secret_value(), settings.redis_seconds)
    return RateLimiter(rates, shared, metrics.record_rate_fallback)


def check_exposure(settings: Settings) -> None:
    """Raises Exposed when other machines could connect and nobody would be asked for a key."""
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
    """Whether every address of `host` is a loopback address, which only this machine can reach."""
    try:
        found = socket.getaddrinfo(host or None, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        return False
    return all(ipaddress.ip_address(row[4][0].partition("%")[0]).is_loopback for row in found)  # type: ignore[union-attr]
