"""Redis URLs: one server, a unix socket, sentinels or a cluster.

    redis://user:password@host:6379/0            rediss:// with TLS
    unix:///run/redis.sock?db=0
    redis+sentinel://host:26379,host:26379/mymaster/0    rediss+sentinel://
    redis+cluster://host:6379,host:6379          rediss+cluster://

A query may hold what redis-py takes there (ssl_ca_certs=..., ssl_cert_reqs=none). For sentinels it may also hold
sentinel_username and sentinel_password. Nothing here imports redis, so the settings can check a URL cheaply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

Kind = Literal["server", "sentinel", "cluster"]

SCHEMES: Mapping[str, tuple[Kind, str]] = {
    "redis": ("server", "redis"), "rediss": ("server", "rediss"), "unix": ("server", "unix"),
    "redis+sentinel": ("sentinel", "redis"), "rediss+sentinel": ("sentinel", "rediss"),
    "redis+cluster": ("cluster", "redis"), "rediss+cluster": ("cluster", "rediss"),
}
"""Scheme -> the kind of Redis, and the scheme that redis-py needs for one of its servers."""

DEFAULT_PORTS: Mapping[Kind, int] = {"server": 6379, "cluster": 6379, "sentinel": 26379}


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """Where Redis is: its `nodes` as (host, port), a sentinel's `master`, and a `url` of the first node for redis-py.

    The repr is safe to log: it leaves out credentials and options.
    """

    kind: Kind
    nodes: tuple[tuple[str, int], ...]
    master: str
    url: str

    def __repr__(self) -> str:
        return f"RedisAddress({self.kind}, {', '.join(f'{host}:{port}' for host, port in self.nodes) or 'unix'})"


def parse_redis_url(url: str) -> RedisAddress:
    """The address that `url` names. Raises ValueError; its message says what is wrong and never repeats the URL."""
    try:
        parts = urlsplit(url)
    except ValueError:  # the original message may quote the password
        raise ValueError("a Redis URL names a host; of a password write all but letters and digits as %XX") from None
    if parts.scheme not in SCHEMES:
        raise ValueError(f"a Redis URL begins with one of {', '.join(f'{scheme}://' for scheme in SCHEMES)}")
    kind, scheme = SCHEMES[parts.scheme]
    if scheme == "unix":
        if not parts.path:
            raise ValueError("a unix:// URL names the path of a socket: unix:///run/redis.sock")
        return RedisAddress("server", (), "", url)
    userinfo, at, hosts = parts.netloc.rpartition("@")
    nodes = tuple(_read_node(text, DEFAULT_PORTS[kind]) for text in hosts.split(","))
    if kind == "server" and len(nodes) > 1:
        raise ValueError("a redis:// URL names one host; write redis+cluster:// or redis+sentinel:// for several")
    master, database = _read_path(kind, parts.path)
    host, port = nodes[0]
    shown = f"[{host}]" if ":" in host else host
    query = f"?{parts.query}" if parts.query else ""
    return RedisAddress(kind, nodes, master, f"{scheme}://{userinfo}{at}{shown}:{port}/{database}{query}")


def _read_path(kind: Kind, path: str) -> tuple[str, str]:
    """(the name of a sentinel's master, the number of the database), each "" where the path has none."""
    names = path.strip("/").split("/") if path.strip("/") else []
    master = names.pop(0) if kind == "sentinel" and names else ""
    if kind == "sentinel" and not master:
        raise ValueError("a redis+sentinel:// URL names the master: redis+sentinel://host:26379/mymaster")
    if len(names) > 1 or (names and (not names[0].isdecimal() or (kind == "cluster" and names[0] != "0"))):
        raise ValueError("the path of a Redis URL is the number of a database (a cluster has none but 0)")
    return master, names[0] if names else ""


def _read_node(text: str, default_port: int) -> tuple[str, int]:
    try:
        one = urlsplit(f"//{text}")
        host, port = one.hostname, one.port
    except ValueError:
        raise ValueError("a Redis URL has a port that is no number from 0 to 65535") from None
    if not host:
        raise ValueError("a Redis URL names a host")
    return host, port or default_port
