"""Connecting to Redis by URL: one server, a unix socket, sentinels or a cluster.

    redis://user:password@host:6379/0            rediss:// with TLS
    unix:///run/redis.sock?db=0
    redis+sentinel://host:26379,host:26379/mymaster/0    rediss+sentinel://
    redis+cluster://host:6379,host:6379          rediss+cluster://

What redis-py takes in a query (ssl_ca_certs=..., ssl_cert_reqs=none) may follow; sentinels take sentinel_username and
sentinel_password there. The client is synchronous: it is used from threads, never on the event loop. It never tries a
second time by itself, since a request that waits for Redis could have counted in the meantime. It says its name when
it connects (redis-py's `driver_info`): over TLS 1.3 something must be read first, or the tickets that the server sends
by itself look to redis-py like a connection gone wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from redis import Redis
    from redis.cluster import RedisCluster

    Client = Redis | RedisCluster

Kind = Literal["server", "sentinel", "cluster"]

Reason = Literal["connecting", "refused", "timeout", "denied", "loading", "read_only", "full", "cluster", "other"]
"""Why Redis does not do what it is asked: a closed set, for metrics, logs and /readyz."""

SCHEMES: Mapping[str, tuple[Kind, str]] = {
    "redis": ("server", "redis"), "rediss": ("server", "rediss"), "unix": ("server", "unix"),
    "redis+sentinel": ("sentinel", "redis"), "rediss+sentinel": ("sentinel", "rediss"),
    "redis+cluster": ("cluster", "redis"), "rediss+cluster": ("cluster", "rediss"),
}
"""Scheme -> what stands behind it, and the scheme of one server of it."""

DEFAULT_PORTS: Mapping[Kind, int] = {"server": 6379, "cluster": 6379, "sentinel": 26379}


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """Where Redis is. Its repr is safe to log: credentials and options are left out."""

    kind: Kind
    nodes: tuple[tuple[str, int], ...]
    master: str
    url: str

    def __repr__(self) -> str:
        return f"RedisAddress({self.kind}, {', '.join(f'{host}:{port}' for host, port in self.nodes) or 'unix'})"


def parse_redis_url(url: str) -> RedisAddress:
    """Where `url` points. Raises ValueError, which names what is wrong and never repeats the URL."""
    try:
        parts = urlsplit(url)
    except ValueError:  # its message may quote the part with the password
        raise ValueError("a Redis URL names a host; of a password write all but letters and digits as %XX") from None
    if parts.scheme not in SCHEMES:
        raise ValueError(f"a Redis URL begins with one of {', '.join(f'{scheme}://' for scheme in SCHEMES)}")
    kind, scheme = SCHEMES[parts.scheme]
    if scheme == "unix":
        if not parts.path:
            raise ValueError("a unix:// URL names the path of a socket: unix:///run/redis.sock")
        return RedisAddress("server", (), "", url)
    userinfo, at, hosts = parts.netloc.rpartition("@")
    nodes = tuple(_node(text, DEFAULT_PORTS[kind]) for text in hosts.split(","))
    if kind == "server" and len(nodes) > 1:
        raise ValueError("a redis:// URL names one host; write redis+cluster:// or redis+sentinel:// for several")
    path = parts.path.strip("/").split("/") if parts.path.strip("/") else []
    master = path.pop(0) if kind == "sentinel" and path else ""
    if kind == "sentinel" and not master:
        raise ValueError("a redis+sentinel:// URL names the master: redis+sentinel://host:26379/mymaster")
    if len(path) > 1 or (path and (not path[0].isdecimal() or (kind == "cluster" and path[0] != "0"))):
        raise ValueError("the path of a Redis URL is the number of a database (a cluster has none but 0)")
    host, port = nodes[0]
    shown = f"[{host}]" if ":" in host else host
    query = f"?{parts.query}" if parts.query else ""
    one = f"{scheme}://{userinfo}{at}{shown}:{port}/{path[0] if path else ''}{query}"
    return RedisAddress(kind, nodes, master, one)


def _node(text: str, default_port: int) -> tuple[str, int]:
    try:
        one = urlsplit(f"//{text}")
        host, port = one.hostname, one.port
    except ValueError:
        raise ValueError("a Redis URL has a port that is no number from 0 to 65535") from None
    if not host:
        raise ValueError("a Redis URL names a host")
    return host, port or default_port


# ---------------------------------------------------------------- clients


def open_redis(address: RedisAddress, seconds: float, connections: int = 32) -> Client:
    """A client that waits at most `seconds` for a connection and as long for an answer.

    One server or a sentinel's master is not connected to yet; a cluster is asked for its nodes at once, and raises
    what `REDIS_ERRORS()` lists where it cannot be.
    """
    return _OPENERS[address.kind](address, seconds, connections)


def _options(address: RedisAddress, seconds: float) -> dict[str, Any]:
    """Arguments of every connection: those of the URL come last, so an operator may overrule ours."""
    from redis.connection import parse_url  # noqa: PLC0415  redis takes 0.1 s to import, and most run without it

    given: dict[str, Any] = parse_url(address.url)  # type: ignore[no-untyped-call]
    for name in ("host", "port", "connection_class"):
        given.pop(name, None)
    ours: dict[str, Any] = {"protocol": 2, "socket_timeout": seconds, "socket_connect_timeout": seconds}
    if address.url.startswith("rediss:"):
        ours["ssl"] = True
    return {**ours, **given}


def _open_server(address: RedisAddress, seconds: float, connections: int) -> Client:
    from redis import Redis  # noqa: PLC0415
    from redis.backoff import NoBackoff  # noqa: PLC0415
    from redis.retry import Retry  # noqa: PLC0415

    return Redis.from_url(
        address.url, protocol=2, socket_timeout=seconds, socket_connect_timeout=seconds,
        retry=Retry(NoBackoff(), 0), max_connections=connections,
    )


def _open_sentinel(address: RedisAddress, seconds: float, connections: int) -> Client:
    from redis.backoff import NoBackoff  # noqa: PLC0415
    from redis.retry import Retry  # noqa: PLC0415
    from redis.sentinel import Sentinel  # noqa: PLC0415

    from service.redis.sentinel import PlainConnection, TlsConnection  # noqa: PLC0415  imports redis

    options = {**_options(address, seconds), "retry": Retry(NoBackoff(), 0)}
    login = {name: options.pop(f"sentinel_{name}", None) for name in ("username", "password")}
    of_sentinels = {name: value for name, value in options.items() if name not in ("db", "username", "password")}
    sentinel: Any = Sentinel(  # type: ignore[no-untyped-call]
        address.nodes, sentinel_kwargs={**of_sentinels, **login}, max_connections=connections, **options
    )
    kind = TlsConnection if options.get("ssl") else PlainConnection
    client: Client = sentinel.master_for(address.master, connection_class=kind)
    return client


def _open_cluster(address: RedisAddress, seconds: float, connections: int) -> Client:
    from redis.backoff import NoBackoff  # noqa: PLC0415
    from redis.cluster import ClusterNode  # noqa: PLC0415
    from redis.retry import Retry  # noqa: PLC0415

    from service.redis.cluster import BoundedCluster  # noqa: PLC0415  imports redis

    options = _options(address, seconds)
    options.pop("db", None)
    nodes = [ClusterNode(host, port) for host, port in address.nodes]  # type: ignore[no-untyped-call]
    # One more try, since a moved slot or a new master is only found out by an error.
    return BoundedCluster(
        seconds, startup_nodes=nodes, retry=Retry(NoBackoff(), 1), max_connections=connections, **options
    )


_OPENERS: Mapping[Kind, Callable[[RedisAddress, float, int], Client]] = {
    "server": _open_server, "sentinel": _open_sentinel, "cluster": _open_cluster,
}


# ---------------------------------------------------------------- errors


def load_redis_errors() -> tuple[type[Exception], ...]:
    """Everything that a client may raise."""
    from redis.exceptions import RedisClusterException, RedisError  # noqa: PLC0415

    return (RedisError, RedisClusterException, OSError)


def classify_error(error: Exception) -> Reason:
    """Why; a word of a closed set, for an error's message may quote a key or an address."""
    from redis import exceptions as known  # noqa: PLC0415

    rows: tuple[tuple[type[Exception] | tuple[type[Exception], ...], Reason], ...] = (
        ((known.AuthenticationError, known.AuthorizationError, known.NoPermissionError), "denied"),
        (known.BusyLoadingError, "loading"),
        ((known.TimeoutError, TimeoutError), "timeout"),
        (known.ReadOnlyError, "read_only"),
        (known.OutOfMemoryError, "full"),
        ((known.RedisClusterException, known.ClusterError, known.MovedError, known.AskError), "cluster"),
        ((known.ConnectionError, OSError), "refused"),
    )
    return next((reason for kinds, reason in rows if isinstance(error, kinds)), "other")


UNREACHABLE: frozenset[Reason] = frozenset({"refused", "timeout", "denied", "loading", "cluster"})
"""Reasons to stop asking for a while; the others concern one command, as a write on a read-only replica."""
