"""Two instances of two workers behind nginx, with a Redis. All are real processes on loopback, ended at the end."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.auth.keys import make_key
from service.auth.redis_key_store import RedisStore
from service.redis.client import open_redis
from service.redis.url import parse_redis_url
from tests.chaos.instances import WORKERS, Instance, wait_until_ready
from tests.chaos.nginx import open_nginx
from tests.chaos.stores import Shape, Store, open_store
from tests.support.redis_server import free_port

INSTANCES = 2
PROJECT = "chaos"
BUDGET = "load"
LIMIT = 10**12
LEASE_SECONDS = 6
"""So short that a lease whose response was lost expires while its fault is measured."""


SETTINGS: dict[str, Any] = {
    "workers": WORKERS, "keys_in_redis": 1, "warm": "o200k_base,gemma3,claude-v3,claude-v4.8,llama3",
    "public": "/livez,/readyz,/metrics,/", "inline_bytes": 8192, "ask_redis": "always", "grace_seconds": 1,
    "shutdown_seconds": 10, "header_seconds": 3, "body_seconds": 5, "trusted_proxies": "127.0.0.1",
}
"""Settings that differ from the defaults. Timeouts are shorter, so that the suite ends soon. Redis is asked for all
bodies over 8 KB, so that as much as possible depends on it."""


@dataclass
class Topology:
    """The running processes. Clients send to `url` with the API key `key`."""

    url: str
    key: str
    store: Store
    instances: list[Instance]
    folder: Path

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def is_healthy(self) -> bool:
        return all(one.is_healthy() for one in self.instances)

    def open_files(self) -> int:
        return sum(one.open_files() for one in self.instances)

    def processes(self) -> int:
        return sum(len(one.processes) for one in self.instances)


@contextmanager
def open_topology(
    shape: Shape = "server", *, proxy: bool = True, instances: int = INSTANCES,
    environment: dict[str, str] | None = None, of_store: dict[str, str] | None = None, limited: bool = True,
    **settings: Any,
) -> Iterator[Topology]:
    """Starts everything and waits until it is healthy.

    Without `proxy`, clients send to the first instance. `environment` is for the processes of the service, `of_store`
    for that of Redis. With `limited`, the key has a rate limit. `settings` override SETTINGS."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chaos-")))
        store = stack.enter_context(open_store(shape, of_store))
        key = _add_key(store, limited)
        budgets = folder / "budgets.toml"
        budgets.write_text(
            f'[budgets.{BUDGET}]\nlimit_tokens = {LIMIT}\nper = "total"\nlease_seconds = {LEASE_SECONDS}\n'
        )
        own = {**SETTINGS, "redis_url": store.url, "cache_secret": secrets.token_hex(32), "budgets_file": budgets}
        started = []
        for _ in range(instances):
            instance = Instance(free_port(), folder, {**own, **settings}, environment or {})
            stack.callback(instance.end)
            instance.start()
            started.append(instance)
        wait_until_ready(started)
        url = stack.enter_context(open_nginx([one.port for one in started])) if proxy else started[0].url
        yield Topology(url, key, store, started, folder)


def _add_key(store: Store, limited: bool) -> str:
    """A key in Redis that has all scopes. Its rate limit refuses nothing, but is checked for each request."""
    rates = {"requests_per_minute": 10**9, "tokens_per_minute": 10**15} if limited else {}
    text, key = make_key(PROJECT, ("admin",), **rates)
    RedisStore(lambda: open_redis(parse_redis_url(store.url), 5, 2)).change(lambda keys: keys.update({key.id: key}))
    return text
