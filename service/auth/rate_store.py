"""Rate windows in Redis, by the storages of the `limits` library: one script call (INCRBY, EXPIRE) a request.

Opened where there are limits and a Redis; importing limits and redis.asyncio takes 0.4 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from service.auth.rate_limits import MINUTE
from service.redis.client import Kind, RedisAddress, parse_redis_url

PREFIX = "tallystick:rate"

_SCHEMES: Mapping[Kind, str] = {
    "server": "async+", "sentinel": "async+redis+sentinel", "cluster": "async+redis+cluster",
}


class RateStore:
    """Connects with the first use. Raises ValueError for a URL that is none of Redis."""

    def __init__(self, url: str, seconds: float) -> None:
        from limits.aio import storage  # noqa: PLC0415
        from redis.asyncio.retry import Retry  # noqa: PLC0415
        from redis.backoff import NoBackoff  # noqa: PLC0415
        from redis.exceptions import RedisClusterException, RedisError  # noqa: PLC0415

        address = parse_redis_url(url)
        kinds: Mapping[Kind, Any] = {
            "server": storage.RedisStorage, "sentinel": storage.RedisSentinelStorage,
            "cluster": storage.RedisClusterStorage,
        }
        self.errors: tuple[type[Exception], ...] = (RedisError, RedisClusterException)
        self._storage = kinds[address.kind](
            _storage_url(address), implementation="redispy", key_prefix=PREFIX, socket_timeout=seconds,
            socket_connect_timeout=seconds, retry=Retry(NoBackoff(), 0), **_options(address, url),
        )

    async def add(self, key: str, amount: int) -> int:
        """The count after `amount` was added."""
        count: int = await self._storage.incr(key, 2 * MINUTE, amount)
        return count

    async def close(self) -> None:
        await self._storage.bridge.storage.aclose()


def _storage_url(address: RedisAddress) -> str:
    if address.kind == "server":
        return f"async+{address.url.replace('unix://', 'redis+unix://', 1)}"
    hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in address.nodes)
    return f"{_SCHEMES[address.kind]}://{hosts}/{address.master}"


def _options(address: RedisAddress, url: str) -> dict[str, Any]:
    """What the library does not take from the URL of sentinels and clusters."""
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
