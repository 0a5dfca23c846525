"""Rate windows in Redis, through the storages of the `limits` library: one script call (INCRBY, EXPIRE) per request.

Importing limits and redis.asyncio takes 0.4 s, so this module is imported only when there are limits and a Redis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from limits.aio import storage
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisClusterException, RedisError

from service.auth.rate_limits import MINUTE
from service.redis.url import Kind, RedisAddress, parse_redis_url

PREFIX = "tallystick:rate"

_SCHEMES: Mapping[Kind, str] = {
    "server": "async+", "sentinel": "async+redis+sentinel", "cluster": "async+redis+cluster",
}

_STORAGES: Mapping[Kind, Any] = {
    "server": storage.RedisStorage, "sentinel": storage.RedisSentinelStorage, "cluster": storage.RedisClusterStorage,
}


class RateStore:
    """Windows in Redis that all processes count in. Connects on first use. Raises ValueError for a bad Redis URL."""

    def __init__(self, url: str, seconds: float) -> None:
        address = parse_redis_url(url)
        self.errors: tuple[type[Exception], ...] = (RedisError, RedisClusterException)
        self._storage = _STORAGES[address.kind](
            _make_storage_url(address), implementation="redispy", key_prefix=PREFIX, socket_timeout=seconds,
            socket_connect_timeout=seconds, retry=Retry(NoBackoff(), 0), **_make_options(address, url),
        )

    async def add(self, key: str, amount: int) -> int:
        """Add `amount` to the window and return its new count."""
        count: int = await self._storage.incr(key, 2 * MINUTE, amount)
        return count

    async def close(self) -> None:
        await self._storage.bridge.storage.aclose()


def _make_storage_url(address: RedisAddress) -> str:
    if address.kind == "server":
        return f"async+{address.url.replace('unix://', 'redis+unix://', 1)}"
    hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in address.nodes)
    return f"{_SCHEMES[address.kind]}://{hosts}/{address.master}"


def _make_options(address: RedisAddress, url: str) -> dict[str, Any]:
    """Arguments that the library does not read from the URL of sentinels and clusters: TLS, login and database."""
    if address.kind == "server":
        return {}
    parts = urlsplit(url)
    userinfo, at, _ = parts.netloc.rpartition("@")
    username, _, password = userinfo.partition(":")
    options: dict[str, Any] = {"ssl": True} if parts.scheme.startswith("rediss") else {}
    if at:
        options |= {"username": unquote(username) or None, "password": unquote(password) or None}
    database = urlsplit(address.url).path.strip("/")
    if address.kind == "sentinel" and database:
        options["db"] = int(database)
    return options
