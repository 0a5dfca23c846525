"""Clients for Redis: one server, a unix socket, a sentinel's master or a cluster.

The clients are synchronous. They are used from threads, never on the event loop. They do not retry by themselves:
while a request waits for Redis, it could have counted. When a client connects, it sends its name (redis-py's
`driver_info`). This matters over TLS 1.3: a client that has read nothing yet takes the server's session tickets for a
broken connection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from redis import Redis, exceptions
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel

from service.redis.cluster import BoundedCluster
from service.redis.sentinel import PlainConnection, TlsConnection
from service.redis.url import Kind, RedisAddress

Client = Redis | RedisCluster

REDIS_ERRORS: tuple[type[Exception], ...] = (exceptions.RedisError, exceptions.RedisClusterException, OSError)
"""Everything that a client may raise."""


def open_redis(address: RedisAddress, seconds: float, connections: int = 32) -> Client:
    """A client that waits at most `seconds` for a connection, and as long again for an answer.

    A single server or a sentinel's master is connected to on first use. A cluster is asked for its nodes at once; this
    raises one of `REDIS_ERRORS` when it cannot be reached.
    """
    return _OPENERS[address.kind](address, seconds, connections)


def _make_options(address: RedisAddress, seconds: float) -> dict[str, Any]:
    """Arguments for every connection. Those in the URL win, so an operator can override the defaults."""
    given: dict[str, Any] = parse_url(address.url)  # type: ignore[no-untyped-call]
    for name in ("host", "port", "connection_class"):
        given.pop(name, None)
    defaults: dict[str, Any] = {"protocol": 2, "socket_timeout": seconds, "socket_connect_timeout": seconds}
    if address.url.startswith("rediss:"):
        defaults["ssl"] = True
    return {**defaults, **given}


def _open_server(address: RedisAddress, seconds: float, connections: int) -> Client:
    return Redis.from_url(
        address.url, protocol=2, socket_timeout=seconds, socket_connect_timeout=seconds,
        retry=Retry(NoBackoff(), 0), max_connections=connections,
    )


def _open_sentinel(address: RedisAddress, seconds: float, connections: int) -> Client:
    options = {**_make_options(address, seconds), "retry": Retry(NoBackoff(), 0)}
    login = {name: options.pop(f"sentinel_{name}", None) for name in ("username", "password")}
    for_sentinels = {name: value for name, value in options.items() if name not in ("db", "username", "password")}
    sentinel: Any = Sentinel(  # type: ignore[no-untyped-call]
        address.nodes, sentinel_kwargs={**for_sentinels, **login}, max_connections=connections, **options
    )
    connection_class = TlsConnection if options.get("ssl") else PlainConnection
    client: Client = sentinel.master_for(address.master, connection_class=connection_class)
    return client


def _open_cluster(address: RedisAddress, seconds: float, connections: int) -> Client:
    options = _make_options(address, seconds)
    options.pop("db", None)
    nodes = [ClusterNode(host, port) for host, port in address.nodes]  # type: ignore[no-untyped-call]
    # One retry: the client learns of a moved slot or a new master only from an error.
    return BoundedCluster(
        seconds, startup_nodes=nodes, retry=Retry(NoBackoff(), 1), max_connections=connections, **options
    )


_OPENERS: Mapping[Kind, Callable[[RedisAddress, float, int], Client]] = {
    "server": _open_server, "sentinel": _open_sentinel, "cluster": _open_cluster,
}


# ---------------------------------------------------------------- reasons

Reason = Literal["connecting", "refused", "timeout", "denied", "loading", "read_only", "full", "cluster", "other"]
"""Why Redis does not do what it is asked. A closed set, for metrics, logs and /readyz."""

UNREACHABLE: frozenset[Reason] = frozenset({"refused", "timeout", "denied", "loading", "cluster"})
"""Reasons to stop asking for a while. The others concern one command, such as a write to a read-only replica."""

_REASONS: tuple[tuple[tuple[type[Exception], ...], Reason], ...] = (
    ((exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.NoPermissionError), "denied"),
    ((exceptions.BusyLoadingError,), "loading"),
    ((exceptions.TimeoutError, TimeoutError), "timeout"),
    ((exceptions.ReadOnlyError,), "read_only"),
    ((exceptions.OutOfMemoryError,), "full"),
    (
        (exceptions.RedisClusterException, exceptions.ClusterError, exceptions.MovedError, exceptions.AskError),
        "cluster",
    ),
    ((exceptions.ConnectionError, OSError), "refused"),
)
"""The first row that fits decides: a timeout is an OSError, too."""


def classify_error(error: Exception) -> Reason:
    """The reason for an error. It is shown instead of the message, which may quote a key or an address."""
    return next((reason for kinds, reason in _REASONS if isinstance(error, kinds)), "other")
